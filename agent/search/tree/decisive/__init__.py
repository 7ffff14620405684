"""Moves of random matches that are not random: those that win at once, and those that keep the other one from it.

Decisive and anti-decisive moves (Teytaud and Teytaud 2010, "On the huge benefit of decisive moves in Monte-Carlo tree
search algorithms"). To make every move and look would cost far more than the playout; but what ends a match can be read
off the circuit (`games.gdl.structure.endings`), and random matches show which moves make which facts true, and when
(`makers`). `finding` puts both together and makes sure of it on other matches; `kernels` looks for such moves in 64
matches at once.
"""
