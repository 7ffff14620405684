"""Training of Reversi: rounds of self-play and regression (`campaign`), with `matches` against the weights before, and
the error model of Multi-ProbCut (`errors`). `command` is `lab train reversi`.
"""
