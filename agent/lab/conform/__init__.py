"""Conformity of rulesheets' machines with reference traces and the interpreter: `conform`, with `trace_replay` and the
report `conformity`.
"""
