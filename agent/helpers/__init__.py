"""A match on many machines: helpers on the cores of a Ray cluster search the position that the match's worker searches.

`link` is the worker's end: a `Team` (see `agent.search.team`) that never waits for anything. It starts a process of its
own for each match, `broker`, the only one that talks to Ray: what fails or hangs there costs the match its helpers, and
nothing else. `helper_group` is whom the broker talks to, as helpers come and go; `helper` is what runs on the cores of
the cluster, `messages` what passes between the three, and `pool` keeps teams for whoever plays many matches in one
process. Imports `agent.search`, `agent.kernels` and `games`; imported by `agent.worker.session`, `agent.commands` and
`agent.measuring`.
"""
