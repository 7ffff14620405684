"""Many independent jobs, carried out by processes of this machine or by those of a Ray cluster.

`executor` is the contract, `crew` how all executors go through their tasks, `agenda` the bookkeeping of that: what
waits, what runs, what is run again. `worker` is the process that carries jobs out. `local` has such processes on this
machine; `ray_executor` has them on the nodes of a cluster, each looked after by an actor (`seat`) with cores of its own
(`cores`), on machines whose speed was measured first (`calibration`). `connection` joins a cluster; Ray is an optional
extra, and imported only when a cluster is asked for.

`searching` has helpers search the positions of a match beside its worker.

`docs/cluster.md` says how clusters are made. Imports `agent.errors`, `agent.kernels` and `games`; whoever has many jobs
imports it: `agent.lab.tournament`, `agent.measuring`, the training of `agent.search`, commands. `searching` imports
`agent.search` besides, and is for `agent.worker`.
"""
