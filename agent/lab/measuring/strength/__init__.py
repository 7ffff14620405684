"""Strength: `game` plays one game of two engines, `series` many, on the parts of `agent.lab.tournament`;
`tactics` counts the positions of a `tactics_suite` that an engine gets right.
"""
