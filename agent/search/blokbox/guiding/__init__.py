"""Values of positions and priors of moves, for the tree search.

They come from a neural network (`network`) or, without one, from simpler weights (`evaluation`, `priors`); `judgement`
picks one. `tuning` holds weights and constants.
"""
