"""Many matches between many players: who meets whom, spread over processes, resumed from a log, summed up.

`series` runs a tournament: `contenders` says who plays, `pairing` who meets whom in which role, `matches` plays one
match with the referee, `results` is what is kept of it, `standings` the table, by `bradley_terry` for the Elo ratings,
`report` for people to read; `showing` is what a page shows of it, `watching` while it runs and `logged` from its log.
`openings`, `engine_player` (an engine as a player of the referee's process) and `log` know nothing of tournaments:
`agent.lab.measuring` measures strength with them.
"""
