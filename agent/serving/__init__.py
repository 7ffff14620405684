"""Answers game managers: the server process, which keeps clocks and matches but never thinks.

`player` answers every message of the protocol; `match` is one match, `match_workers` and `worker_pool` are the
processes that think about it, `journal` lets it survive a restart, `clock` says when an answer is due. Imports
`agent.worker.messages` of the worker's side, nothing of `agent.search` but its contract.
"""
