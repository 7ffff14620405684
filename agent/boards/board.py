"""Boards, and the facts from which they are found."""

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
"""Arguments that name a square, spelled and ordered as in facts."""
Content: TypeAlias = tuple[str, ...]
"""A fact's other arguments as text, after its relation where the board has several."""
Name: TypeAlias = tuple[str, int]
"""A relation of facts and its number of arguments."""

MAX_SIDE = 40
"""Most cells along an axis; more would be too small to tell apart."""


@dataclass(frozen=True)
class Reading:
    """The parts of a fact of one relation."""

    name: Name
    positions: tuple[int, ...]
    """Positions of the square's arguments among the fact's."""
    contents: tuple[int, ...]
    named: bool = False
    """Whether contents begin with the relation's name."""
    use: Literal["piece", "mark", "block"] = "piece"
    """Whether facts put a piece on a square, add a mark to it, or block it for good."""
    side: tuple[int, int] | None = None
    """Side of the square on which a wall stands, in columns and rows."""

    def read(self, fact: Term) -> tuple[Square, Content] | None:
        """Returns the square and content of a fact of this relation; None where a square's argument is no constant."""
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
    """A board: its relations, its squares with their places, and the contents of empty and blocked ones."""

    readings: Mapping[Name, Reading]
    axes: tuple[tuple[str, ...], ...]
    """Values of each argument of a square, in order."""
    across: int
    """Index of the column among a square's arguments; -1 where squares are single names."""
    up: int
    """Index of the row, counted upwards; -1 where squares are single names."""
    places: Mapping[Square, tuple[float, float]]
    """Centres of the squares, in cells, x to the right and y downwards."""
    lattice: Literal["square", "hex", "points"] = "square"
    lean: int = 0
    """Half cells by which each row of a hexagonal board is shifted to the right of the one below: 1 or -1."""
    edges: tuple[tuple[Square, Square], ...] = ()
    """Lines between squares that are points."""
    empty: Content | None = None
    """Content of empty squares; None where they have no fact."""
    blocked: frozenset[Content] = frozenset()
    """Contents of squares that stay blocked for good."""

    @property
    def planes(self) -> tuple[int, ...]:
        """Indices of a square's arguments that are neither column nor row."""
        return tuple(index for index in range(len(self.axes)) if index not in (self.across, self.up))

    def read(self, facts: Iterable[Term]) -> tuple[dict[Square, dict[Content, Reading]], set[Term]]:
        """Returns the contents of each square, and the facts that were read."""
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
        """Returns the pieces among a square's contents, sorted."""
        return sorted(
            content
            for content, reading in contents.items()
            if reading.use == "piece" and content != self.empty and content not in self.blocked
        )

    def is_blocked(self, contents: Mapping[Content, Reading]) -> bool:
        """Returns whether a square with these contents is blocked for good."""
        return any(reading.use == "block" or content in self.blocked for content, reading in contents.items())


def name_of(fact: Term) -> Name:
    """Returns a fact's relation and number of arguments; ("", 0) for a term that is no fact."""
    if isinstance(fact, str):
        return fact, 0
    if fact and isinstance(fact[0], str):
        return fact[0], len(fact) - 1
    return "", 0


@dataclass(frozen=True)
class FactTable:
    """The known facts of one relation."""

    name: Name
    states: tuple[tuple[Term, ...], ...]
    """Facts of the relation in each known state."""
    possible: frozenset[Term]
    domains: tuple[frozenset[str] | None, ...]
    """Constants of each argument; None where it may be a term."""

    @cached_property
    def facts(self) -> set[Term]:
        """All known facts, of known states or merely possible."""
        return {fact for state in self.states for fact in state} | self.possible

    @property
    def start(self) -> tuple[Term, ...]:
        """Facts of the first state; empty where no state is known."""
        return self.states[0] if self.states else ()

    @cached_property
    def most(self) -> tuple[Term, ...]:
        """Facts of the state that has the most of them."""
        return max(self.states, key=len, default=())


def tables(
    states: Collection[Collection[Term]],
    possible: Collection[Term],
    constants: Mapping[Name, list[set[str]]],
    order: Callable[[Collection[str]], tuple[Sequence[str], int]],
) -> dict[Name, FactTable]:
    """Returns the relations of a game's facts.

    `constants` are the rules' bounds of each argument, used where the possible facts are unknown. They overestimate:
    where facts seem to show all values of an argument, and `order` is surer of these values alone, they are left out.
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
        result[name] = FactTable(name, known, frozenset(could.get(name, ())), tuple(domains))
    return result


def _covered(facts: Collection[Term], count: int) -> set[int]:
    """Returns arguments whose values the facts seem to show completely: two or more that occur in every combination."""
    found: set[int] = set()
    for pair in itertools.combinations(range(count), 2):
        there = {(fact[1 + pair[0]], fact[1 + pair[1]]) for fact in facts}
        sides = [len({value[side] for value in there}) for side in (0, 1)]
        if len(there) == sides[0] * sides[1] and min(sides) > 2:
            found.update(pair)
    return found
