"""The other side of the protocol: matches between players, run as by a game manager.

`referee` asks, judges (by a `bounded_machine`) and keeps the clocks, and fills the match's record. `agent_process` and
`house_players` are the built-in players, `local_player` the contract of players in this process, `human` a person in
the terminal. `hosting` sets up the `match` command, `watching` shows a match on a page, `knowledge` is what people know
where not all is seen, `analysis` thinks about positions, for hints and more.
"""
