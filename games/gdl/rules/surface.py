"""What the statements of a rulesheet show as they are written, without a check of their meaning.

For those who must answer at once, perhaps about a rulesheet that has no meaning. Statements are taken as they come
from the parser, and nothing here recurses, so no nesting is too deep.
"""

from __future__ import annotations

from collections.abc import Iterable

from games.gdl.rules.rules import is_variable
from games.machine import Term


def has_imperfect_information(rules: Iterable[Term]) -> bool:
    """Whether some statement says what a role perceives (`sees`): the game is one of imperfect information (GDL-II)."""
    return any(_relation(_head(statement)) == "sees" for statement in rules)


def named_moves(rules: Iterable[Term], role: Term) -> list[Term]:
    """The moves without variables that the heads of `legal` and `input` give to a role, in order, with repeats.

    Whether they are legal in any state is another question. A variable in the place of the role stands for every role.
    """
    found: list[Term] = []
    for statement in rules:
        head = _head(statement)
        if isinstance(head, str) or len(head) != 3 or _relation(head) not in ("legal", "input"):
            continue
        _, player, move = head
        if (player == role or is_variable(player)) and not _has_variable(move):
            found.append(move)
    return found


def _head(statement: Term) -> Term:
    """What a statement concludes."""
    if isinstance(statement, tuple) and len(statement) > 1 and statement[0] == "<=":
        return statement[1]
    return statement


def _relation(atom: Term) -> Term | None:
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
