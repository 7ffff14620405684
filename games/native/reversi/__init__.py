"""Reversi and its relatives on bitboards: rules, perft, and recognition of the family."""
