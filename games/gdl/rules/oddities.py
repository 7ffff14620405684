"""Oddities in the text of a rulesheet: what has a meaning, but mostly not the one that its author wants.

Nothing here recurses, so statements may be nested to any depth.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from games.gdl.rules.diagnostics import Diagnostic
from games.gdl.rules.surface import head_of, relation_of
from games.gdl.rules.terms import is_variable
from games.machine import Term

KEYWORD_ARITIES = {"role": 1, "init": 1, "true": 1, "next": 1, "legal": 2, "does": 2, "goal": 2, "terminal": 0}
"""Arities of the game's own relations."""

_CONCLUDED = {name: n for name, n in KEYWORD_ARITIES.items() if name not in ("true", "does")} | {
    "base": 1,
    "input": 2,
    "sees": 2,
}
"""Arities of the relations that players are told from, so that no rule has to ask for them."""

_OF_GAMES = KEYWORD_ARITIES.keys()
_WORDS = _OF_GAMES | {"distinct", "not", "or", "<="}
_JUNCTIONS = ("not", "and", "or")

_ARROW = re.compile(r"(?!<=$)\W+")
"""Spellings of `<=` in other languages."""

Place = tuple[int, ...]


def oddities(rulesheet: Sequence[Term], roles: Sequence[Term]) -> list[Diagnostic]:
    """Warnings about names, terms and disjunctions, each kind of mistake once per name; without roles, not of these."""
    found: list[Diagnostic] = []
    constants: dict[str, Place] = {}
    functions: dict[str, dict[int, Place]] = {}
    spellings: dict[str, Place] = {}
    for name, arity, inner, place in _names(rulesheet):
        if is_variable(name):
            continue
        spellings.setdefault(name, place)
        if inner and arity is None:
            constants.setdefault(name, place)
        elif inner:
            functions.setdefault(name, {}).setdefault(arity or 0, place)
    for name in _WORDS & (constants.keys() | functions.keys()):
        place, kind = (
            (constants[name], "constant") if name in constants else (min(functions[name].values()), "function")
        )
        found.append(_warning(f"`{name}` is a word of the language, here a {kind}", place))
    for name, places in functions.items():
        arities = sorted(places)
        if len(arities) > 1:
            counts = " and ".join(map(str, arities))
            found.append(_warning(f"function `{name}` is used with {counts} arguments", max(places.values())))
    first: dict[str, str] = {}
    for name, place in spellings.items():
        other = first.setdefault(name.lower(), name)
        if other != name:
            found.append(_warning(f"`{name}` and `{other}` differ by case alone: they are two names", place))
        if not name.isprintable():
            found.append(_warning(f"`{name}` holds an invisible character", place))
    found += [*_disjunctions(rulesheet), *_no_rules(rulesheet), *_no_roles(rulesheet, roles), *_slips(rulesheet)]
    return sorted(found, key=lambda one: one.path)


def _warning(message: str, place: Place) -> Diagnostic:
    return Diagnostic("warning", message, place)


def _names(rulesheet: Iterable[Term]) -> Iterator[tuple[str, int | None, bool, Place]]:
    """Each name with its number of arguments (None for one without a list), whether in a term, and its place."""
    for index, statement in enumerate(rulesheet):
        pending: list[tuple[Term, bool, Place]] = [(statement, False, (index,))]
        while pending:
            term, inner, place = pending.pop()
            if isinstance(term, str):
                yield term, None, inner, place
                continue
            if not term or not isinstance(term[0], str):
                continue
            above = not inner and (term[0] in _JUNCTIONS or (term[0] == "<=" and len(place) == 1))
            if not above:
                yield term[0], len(term) - 1, inner, place
            # From left to right: what is pushed last comes first.
            pending += [(term[i], not above, (*place, i)) for i in range(len(term) - 1, 0, -1)]


