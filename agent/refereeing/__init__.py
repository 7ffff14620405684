"""The other side of the protocol: runs matches between players, as a game manager does.

`referee` asks, judges and keeps the clocks, `record` is what it writes down, `agent_process` and `house_players` are
the built-in players, `local_player` is the contract of players in the referee's own process, `human` is a person in the
terminal, `hosting` puts a match together for the command line, `watching` shows it on a page, where persons play, who
may go back to earlier `positions` and are given hints by `hinting`. Imports `games`, `protocol`,
`agent.boards`, `agent.web` and `agent.kernels`, and nothing of the player's side: players are reached over HTTP, or
brought along by whoever sets a match up. Commands and `agent.lab.tournament` import it.
"""
