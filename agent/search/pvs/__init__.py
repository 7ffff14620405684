"""Alpha-beta for any two-player game with turns that compiles to a circuit, with an evaluation learnt before the match.

`workspace` holds a thread's memory, `features` what the evaluation sees of a state, with `pairs` of facts, `expansion`
makes all children of a node in one pass of the lanes, `batching` is its part for the children of several siblings,
`table` says what an entry of the transposition table holds, `search` has the family's steps of
`agent.search.alphabeta`, `analysis` deepens iteratively at the root, `variation` reads the principal variation off the
table, `splitting` shares the root's moves with helpers elsewhere, by entries of the table (`sharing`), `engine` plays,
and `simultaneous` does where both players choose at once.

`survey` says whether a game is one for alpha-beta, `evaluation` what is learnt. `first_evaluation` is that from random
play, `selfplay` plays matches of shallow searches, `lessons` takes from them what there is to learn, as `actors` do on
helpers elsewhere, `learning` fits the evaluation to that, in as many and as deep matches as `pace` says, with one
weight for features that the symmetries of the game lead to each other (`ties`). `foresight` compares what it says of
results with what playouts say, `match_series` plays matches on very short clocks (`tally` says how they went), `trial`
those against tree search, `variants` those of tree search against itself, searching in another way, `guided_playouts`
says what is to be expected of one of these, and `tree_choice` which of them a game wants. `memory` keeps what was
learnt for later matches, `recollection` takes it from there and puts it there, and `preparation` does all that while
the start clock runs.
Imported by `agent.search.general` and `agent.kernels.groups`: `engine` and `preparation`; `memory` by whoever makes the
engine of a match (`agent.search.registry`, `agent.worker.session`).
"""
