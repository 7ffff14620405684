"""Values of positions and priors of moves, for the tree search.

They come from a neural network (`network`) or, without one, from simpler weights (`evaluation`, `priors`). `tuning`
holds weights and constants.
"""
