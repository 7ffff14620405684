"""Proofs of results: alpha-beta (`prover`, `alphabeta`) with territories (`territory`, `regions`, `solo`)."""
