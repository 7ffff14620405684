"""Measures: speed (`bench`, `playouts`), strength (`strength_game`, `strength_series`), correctness (`conform`), and
what a rulesheet amounts to (`describe`). Imports `agent.search` and `games`; only commands import it.
"""
