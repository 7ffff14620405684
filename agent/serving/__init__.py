"""Answers game managers: the server process, which keeps clocks and matches but never thinks.

`supervisor` owns the socket and restarts this process, where `watchdog` says that it hangs; `player` answers all
messages; `match` is one match, `sheet` its rules, `history` its messages, `turn` its present turn, `showing` its view
on the page. Each match has two `seats`: for a process that knows the state, and for one that thinks. `pool` has spare
ones, `starting` starts them, `processes` talks to them. `journal` and `moments` let a match survive a restart; `clock`
and `match_clock` tell the time; `collection` times garbage collection; `statistics` counts; `places` says which match
makes room for another.
"""
