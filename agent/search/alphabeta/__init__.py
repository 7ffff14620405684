"""Alpha-beta, written once for all native families: `search` and its `frames`, and aspiration windows.

A family's folder imports from here and registers its own kernels (`search.register`); nothing here knows a family.
"""
