"""Which kernels there are, group by group, and how they get compiled before they are needed, by processes of their own.

`groups` lists them, `state` says which are in the kernel cache already and shows how far the others are, `build` is the
process that compiles one group, `keeper` sees to it that all groups get compiled, `progress` shows that on a console.
Whoever needs kernels at once may use them all the same: Numba then compiles on the spot what the cache does not hold.
Imported by `agent.serving`, `agent.refereeing` and the commands; `groups` imports the engines only when a group is
loaded.
"""
