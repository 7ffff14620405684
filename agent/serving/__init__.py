"""Answers game managers: the server process, which keeps clocks and matches but never thinks.

`supervisor` owns the socket and restarts this process; `player` answers all messages; `match` is one match, `history`
its messages, `turn` its present turn, `showing` its view on the page. `match_workers`, `worker_pool` and
`light_workers` run the processes that think. `journal` and `moments` let a match survive a restart; `clock`,
`match_clock` and `pace` tell the time; `collection` times garbage collection; `statistics` counts; `page` serves
browsers.
"""
