"""Search. `engine` is the contract, `registry` says which engine plays a game, `score` counts results of games,
`team` has helpers search elsewhere.

`general` plays games for two, by alpha-beta (`pvs`) or tree search, whichever suits, and part by part where they fall
apart (`subgames`); `tree` searches any game that has a circuit, `planning` adds a planner where there is one player
only, `montecarlo` searches any game at all; `reversi` and `blokbox` are the engines of the native families. Imports
`games`, nothing else of `agent` but the names of the groups of kernels; training also the executors of
`agent.lab.jobs`.
"""
