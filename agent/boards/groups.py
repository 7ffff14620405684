"""Grouping of relations about the same squares on one board."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from agent.boards.board import Board, Content, FactTable, Name, Reading, Square
from agent.boards.emptiness import FULL, blocked_contents, empty_content
from agent.boards.lattice import Neighbourhood
from agent.boards.places import grid_places
from agent.boards.rulesheet import FACT, Rules
from games.machine import Term

MIN_MENTIONED = 5
"""Least number of mentioned squares that define a board; with fewer, all squares of the axes are taken."""


@dataclass(frozen=True)
class GroupCandidate:
    """A reading of a relation as a board."""

    table: FactTable
    x: int
    y: int
    planes: tuple[int, ...]
    contents: tuple[int, ...]
    axes: tuple[tuple[str, ...], ...]
    """Values of the arguments `positions`."""
    certain: bool
    """Whether the relation is a board even where no other relation shares its coordinates."""
    score: float

    @property
    def positions(self) -> tuple[int, ...]:
        return tuple(sorted((*self.planes, self.x, self.y)))

    @property
    def area(self) -> int:
        return math.prod(map(len, self.axes))

    def reading(self) -> Reading:
        return Reading(self.table.name, self.positions, self.contents)


class Group:
    """Relations that lie on the same board."""

    def __init__(self, first: GroupCandidate) -> None:
        self.first = first
        self.readings = [first.reading()]
        self.tables = [first.table]
        self.vacant: Content | None = None
        """Content of empty squares where emptiness has a relation of its own."""

    def takes(self, candidate: GroupCandidate, rules: Rules) -> bool:
        """Adds a relation of pieces, marks or blocks on the same squares; returns whether it did."""
        first = self.first
        if len(candidate.axes) != len(first.axes) or not _within(candidate.axes, first.axes):
            return False
        here = [_squares(table, reading) for table, reading in zip(self.tables, self.readings, strict=True)]
        there = _squares(candidate.table, candidate.reading())
        shared = max(
            (len(a & b) for squares in here for a, b in zip(squares, there, strict=True)),
            default=0,
        )
        most = max(map(len, there), default=0)
        latched = rules.is_latched((FACT, *candidate.table.name))
        if latched and not candidate.contents:
            # Walls between squares come in several relations, and block no square.
            blocks = not shared and 3 * most <= first.area and most > 0
            if any(reading.use == "block" for reading in self.readings):
                blocks = False
            return self._add(candidate.table, candidate.reading(), "block" if blocks else "mark")
        if (
            not first.contents
            and not most
            and candidate.axes == first.axes
            and len(first.table.most) >= FULL * first.area
        ):
            # Every square has the first relation's fact until a piece comes: it means that the square is empty.
            self.vacant = (first.table.name[0],)
            return self._add(candidate.table, candidate.reading(), "piece")
        both_seen = most > 1 and any(squares for squares in here[0])
        if both_seen and not shared and candidate.axes == first.axes:
            return self._add(candidate.table, candidate.reading(), "piece")
        if not candidate.contents and not first.contents and candidate.axes == first.axes and not shared:
            return self._add(candidate.table, candidate.reading(), "piece")
        same = [candidate.table.domains[position] for position in candidate.contents] == [
            first.table.domains[position] for position in first.contents
        ]
        if candidate.contents and (2 * shared >= max(most, 1) or (same and not most)):
            return False
        return self._add(candidate.table, candidate.reading(), "mark")

    def adds_mark(self, table: FactTable, rules: Rules) -> bool:
        """Adds a relation about squares of the board as marks, if it covers enough of them; returns whether it did."""
        wanted = len(self.first.axes)
        for positions in _runs(table.name[1], wanted):
            domains = [table.domains[position] for position in positions]
            if all(
                domain and domain <= set(axis) and (2 * len(domain) >= len(axis))
                for domain, axis in zip(domains, self.first.axes, strict=True)
            ):
                contents = tuple(position for position in range(table.name[1]) if position not in positions)
                return self._add(table, Reading(table.name, positions, contents), "mark")
        return False

    def _add(self, table: FactTable, reading: Reading, use: str) -> bool:
        self.readings.append(replace(reading, use="piece" if use == "piece" else "block" if use == "block" else "mark"))
        self.tables.append(table)
        return True

    def board(self, rules: Rules) -> Board:
        """Returns the board of these relations."""
        first = self.first
        positions = first.positions
        across, up = positions.index(first.x), positions.index(first.y)
        several = sum(reading.use == "piece" for reading in self.readings) > 1
        readings = {
            reading.name: replace(reading, named=several and reading.use == "piece") for reading in self.readings
        }
        own = [
            _possible_squares(table, reading).union(*_squares(table, reading))
            for table, reading in zip(self.tables, self.readings, strict=True)
            if reading.use == "piece"
        ]
        if several and first.contents and all(not a & b for a, b in itertools.combinations(own, 2)):
            # Each relation has squares of its own, so that its name says nothing about the pieces there.
            readings = {name: replace(reading, named=False) for name, reading in readings.items()}
            several = False
        size = first.area if len(own) == 1 else len(own[0])
        empty = empty_content(self.tables[0], readings[first.table.name], size, rules) if not several else self.vacant
        squares, axes = self._existing(empty is not None and not several and _is_full(self.tables[0], self.readings[0]))
        blocked = frozenset(
            content for table in self.tables for content in blocked_contents(table, readings[table.name], empty, rules)
        )
        lean = self._look_around(axes[across], axes[up], across, up, readings, rules)
        places = grid_places(squares, axes, across, up, lean)
        return Board(
            readings=readings,
            axes=axes,
            across=across,
            up=up,
            places=places,
            lattice="hex" if lean else "square",
            lean=lean,
            empty=empty,
            blocked=blocked,
        )

    def _look_around(
        self, xs: Sequence[str], ys: Sequence[str], across: int, up: int, readings: dict[Name, Reading], rules: Rules
    ) -> int:
        """Returns the lean of a hexagonal board, 0 for a square one; sets the sides of walls in `readings`."""
        if min(rules.order(xs)[1], rules.order(ys)[1]) < 2:
            return 0
        at = {reading.name: (reading.positions[across], reading.positions[up]) for reading in self.readings}
        neighbourhood = Neighbourhood(rules, xs, ys, at)
        lean = neighbourhood.lean()
        for name, reading in readings.items():
            if reading.use == "mark" and not reading.contents and not lean and rules.is_latched((FACT, *name)):
                readings[name] = replace(reading, side=neighbourhood.side(name))
        return lean

    def _existing(self, full: bool) -> tuple[list[Square], tuple[tuple[str, ...], ...]]:
        """Returns the squares of the board (those that facts can mention where these are known) and its axes."""
        axes = self.first.axes
        mentioned: set[Square] = set()
        if self.tables[0].possible or full:
            for table, reading in zip(self.tables, self.readings, strict=True):
                mentioned |= _possible_squares(table, reading).union(*_squares(table, reading))
        if len(mentioned) < MIN_MENTIONED:
            return list(itertools.product(*axes)), axes
        axes = tuple(_between(axis, {square[part] for square in mentioned}) for part, axis in enumerate(axes))
        return [square for square in itertools.product(*axes) if square in mentioned], axes


def _between(axis: Sequence[str], used: Collection[str]) -> tuple[str, ...]:
    """Returns the axis from its first used value to its last."""
    at = [index for index, value in enumerate(axis) if value in used]
    return tuple(axis[at[0] : at[-1] + 1]) if at else tuple(axis)


def _within(inner: Sequence[Sequence[str]], outer: Sequence[Sequence[str]]) -> bool:
    return all(set(a) <= set(b) for a, b in zip(inner, outer, strict=True))


def _runs(count: int, wanted: int) -> Iterator[tuple[int, ...]]:
    """Yields all runs of `wanted` neighbouring positions."""
    for start in range(count - wanted + 1):
        yield tuple(range(start, start + wanted))


def _squares(table: FactTable, reading: Reading) -> list[set[Square]]:
    """Returns the squares mentioned in each known state."""
    return [_read(state, reading) for state in table.states]


def _possible_squares(table: FactTable, reading: Reading) -> set[Square]:
    return _read(table.possible, reading)


def _read(facts: frozenset[Term] | tuple[Term, ...], reading: Reading) -> set[Square]:
    return {read[0] for fact in facts if (read := reading.read(fact)) is not None}


def _is_full(table: FactTable, reading: Reading) -> bool:
    """Returns whether the same squares have a fact in all known states."""
    known = [squares for squares in _squares(table, reading) if squares]
    return bool(known) and all(squares == known[0] for squares in known)
