"""Alpha-beta, written once for circuits and all native families.

`search` and its `frames`, aspiration windows, and the transposition `table`. `pvs` and each family's folder import from
here and hand their own kernels to `search`; nothing here knows a game.
"""
