"""Training of Blokbox, in rounds (`campaign`): `self_play` and `matches` play; `learning` trains networks, `regression`
the weights for variants without one. `command` is `lab train blokbox`.
"""
