"""Many matches between many players: the command `tournament`.

`series` runs a tournament: `contenders` take part, `pairing` seats them, `openings` are drawn (`balance` judges them),
`matches` plays one match, `results` is what is kept of it, with the `turns` of engines, in a `log`. `standings` is the
table, with ratings by `bradley_terry`; `report` prints it. `showing` is the page of a tournament: `watching` while it
runs, `logged` from a log. `engine_player` plays by an engine in this process, with `teams` of helpers, `belief_engine`
by one that does not see all; `plain` is an engine to measure others against, `yardstick` one on a ladder.
"""
