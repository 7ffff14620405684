"""Rulesheets of matches that begin in the middle of another one."""

from __future__ import annotations

from collections.abc import Collection

from games.machine import Term
from protocol.kif import write


def from_position(rulesheet: tuple[Term, ...], facts: Collection[Term]) -> tuple[Term, ...] | None:
    """Returns the rulesheet with these facts as its initial state; None where a rule has `init` in its body."""
    kept = []
    for statement in rulesheet:
        rule = isinstance(statement, tuple) and len(statement) > 1 and statement[0] == "<="
        head, body = (statement[1], statement[2:]) if rule else (statement, ())
        if any(map(_reads_init, body)):
            return None
        if not (isinstance(head, tuple) and head and head[0] == "init"):
            kept.append(statement)
    return (*kept, *(("init", fact) for fact in sorted(facts, key=write)))


def _reads_init(body: Term) -> bool:
    pending = [body]
    while pending:
        part = pending.pop()
        if isinstance(part, tuple):
            if part and part[0] == "init":
                return True
            pending.extend(part)
    return False
