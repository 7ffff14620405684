"""Strength: `game` plays one game of two engines, `series` many, as a tournament on the parts of `agent.tournament`;
`tactics` counts the positions of a `tactics_suite` that an engine gets right.
"""
