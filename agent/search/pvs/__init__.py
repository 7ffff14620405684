"""Alpha-beta for any two-player game with turns that compiles to a circuit, with a learnt linear evaluation.

`workspace` holds a thread's memory, `expansion` makes all children of a node in one pass of the lanes, `table` is the
transposition table, `search` has the family's steps of `agent.search.alphabeta`, `analysis` deepens iteratively at the
root, `engine` plays.
"""
