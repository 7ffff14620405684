"""Compilation of kernels ahead of their use, group by group, in processes of their own.

`state` is the progress of each group in the kernel cache, `build` the process that compiles one group (measured by
`meter`), `keeper` runs these processes (`upkeep` those of a server), `progress` shows them on a console, `discard`
clears the cache. A kernel used before it is ready is compiled by Numba on the spot.
"""
