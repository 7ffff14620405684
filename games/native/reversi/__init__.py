"""Reversi and its relatives on bitboards: rules, perft, and the recognition of the family in a ground program."""
