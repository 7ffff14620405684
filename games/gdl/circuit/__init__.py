"""From ground rules to a boolean circuit: gates in a `pool`, built (`gates`), reduced (`sweep`, `rebuild`, `factor`).

`circuit` runs these stages in order; `outputs` says what the circuit computes. Imports `grounding` for the ground
program's type alone.
"""
