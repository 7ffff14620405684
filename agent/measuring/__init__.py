"""Measures speed (`bench`, `playouts`, `timing`), strength (`strength_game`, `strength_series`) and correctness
(`conform`, with `trace_replay` and its report `conformity`), and describes rulesheets (`describe`, `sampling`). Imports
`agent.search`, `agent.sheet` and `games`; only commands import it.
"""
