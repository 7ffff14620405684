"""Alpha-beta for any two-player game with turns that compiles to a circuit, with an evaluation learnt before the match.

Here is the search. `workspace` holds a thread's memory, `features` what the evaluation sees of a state, with `pairs` of
facts, `evaluation` what is learnt, `expansion` makes all children of a node in one pass of the lanes, `batching` is its
part for the children of several siblings, `table` says what an entry of the transposition table holds, `search` has the
family's steps of `agent.search.alphabeta`, `analysis` deepens iteratively at the root, `variation` reads the principal
variation off the table, `splitting` shares the root's moves with helpers elsewhere, by entries of the table
(`sharing`), `engine` plays, and `simultaneous` does where both players choose at once. `survey` says whether a game is
one for alpha-beta.

`learning` learns the evaluation, and `preparing` finds out which search plays, with which evaluation. Each imports what
comes before it only.
"""
