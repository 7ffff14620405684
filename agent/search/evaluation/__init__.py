"""Evaluations learnt for a game: features of its states, their weights, and a way to learn these.

`features`, with `pairs`, lists the facts and patterns that count; `rivals` are facts that are alike. `network` turns
their weights into scores of alpha-beta, with hidden units or without; `training` learns such networks.
"""
