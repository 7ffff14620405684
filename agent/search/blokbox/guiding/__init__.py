"""What tells the tree search where to look: a neural network (`network`), or where there is none, simpler weights
(`evaluation`, `priors`); both behind `judgement`. `tuning` holds what self-play decided.
"""
