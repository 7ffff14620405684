"""Proves results: alpha-beta (`prover`, `alphabeta`) with the help of territories (`territory`, `regions`, `solo`)."""
