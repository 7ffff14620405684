"""Answers game managers: the server process, which keeps clocks and matches but never thinks.

`supervisor` owns the socket and starts this process again; `player` answers every message of the protocol; `match` is
one match, `record` what was received in it, `turn` what is known of its present turn; `match_workers`, `worker_pool`,
`light_workers` are the processes that think; `journal` lets a match survive a restart, `moments` tells how long ago
something was; `clock` and `match_clock` say when an answer is due, `pace` how long turns take; `collection` has garbage
collected when nothing is due; `statistics` counts.

Imports `agent.worker.messages` of the worker's side and nothing else of it or of `agent.search`; of `games` only what
reads rules as they are written. Commands import it.
"""
