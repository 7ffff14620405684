"""Rulesheets of matches that begin in the middle of another one."""

from __future__ import annotations

from collections.abc import Collection

from games.gdl.rules.surface import has_imperfect_information, says_init
from games.machine import Term
from protocol.kif import write


def from_position(rulesheet: tuple[Term, ...], facts: Collection[Term]) -> tuple[Term, ...] | None:
    """Returns the rulesheet with these facts as its initial state.

    None where a rule has `init` in its body, and in games of imperfect information: the rules would tell a player more
    than it may know.
    """
    if has_imperfect_information(rulesheet):
        return None
    kept = []
    for statement in rulesheet:
        rule = isinstance(statement, tuple) and len(statement) > 1 and statement[0] == "<="
        if rule and any(map(_reads_init, statement[2:])):
            return None
        if not says_init(statement):
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
