"""Oddities in the text of a rulesheet: what has a meaning, but mostly not the one that its author wants.

Nothing here recurses, so statements may be nested to any depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from games.gdl.rules.diagnostics import Diagnostic
from games.gdl.rules.terms import is_variable
from games.machine import Term

KEYWORD_ARITIES = {"role": 1, "init": 1, "true": 1, "next": 1, "legal": 2, "does": 2, "goal": 2, "terminal": 0}
"""Arities of the game's own relations."""

_WORDS = KEYWORD_ARITIES.keys() | {"distinct", "not", "or", "<="}
_JUNCTIONS = ("not", "and", "or")

Place = tuple[int, ...]


def oddities(rulesheet: Sequence[Term]) -> list[Diagnostic]:
    """Warnings about names, terms and disjunctions, each kind of mistake once per name."""
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
    found += _disjunctions(rulesheet)
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
