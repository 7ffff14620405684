"""Strength on single positions: `tactics` of a `tactics_suite`, and exact solutions of `reversi_problems`.

Strength in matches is measured by `agent.lab.tournament`.
"""
