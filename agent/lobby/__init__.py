"""The lobby: the page of `ggp-agent play`, where matches are begun by clicking.

`site` is the lobby's HTTP side. `matches` and `benches` run in processes of their own (`child`), `hosted` is the work
of a match's, whose record `recording` writes. `analysis` is a process that thinks about positions, `checker` one that
checks rulesheets and draws first positions.
Temporary files are in a `folder` that goes with the lobby. The lobby's own process never reads rules.
"""
