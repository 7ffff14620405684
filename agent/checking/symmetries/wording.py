"""A symmetry in the words of the rules: arguments that change places, and values in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from agent.checking.symmetries.finding import Symmetry
from games.gdl.circuit.circuit import Circuit
from games.gdl.rules.terms import term_text
from games.machine import Term

Schema: TypeAlias = tuple[str, int]
"""Name and arity of a relation or a kind of move."""

Place: TypeAlias = tuple[str, int]
"""A relation or a kind of move, and the index of one of its arguments."""

Naming: TypeAlias = Callable[[Place], str | None]
"""A better name for a place, such as `columns`; None for none."""

MOST_SHOWN = 6
"""Most values of a cycle, or pairs, that are spelled out."""

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


@dataclass
class _Action:
    """Action on the terms of one schema."""

    to: Schema
    source: tuple[int, ...] = ()
    """For each argument of the image, the argument it depends on."""
    values: list[dict[Term, Term]] = field(default_factory=list)
    """For each argument of the image, its value by that of the other argument."""


def describe(symmetry: Symmetry, circuit: Circuit, name_of: Naming = lambda place: None) -> list[str]:
    """The symmetry as clauses that hold together."""
    moves = [move for of_role in circuit.moves for move in of_role]
    pairs = [(circuit.fluents[i], circuit.fluents[symmetry.fluents[i]]) for i in symmetry.used]
    pairs += [(moves[i], moves[j]) for i, j in enumerate(symmetry.moves)]
    by_schema: dict[Schema, list[tuple[Sequence[Term], Term]]] = defaultdict(list)
    for term, image in pairs:
        schema, arguments = _split(term)
        by_schema[schema].append((arguments, image))
    clauses: dict[str, list[str]] = {}
    roles = {circuit.roles[i]: circuit.roles[j] for i, j in enumerate(symmetry.roles)}
    if text := permutation_text(roles, line=False):
        clauses[text] = ["roles"]
    plain: dict[Term, Term] = {}
    renamed: dict[Term, Term] = {}
    irregular: list[str] = []
    for schema, found in sorted(by_schema.items(), key=lambda item: item[0]):
        name, arity = schema
        if not arity:
            plain[name] = found[0][1]
            continue
        action = _action(schema, found)
        if action is None:
            moved = sum(_split(image) != (schema, arguments) for arguments, image in found)
            example = next((a, b) for a, b in found if _split(b) != (schema, a))
            irregular.append(
                f"{moved} of {name} permuted, such as {term_text((name, *example[0]))} to {term_text(example[1])}"
            )
            continue
        renamed[name] = action.to[0]
        if action.source != tuple(range(arity)):
            clauses.setdefault(_turned(action.source), []).append(name)
        for place, values in enumerate(action.values):
            if text := permutation_text(values):
                clauses.setdefault(text, []).append(
                    name_of((action.to[0], place)) or f"{_ordinal(place)} of {action.to[0]}"
                )
    for mapping in (plain, renamed):
        if text := permutation_text(mapping, line=False):
            clauses.setdefault(text, [])
    result = [f"{_listed(places)}: {text}" if places else text for text, places in clauses.items()]
    return result + irregular


def permutation_text(values: Mapping[Term, Term], *, line: bool = True) -> str:
    """A permutation in words; empty for the identity. `line`: the values may form a line."""
    moved = {value: image for value, image in values.items() if value != image}
    if not moved:
        return ""
    ordered = in_order(values)
    text = {value: term_text(value) for value in values} | {image: term_text(image) for image in values.values()}
    if set(values) != set(values.values()):
        pairs = [f"{text[a]} becomes {text[b]}" for a, b in list(moved.items())[:MOST_SHOWN]]
        return ", ".join(pairs) + (" ..." if len(moved) > MOST_SHOWN else "")
    if line and len(ordered) > 2 and all(values[a] == b for a, b in zip(ordered, reversed(ordered), strict=True)):
        return f"{text[ordered[0]]}..{text[ordered[-1]]} mirrored"
    shift = ordered.index(values[ordered[0]])
    if (
        line
        and len(ordered) > 2
        and all(values[a] == ordered[(i + shift) % len(ordered)] for i, a in enumerate(ordered))
    ):
        return f"{text[ordered[0]]}..{text[ordered[-1]]} moved on by {shift}, the last to the beginning"
    cycles = _cycles(moved, ordered)
    shown = [
        f"{text[cycle[0]]} and {text[cycle[1]]}"
        if len(cycle) == 2
        else " to ".join(text[one] for one in (*cycle, cycle[0]))
        for cycle in cycles[:MOST_SHOWN]
        if len(cycle) <= MOST_SHOWN
    ]
    if len(shown) < len(cycles):
        shown.append(f"... ({len(moved)} in all)")
    return ", ".join(shown) + (" exchanged" if all(len(cycle) == 2 for cycle in cycles) else "")


def in_order(values: Iterable[Term]) -> list[Term]:
    """Terms in a reader's order: numbers by size, the rest alphabetically."""

    def key(value: Term) -> tuple[bool, float, str]:
        text = term_text(value)
        number = text.isascii() and text.lstrip("-").isdigit()
        return not number, float(text) if number else 0.0, text

    return sorted(values, key=key)


