"""Evaluations learnt for a game: features of its states, linear weights, and the fit to random play.

`sampling` draws states from random matches and `fit` solves the least squares. `features`, with `pairs`, lists the
facts and patterns that count; `logistic` turns their weights into scores on the `scale` of alpha-beta.
"""
