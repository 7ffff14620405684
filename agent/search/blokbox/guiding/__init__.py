"""Values of positions and priors of moves, for the tree search.

They come from a neural network (`network`), or where there is none, from simpler weights (`evaluation`, `priors`); both
behind `judgement`. `tuning` holds weights and constants together. Imports nothing else of `blokbox`.
"""
