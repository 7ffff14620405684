"""Proofs of results: alpha-beta (`prover`, `alphabeta`)."""
