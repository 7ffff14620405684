"""Many independent jobs, carried out by processes of this machine or of a Ray cluster.

`executor` is the contract; `gather` collects all results. An `agenda` of tasks is worked off by a `crew`, whose members
each feed one `worker`, the process that carries jobs out. `local` and `inline` run on this machine; `ray_executor` on
the nodes of a cluster, where a `node_actor` looks after each worker, with `cores` of its own, on machines whose speed
was measured by `calibration`. Ray is an optional extra, imported only for a cluster (docs/cluster.md).
"""
