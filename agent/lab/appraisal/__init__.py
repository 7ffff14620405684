"""What a rulesheet is like to play: the command `balance`, matches of the agent against itself.

`series` has them played; `playing` plays one and notes its `match`, with the values that the search gave its positions.
`figures` are computed from these notes, and so are `plots` and `problems`. `report` is all of it, as data and as a
table.
"""
