"""Alpha-beta for two-player games with turns on a circuit, with an evaluation learnt before the match.

`survey` says whether a game suits alpha-beta. A node's children are made in one pass of the lanes (`expansion`,
`batching`), in a thread's `workspace`; `search` has the steps for `agent.search.alphabeta`, and `analysis` deepens
iteratively at the root. `splitting` divides the root's moves among helpers. `engine` plays, and reads the principal
variation off the `table`.
"""
