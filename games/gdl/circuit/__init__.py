"""From ground rules to a boolean circuit: gates in a `pool`, built by `gates`, reduced by `sweep`, `rebuild`, `factor`.

`circuit` runs these stages in order; `outputs` are the results of a circuit; a `builder` adds gates by hand.
"""
