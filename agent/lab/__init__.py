"""The laboratory: plays many matches, measures and learns.

`jobs` spreads work over processes and machines. `tournament` and `ladder` play many matches, `appraisal` says what a
game is like, `learn` learns one for hours, `bench` measures playouts, `conform` compares machines with traces. `tally`
counts won and lost matches. `commands` is the command line, with `progress` and `tables`.
"""
