"""Evaluations learnt for a game: features of its states, their weights, and two ways to learn these.

`features`, with `pairs`, lists the facts and patterns that count. `network` turns their weights into scores on the
`scale` of alpha-beta, with hidden units or without; `training` learns such networks, by steps of `adam`. `sampling`
draws states from random matches, and `fit` solves the least squares for linear weights.
"""
