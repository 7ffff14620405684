"""Learning of alpha-beta's evaluation from matches of shallow searches against one another.

The fit to random play comes first (`first_evaluation`). `selfplay` plays matches, `episodes` draws positions and
targets from them, also on helpers (`actors`), and `learner` fits the evaluation to these. `pace` sets number and depth
of the matches. `memory` keeps the evaluation for later matches of the game, under the `canonical` form of its rules,
whatever their words.
"""
