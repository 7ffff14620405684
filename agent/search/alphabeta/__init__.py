"""Alpha-beta, written once for circuits and all native families.

The walk through the tree (`search`), its stack (`frames`), and the transposition table. Knows no game: each family
hands its own kernels to `search`.
"""
