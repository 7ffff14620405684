"""Matches against specialists of a game, engines of others: the command `lab ladder`.

`outside` is the contract of such an engine; `uci` speaks with those that know this protocol, and `named` finds the one
that the user names. `rules` makes sure that both play the same game; `seat` lets the engine play a role. `kept` counts
the moves that keep the value of a solved game. The series itself is that of `agent.lab.tournament.yardstick`.
"""
