"""Conformity of rulesheets' machines with reference traces and the interpreter: `sheets`, with `trace_replay` and the
report `conformity`.
"""
