"""Rulesheets that say the same otherwise: renamed, reordered, variables renamed, disjunctions split by hand, constants
in parentheses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tests.generated.agreement import Position, Record

Term = Any

KEYWORDS = frozenset(
    ["role", "init", "true", "next", "legal", "does", "goal", "terminal", "distinct", "not", "or", "and", "<="]
)

CONNECTIVES = ("<=", "not", "or", "and")


def in_parentheses(sheet: Sequence[Term], chosen: Callable[[str], bool]) -> tuple[Term, ...]:
    """The sheet with its chosen constants and propositions in parentheses; `chosen` is asked at each place."""

    def formula(part: Term) -> Term:
        if isinstance(part, str):
            return (part,) if chosen(part) else part
        below = formula if part[0] in CONNECTIVES else term
        return (part[0], *map(below, part[1:]))

    def term(part: Term) -> Term:
        return _with_constants(part, chosen)

    return tuple(map(formula, sheet))


def _with_constants(term: Term, chosen: Callable[[str], bool]) -> Term:
    if isinstance(term, str):
        return (term,) if not term.startswith("?") and chosen(term) else term
    return (term[0], *[_with_constants(part, chosen) for part in term[1:]])


def varied(sheet: Sequence[Term], known: Record, rng: Random) -> tuple[tuple[Term, ...], Record]:
    """The same game, told otherwise, and the recorded matches in its words.

    Some constants are functions without arguments, which is other terms to all but the readers of rules.
    """
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
    functions = set(rng.sample(fresh, len(fresh) // 3))
    told = in_parentheses([_put(statement, renaming) for statement in result], functions.__contains__)
    return told, _renamed(known, lambda term: _with_constants(_put(term, renaming), functions.__contains__))


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


def _renamed(known: Record, rename: Callable[[Term], Term]) -> Record:
    def facts(terms: Any) -> frozenset[Term]:
        return frozenset(map(rename, terms))

    positions = [
        Position(facts(here.facts), [set(facts(moves)) for moves in here.legal], here.terminal, here.goals)
        for here in known.positions
    ]
    moves = [(number, tuple(map(rename, joint)), facts(after)) for number, joint, after in known.moves]
    return Record(list(map(rename, known.roles)), facts(known.initial), positions, moves)
