"""Search: engines and what they share.

`engine` is the contract, `registry` says which engine plays a game. `choosing` plays games of two by alpha-beta (`pvs`)
or tree search (`tree`), whichever does better; `learning` learns the `evaluation` of alpha-beta; `subgames` plays games
that fall apart. `tree` searches any game that has a circuit, `planning` adds a planner for one player, `montecarlo`
plays anything. `reversi` and `blokbox` play the native families. `alphabeta` is the search that these and `pvs` share;
`team` is the contract of helpers; `levels` fixes what time would decide, `leveled` plays by it;
`lean` lets engines search less than the whole game, `defence` chooses where all moves lose; `kernel_groups` says what
is compiled ahead.
"""
