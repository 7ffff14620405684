"""From ground rules to a circuit: gates in a `pool`, made by `gates`, reduced by `ternary`, `rebuild` and `factor`.

`circuit` runs these stages in order; `outputs` are the results of a circuit; a `builder` adds gates by hand.
"""
