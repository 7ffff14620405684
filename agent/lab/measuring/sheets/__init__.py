"""Rulesheets: whether circuits play by them as reference traces and the interpreter do (`conform`, with `trace_replay`
and its report `conformity`), what the agent makes of them (`describe`, with `insight`, `sampling`, `sample_match` and
`structure`), and what is odd about them (`validate`).
"""
