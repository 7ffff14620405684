"""The laboratory: plays many matches, measures and trains.

`jobs` spreads work over processes and machines, `tournament` plays many matches, `measuring` and `training` say what
they do, `tally` counts won and lost matches. `commands` is the command line.
"""
