"""Helpers: cores of a Ray cluster that search the position of a match.

`link` is the worker's end: a `Team` (see `agent.search.team`) that never waits. It starts a `broker` for each match,
the only process that talks to Ray: a failure there costs the match its helpers and nothing else. `helper_group` keeps
the broker's helpers, `helper` runs on the cluster's cores, `messages` passes between the three, `connection` joins
clusters.
"""