def _split(term: Term) -> tuple[Schema, tuple[Term, ...]]:
    if isinstance(term, str) or not isinstance(term[0], str):
        return (term_text(term), 0), ()
    return (term[0], len(term) - 1), term[1:]


def _action(schema: Schema, found: Sequence[tuple[Sequence[Term], Term]]) -> _Action | None:
    """The common action on all terms of a schema; None if it is not argument by argument."""
    images = [_split(image) for _, image in found]
    to = images[0][0]
    if to[1] != schema[1] or any(one != to for one, _ in images):
        return None
    arity = schema[1]

    def mapping(source: int, place: int) -> dict[Term, Term] | None:
        result: dict[Term, Term] = {}
        for (arguments, _), (_, image) in zip(found, images, strict=True):
            if result.setdefault(arguments[source], image[place]) != image[place]:
                return None
        return result if len(set(result.values())) == len(result) else None

    def assign(place: int, taken: tuple[int, ...]) -> list[tuple[int, dict[Term, Term]]] | None:
        if place == arity:
            return []
        for source in sorted(set(range(arity)) - set(taken), key=lambda one: (one != place, one)):
            values = mapping(source, place)
            if values is not None:
                rest = assign(place + 1, (*taken, source))
                if rest is not None:
                    return [(source, values), *rest]
        return None

    chosen = assign(0, ())
    if chosen is None:
        return None
    return _Action(to, tuple(source for source, _ in chosen), [values for _, values in chosen])


def _turned(source: tuple[int, ...]) -> str:
    cycles = _cycles({i: j for i, j in enumerate(source) if i != j}, range(len(source)))
    if all(len(cycle) == 2 for cycle in cycles):
        pairs = ", ".join(f"{_ordinal(a)} and {_ordinal(b)}" for a, b in cycles)
        return f"{pairs} argument exchanged"
    return "arguments in the order " + " ".join(str(i + 1) for i in source)


def _cycles(moved: Mapping, ordered: Iterable) -> list[list]:  # type: ignore[type-arg]
    """The cycles of a permutation, in order."""
    seen: set[object] = set()
    cycles = []
    for first in ordered:
        if first in seen or first not in moved:
            continue
        cycle = [first]
        while (following := moved[cycle[-1]]) != first:
            cycle.append(following)
        seen.update(cycle)
        cycles.append(cycle)
    return cycles


def _ordinal(place: int) -> str:
    return _ORDINALS[place] if place < len(_ORDINALS) else f"{place + 1}th"


def _listed(words: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(words))
