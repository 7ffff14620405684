"""What a board is: which facts lie on it, where its squares are, and which contents stand for nothing."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from games.machine import Term
from protocol.kif import write

Square: TypeAlias = tuple[str, ...]
"""The arguments that name a square, as facts spell and order them."""
Content: TypeAlias = tuple[str, ...]
"""What a fact says about a square: the relation where several lie on the board, then its other arguments as text."""
Name: TypeAlias = tuple[str, int]
"""A relation of facts and how many arguments it has."""

MAX_SIDE = 40
"""Cells along an axis; beyond, cells would be too small to be told apart."""


@dataclass(frozen=True)
class Reading:
    """How facts of one relation are read."""

    name: Name
    positions: tuple[int, ...]
    """For each argument of a square, where it stands among the fact's."""
    contents: tuple[int, ...]
    named: bool = False
    """Whether the relation's name belongs to the content."""
    use: Literal["piece", "mark", "block"] = "piece"
    """Whether facts put something on a square, add something to it, or say that nothing may ever stand on it."""
    side: tuple[int, int] | None = None
    """For a wall, the side of the square where it is, in columns and rows."""

    def read(self, fact: Term) -> tuple[Square, Content] | None:
        """Square and content of a fact of this relation; None where an argument that should name a square is a term."""
        square = []
        for position in self.positions:
            argument = fact[1 + position]
            if not isinstance(argument, str):
                return None
            square.append(argument)
        content = tuple(write(fact[1 + position]) for position in self.contents)
        if self.named or self.use != "piece":
            content = (self.name[0], *content)
        return tuple(square), content


@dataclass(frozen=True)
class Board:
    """A board: its relations, its squares with their places, and how contents are to be taken."""

    readings: Mapping[Name, Reading]
    axes: tuple[tuple[str, ...], ...]
    """For each argument of a square, its values in order."""
    across: int
    """Which argument of a square is the column; -1 where squares are single names."""
    up: int
    """Which one is the row, counted upwards; -1 where squares are single names."""
    places: Mapping[Square, tuple[float, float]]
    """The centre of each square, in cells, x to the right and y downwards."""
    lattice: Literal["square", "hex", "points"] = "square"
    lean: int = 0
    """On a hexagonal board, how many half cells each row is shifted to the right of the one below: 1 or -1."""
    edges: tuple[tuple[Square, Square], ...] = ()
    """Lines between squares that are points."""
    empty: Content | None = None
    """The content of a square on which nothing stands, where facts say so."""
    blocked: frozenset[Content] = frozenset()
    """Contents of squares on which nothing may ever stand."""

    @property
    def planes(self) -> tuple[int, ...]:
        """The arguments of a square that are neither its column nor its row."""
        return tuple(index for index in range(len(self.axes)) if index not in (self.across, self.up))

    def read(self, facts: Iterable[Term]) -> tuple[dict[Square, dict[Content, Reading]], set[Term]]:
        """What lies on each square, and the facts that say so."""
        found: dict[Square, dict[Content, Reading]] = defaultdict(dict)
        used: set[Term] = set()
        for fact in facts:
            reading = self.readings.get(name_of(fact))
            if reading is None:
                continue
            read = reading.read(fact)
            if read is None or read[0] not in self.places:
                continue
            found[read[0]][read[1]] = reading
            used.add(fact)
        return found, used

    def pieces(self, contents: Mapping[Content, Reading]) -> list[Content]:
        """What stands on a square, in order; nothing where the only content means that it is empty."""
        return sorted(
            content
            for content, reading in contents.items()
            if reading.use == "piece" and content != self.empty and content not in self.blocked
        )

    def is_blocked(self, contents: Mapping[Content, Reading]) -> bool:
        """Whether nothing may ever stand on a square with these contents."""
        return any(reading.use == "block" or content in self.blocked for content, reading in contents.items())


def name_of(fact: Term) -> Name:
    """A fact's relation and number of arguments; ("", 0) for what is no fact of a relation."""
    if isinstance(fact, str):
        return fact, 0
    if fact and isinstance(fact[0], str):
        return fact[0], len(fact) - 1
    return "", 0


@dataclass(frozen=True)
class Table:
    """All that is known of one relation of facts."""

    name: Name
    states: tuple[tuple[Term, ...], ...]
    """Its facts in each known state; none is empty of facts of other relations."""
    possible: frozenset[Term]
    domains: tuple[frozenset[str] | None, ...]
    """The constants of each argument; None where it may be a term."""

    @cached_property
    def facts(self) -> set[Term]:
        """All facts that are known."""
        return {fact for state in self.states for fact in state} | self.possible

    @property
    def start(self) -> tuple[Term, ...]:
        """The facts of the first state; none where no state is known."""
        return self.states[0] if self.states else ()

    @cached_property
    def most(self) -> tuple[Term, ...]:
        """The facts of the state that has the most."""
        return max(self.states, key=len, default=())


def tables(
    states: Collection[Collection[Term]],
    possible: Collection[Term],
    constants: Mapping[Name, list[set[str]]],
    order: Callable[[Collection[str]], tuple[Sequence[str], int]],
) -> dict[Name, Table]:
    """The relations of a game's facts. `constants` are what arguments may be, used where possible facts are unknown.

    `order` says how sure the order of constants is: where it is surer without what only the rules let expect, and facts
    show these arguments to be complete, the rules have let expect too much.
    """
    by_state: list[dict[Name, list[Term]]] = []
    for state in states:
        found: dict[Name, list[Term]] = defaultdict(list)
        for fact in state:
            found[name_of(fact)].append(fact)
        by_state.append(found)
    could: dict[Name, set[Term]] = defaultdict(set)
    for fact in possible:
        could[name_of(fact)].add(fact)
    names = {name for found in by_state for name in found} | could.keys()
    if not possible:
        names |= constants.keys()
    result = {}
    for name in sorted(names):
        if name[1] == 0:
            continue
        known = tuple(tuple(sorted(found.get(name, ()), key=write)) for found in by_state)
        facts = {fact for state in known for fact in state} | could.get(name, set())
        domains: list[frozenset[str] | None] = []
        covered = set() if possible else _covered(facts, name[1])
        for position in range(name[1]):
            domain = {fact[1 + position] for fact in facts}
            if not possible and name in constants:
                expected = constants[name][position]
                words = {value for value in domain if isinstance(value, str)}
                if position not in covered or order(words | expected)[1] >= order(words)[1]:
                    domain |= expected
            texts = frozenset(value for value in domain if isinstance(value, str))
            domains.append(texts if len(texts) == len(domain) else None)
        result[name] = Table(name, known, frozenset(could.get(name, ())), tuple(domains))
    return result


def _covered(facts: Collection[Term], count: int) -> set[int]:
    """Arguments that facts show to be complete: two or more that stand in every combination."""
    found: set[int] = set()
    for pair in itertools.combinations(range(count), 2):
        there = {(fact[1 + pair[0]], fact[1 + pair[1]]) for fact in facts}
        sides = [len({value[side] for value in there}) for side in (0, 1)]
        if len(there) == sides[0] * sides[1] and min(sides) > 2:
            found.update(pair)
    return found
