"""Answers from the statements of an unchecked rulesheet, which may have no meaning.

Nothing here recurses, so statements may be nested to any depth.
"""

from __future__ import annotations

from collections.abc import Iterable

from games.gdl.rules.terms import is_variable
from games.machine import Term


def has_imperfect_information(rules: Iterable[Term]) -> bool:
    """Whether a statement concludes `sees`: a game of imperfect information (GDL-II)."""
    return any(relation_of(head_of(statement)) == "sees" for statement in rules)


def named_moves(rules: Iterable[Term], role: Term) -> list[Term]:
    """The ground moves of a role in heads of `legal` and `input`, in order, with repeats.

    They need not be legal in any state. A variable in place of the role stands for every role.
    """
    found: list[Term] = []
    for statement in rules:
        head = head_of(statement)
        if isinstance(head, str) or len(head) != 3 or relation_of(head) not in ("legal", "input"):
            continue
        _, player, move = head
        if (player == role or is_variable(player)) and not _has_variable(move):
            found.append(move)
    return found


def head_of(statement: Term) -> Term:
    """The conclusion of a statement."""
    if isinstance(statement, tuple) and len(statement) > 1 and statement[0] == "<=":
        return statement[1]
    return statement


def says_init(statement: Term) -> bool:
    """Whether a fact or rule is about the first position."""
    return relation_of(head_of(statement)) == "init"


def relation_of(atom: Term) -> Term | None:
    """The name of an atom's relation; None for an atom without a list."""
    return atom[0] if isinstance(atom, tuple) and atom else None


def _has_variable(term: Term) -> bool:
    pending = [term]
    while pending:
        part = pending.pop()
        if isinstance(part, tuple):
            pending.extend(part)
        elif is_variable(part):
            return True
    return False