def _disjunctions(rulesheet: Iterable[Term]) -> Iterator[Diagnostic]:
    for index, statement in enumerate(rulesheet):
        if not isinstance(statement, tuple) or statement[:1] != ("<=",):
            continue
        pending: list[tuple[Term, bool, Place]] = [(statement[i], False, (index, i)) for i in range(2, len(statement))]
        while pending:
            term, inside, place = pending.pop()
            if not isinstance(term, tuple) or not term or term[0] not in _JUNCTIONS:
                continue
            if term == ("or",):
                yield _warning("an empty `or` is never true", place)
            elif term[0] == "or" and inside:
                yield _warning("`or` inside `or`: the language has literals there", place)
            below = inside or term[0] == "or"
            pending += [(part, below, (*place, i)) for i, part in enumerate(term) if i]


def _no_rules(rulesheet: Iterable[Term]) -> Iterable[Diagnostic]:
    """Warns of statements that look like rules, but conclude nothing."""
    found: dict[str, Diagnostic] = {}
    for index, statement in enumerate(rulesheet):
        name = relation_of(statement)
        if relation_of(head_of(statement)) == "distinct":
            message = "`distinct` is built in: what concludes it is left out"
            found.setdefault("distinct", _warning(message, (index,)))
        elif isinstance(name, str) and _ARROW.fullmatch(name) and {*map(relation_of, statement[1:2])} & _OF_GAMES:
            found.setdefault(name, _warning(f"`{name}` is not `<=`: this is a fact, no rule", (index, 0)))
    return found.values()


def _no_roles(rulesheet: Iterable[Term], roles: Sequence[Term]) -> Iterator[Diagnostic]:
    """Warns of names that are given moves, goals or percepts as if they were roles."""
    names = [role for role in roles if isinstance(role, str)]
    first: dict[str, Place] = {}
    for index, statement in enumerate(rulesheet if roles else ()):
        head = head_of(statement)
        if isinstance(head, tuple) and len(head) > 1 and head[0] in ("legal", "input", "goal", "sees"):
            name = head[1]
            if isinstance(name, str) and not is_variable(name) and name not in names:
                first.setdefault(name, (index, 1) if head is statement else (index, 1, 1))
    for name, place in first.items():
        close = "".join(f"; did you mean `{role}`?" for role in difflib.get_close_matches(name, names, 1))
        yield _warning(f"`{name}` is no role{close}", place)


def _slips(rulesheet: Sequence[Term]) -> Iterator[Diagnostic]:
    """Warns of relations that are concluded, never asked for, and spelled almost like one of the game's own."""
    heads: dict[str, tuple[Term, Place]] = {}
    asked = set()
    for index, statement in enumerate(rulesheet):
        head = head_of(statement)
        place: Place = (index,) if head is statement else (index, 1)
        name = head if isinstance(head, str) else relation_of(head)
        if isinstance(name, str):
            heads.setdefault(name, (head, place if isinstance(head, str) else (*place, 0)))
        pending = list(statement[2:]) if head is not statement else []
        while pending:
            term = pending.pop()
            if isinstance(term, tuple) and relation_of(term) in _JUNCTIONS:
                pending += term[1:]
            else:
                asked.add(term if isinstance(term, str) else relation_of(term))
    for name, (head, place) in heads.items():
        arity = 0 if isinstance(head, str) else len(head) - 1
        for meant, wanted in _CONCLUDED.items():
            if name not in asked and name not in _CONCLUDED and arity == wanted and _one_slip(name.lower(), meant):
                yield _warning(f"nothing asks for `{name}`; did you mean `{meant}`?", place)


def _one_slip(word: str, meant: str) -> bool:
    """Whether one letter at most is wrong, missing, too much, or has changed places with the next."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, meant, strict=False)))
    word, meant = word[same:], meant[same:]
    return (
        word[1:] == meant[1:]
        or word[1:] == meant
        or word == meant[1:]
        or (word[:2] == meant[1::-1] and word[2:] == meant[2:])
    )
