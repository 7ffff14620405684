"""Rulesheets that say the same otherwise: renamed, reordered, variables renamed, disjunctions split by hand."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.generated.agreement import Position, Record

Term = Any

KEYWORDS = frozenset(
    ["role", "init", "true", "next", "legal", "does", "goal", "terminal", "distinct", "not", "or", "and", "<="]
)


def varied(sheet: Sequence[Term], known: Record, rng: Random) -> tuple[tuple[Term, ...], Record]:
    """The same game, told otherwise, and the recorded matches in its words."""
    names = dict.fromkeys(name for statement in sheet for name in _names(statement))
    fixed = {name for name in names if name in KEYWORDS or name.lstrip("-").isdigit() or name.startswith("?")}
    renamed = [name for name in names if name not in fixed]
    fresh = [f"w{i}" for i in range(len(renamed))]
    rng.shuffle(fresh)
    renaming = dict(zip(renamed, fresh, strict=True))
    statements = [part for statement in sheet for part in _split(statement)]
    result = [_reordered(_apart(statement, rng), rng) for statement in statements]
    roles = [statement for statement in result if statement[0] == "role"]
    rng.shuffle(result)
    in_order = iter(roles)
    result = [next(in_order) if statement[0] == "role" else statement for statement in result]
    return tuple([_put(statement, renaming) for statement in result]), _renamed(known, renaming)


def _names(term: Term) -> list[str]:
    return [term] if isinstance(term, str) else [name for part in term for name in _names(part)]


def _put(term: Term, renaming: dict[str, str]) -> Term:
    return renaming.get(term, term) if isinstance(term, str) else tuple([_put(part, renaming) for part in term])


def _split(statement: Term) -> list[Term]:
    """One statement for each branch of the first disjunction that is a literal of its own."""
    if statement[0] == "<=":
        for i, part in enumerate(statement[2:], 2):
            if not isinstance(part, str) and part[0] == "or":
                return [out for branch in part[1:] for out in _split((*statement[:i], branch, *statement[i + 1 :]))]
    return [statement]


def _apart(statement: Term, rng: Random) -> Term:
    """The statement with new names for its variables."""
    if statement[0] != "<=":
        return statement
    names = [name for name in dict.fromkeys(_names(statement)) if name.startswith("?")]
    fresh = [f"?{i}" for i in range(len(names))]
    rng.shuffle(fresh)
    return _put(statement, dict(zip(names, fresh, strict=True)))


def _reordered(statement: Term, rng: Random) -> Term:
    if statement[0] != "<=":
        return statement
    body = list(statement[2:])
    rng.shuffle(body)
    return (*statement[:2], *body)


def _renamed(known: Record, renaming: dict[str, str]) -> Record:
    def facts(terms: Any) -> frozenset[Term]:
        return frozenset(_put(term, renaming) for term in terms)

    positions = [
        Position(facts(here.facts), [set(facts(moves)) for moves in here.legal], here.terminal, here.goals)
        for here in known.positions
    ]
    moves = [(number, _put(joint, renaming), facts(after)) for number, joint, after in known.moves]
    return Record([_put(role, renaming) for role in known.roles], facts(known.initial), positions, moves)
