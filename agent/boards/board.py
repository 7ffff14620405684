"""Boards, and the facts from which they are found."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from string import ascii_lowercase
from typing import Literal, TypeAlias

from games.machine import Term
from protocol.kif import write

Square: TypeAlias = tuple[str, ...]
"""Arguments that name a square, spelled and ordered as in facts."""
Content: TypeAlias = tuple[str, ...]
"""A fact's other arguments as text, after its relation where the board has several."""
Name: TypeAlias = tuple[str, int]
"""A relation of facts and its number of arguments."""

Use: TypeAlias = Literal["piece", "mark", "block"]

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
    use: Use = "piece"
    """Whether facts put a piece on a square, add a mark to it, or block it for good."""
    side: tuple[int, int] | None = None
    """Side of the square on which a wall stands, in columns and rows."""
    row: tuple[str, ...] = ()
    """Squares of the arguments, for a fact that has all squares' contents."""

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

    def read_row(self, fact: Term) -> list[tuple[Square, Content]]:
        """Returns the squares and contents of a fact that has all of them."""
        return [((name,), (write(word),)) for name, word in zip(self.row, fact[1:], strict=True)]


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
    lattice: Literal["square", "hex", "points", "bars", "stacks"] = "square"
    lean: int = 0
    """Half cells by which each row of a hexagonal board is shifted to the right of the one below: 1 or -1."""
    edges: tuple[tuple[Square, Square], ...] = ()
    """Lines between squares that are points."""
    empty: Content | None = None
    """Content of empty squares; None where they have no fact."""
    blocked: frozenset[Content] = frozenset()
    """Contents of squares that stay blocked for good."""
    widths: Mapping[Square, float] = field(default_factory=dict)
    """Widths of bars, and of things on stacks, in cells."""
    tints: Mapping[Square, int] = field(default_factory=dict)
    """Indices of their colours in the style sheet; a base of stacks has none."""
    amounts: Mapping[str, float] = field(default_factory=dict)
    """Numbers that bars stand for, by their words."""

    @property
    def planes(self) -> tuple[int, ...]:
        """Indices of a square's arguments that are neither column nor row."""
        return tuple(index for index in range(len(self.axes)) if index not in (self.across, self.up))

    @cached_property
    def labels(self) -> tuple[Mapping[str, str], ...]:
        """Names for people of each axis' values: where columns and rows are numbered from 1, columns are letters."""
        numbered = [axis == tuple(map(str, range(1, len(axis) + 1))) for axis in self.axes]
        lettered = self.across >= 0 and numbered[self.across] and numbered[self.up]
        lettered = lettered and len(self.axes[self.across]) <= len(ascii_lowercase)
        return tuple(
            dict(zip(axis, ascii_lowercase if lettered and index == self.across else axis, strict=False))
            for index, axis in enumerate(self.axes)
        )

    def name(self, square: Square) -> str:
        """Returns a square's name for people: the column's letter and the row's number are one word."""
        words = [self.labels[index].get(value, value) for index, value in enumerate(square)]
        if (
            self.across >= 0
            and len(words[self.across]) == 1
            and words[self.across].isalpha()
            and words[self.up].isdigit()
        ):
            words[self.across] += words[self.up]
            del words[self.up]
        return " ".join(words)

    def headings(self) -> tuple[dict[float, str], dict[float, str]]:
        """Returns the names of columns by x, and of rows by y; none where squares in line have different ones."""
        columns: dict[float, set[str]] = defaultdict(set)
        rows: dict[float, set[str]] = defaultdict(set)
        lowest = max((y for _, y in self.places.values()), default=0.0)
        for square, (x, y) in self.places.items() if self.up >= 0 else ():
            rows[y].add(self.labels[self.up][square[self.up]])
            if (self.across >= 0 and self.lattice != "hex") or (self.lattice == "hex" and y > lowest - 0.1):
                columns[x].add(self.labels[self.across][square[self.across]])
        if len(self.planes) not in (0, 2) and any(len(names) > 1 for names in (*columns.values(), *rows.values())):
            # Planes of different sizes.
            return {}, {}
        return {x: min(names) for x, names in columns.items()}, {y: min(names) for y, names in rows.items()}

    def read(self, facts: Iterable[Term]) -> tuple[dict[Square, dict[Content, Reading]], set[Term]]:
        """Returns the contents of each square, and the facts that were read."""
        found: dict[Square, dict[Content, Reading]] = defaultdict(dict)
        used: set[Term] = set()
        for fact in facts:
            reading = self.readings.get(name_of(fact))
            if reading is None:
                continue
            read = reading.read(fact)
            reads = [read] if read is not None else []
            for square, content in reading.read_row(fact) if reading.row else reads:
                if square in self.places:
                    found[square][content] = reading
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
    """The facts of one relation in the first state."""

    name: Name
    facts: tuple[Term, ...]
    domains: tuple[frozenset[str] | None, ...]
    """Constants of each argument in any state; None where it may be a term."""


def tables(
    state: Collection[Term],
    constants: Mapping[Name, list[set[str]]],
    order: Callable[[Collection[str]], tuple[Sequence[str], int]],
) -> dict[Name, FactTable]:
    """Returns the relations of a game's facts.

    `constants` are the rules' bounds of each argument. They overestimate: where facts seem to show all values of an
    argument, and `order` is surer of these values alone, they are left out.
    """
    by_name: dict[Name, list[Term]] = defaultdict(list)
    for fact in state:
        by_name[name_of(fact)].append(fact)
    result = {}
    for name in sorted(by_name.keys() | constants.keys()):
        facts = tuple(sorted(by_name.get(name, ()), key=write))
        covered = _covered(facts, name[1])
        domains: list[frozenset[str] | None] = []
        for position in range(name[1]):
            domain = {fact[1 + position] for fact in facts}
            words = {value for value in domain if isinstance(value, str)}
            expected = constants[name][position] if name in constants else set()
            if position not in covered or order(words | expected)[1] >= order(words)[1]:
                words |= expected
            domains.append(frozenset(words) if all(isinstance(value, str) for value in domain) else None)
        if name[1]:
            result[name] = FactTable(name, facts, tuple(domains))
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
