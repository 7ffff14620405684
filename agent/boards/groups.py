"""Grouping of relations about the same squares on one board."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from agent.boards.board import Board, Content, FactTable, Name, Reading, Square, Use
from agent.boards.emptiness import FULL, blocked_contents, empty_content
from agent.boards.lattice import Neighbourhood
from agent.boards.places import grid_places
from agent.boards.rulesheet import FACT, Rules

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
    """Whether the relation makes a board; else it only joins one."""
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

    def use_of(self, candidate: GroupCandidate, rules: Rules) -> Use | None:
        """Returns how a relation about the same squares belongs to this board; None if it does not."""
        first = self.first
        if len(candidate.axes) != len(first.axes) or any(
            not set(a) <= set(b) for a, b in zip(candidate.axes, first.axes, strict=True)
        ):
            return None
        here = [_squares(table, reading) for table, reading in zip(self.tables, self.readings, strict=True)]
        there = _squares(candidate.table, candidate.reading())
        shared = max(len(squares & there) for squares in here)
        alike = candidate.axes == first.axes
        if not candidate.contents and rules.is_latched((FACT, *candidate.table.name)):
            # Walls between squares come in several relations, and block no square.
            several = any(reading.use == "block" for reading in self.readings)
            return "block" if there and not shared and not several and 3 * len(there) <= first.area else "mark"
        if alike and self.is_vacancy() and not there:
            return "piece"
        both_seen = len(there) > 1 and here[0]
        if alike and not shared and (both_seen or not (candidate.contents or first.contents)):
            return "piece"
        same = [candidate.table.domains[position] for position in candidate.contents] == [
            first.table.domains[position] for position in first.contents
        ]
        if candidate.contents and (2 * shared >= max(len(there), 1) or (same and not there)):
            return None
        return "mark"

    def is_vacancy(self) -> bool:
        """Returns whether every square has the first relation's fact until a piece comes: it means an empty square."""
        return not self.first.contents and len(self.first.table.facts) >= FULL * self.first.area

    def mark_of(self, table: FactTable) -> Reading | None:
        """Returns the reading of a relation about squares of the board as marks, if it covers enough of them."""
        axes = self.first.axes
        for start in range(table.name[1] - len(axes) + 1):
            domains = table.domains[start : start + len(axes)]
            if all(
                domain and domain <= set(axis) and 2 * len(domain) >= len(axis)
                for domain, axis in zip(domains, axes, strict=True)
            ):
                positions = tuple(range(start, start + len(axes)))
                contents = tuple(position for position in range(table.name[1]) if position not in positions)
                return Reading(table.name, positions, contents, use="mark")
        return None

    def add(self, table: FactTable, reading: Reading) -> None:
        """Adds a relation to the board."""
        if reading.use == "piece" and not table.facts and self.is_vacancy():
            self.vacant = (self.first.table.name[0],)
        self.readings.append(reading)
        self.tables.append(table)

    def board(self, rules: Rules) -> Board:
        """Returns the board of these relations."""
        first = self.first
        positions = first.positions
        across, up = positions.index(first.x), positions.index(first.y)
        seen = [_squares(table, reading) for table, reading in zip(self.tables, self.readings, strict=True)]
        own = [squares for squares, reading in zip(seen, self.readings, strict=True) if reading.use == "piece"]
        # Where each relation has squares of its own, its name says nothing about the pieces there.
        apart = first.contents and all(not a & b for a, b in itertools.combinations(own, 2))
        several = len(own) > 1 and not apart
        readings = {it.name: replace(it, named=several and it.use == "piece") for it in self.readings}
        size = first.area if len(own) == 1 else len(own[0])
        empty = self.vacant if several else empty_content(self.tables[0], readings[first.table.name], size, rules)
        squares, axes = list(itertools.product(*first.axes)), first.axes
        mentioned = set[Square]().union(*seen)
        if empty is not None and not several and len(mentioned) >= MIN_MENTIONED:
            # All squares have a fact: a board with holes, perhaps.
            axes = tuple(_between(axis, {square[part] for square in mentioned}) for part, axis in enumerate(axes))
            squares = [square for square in itertools.product(*axes) if square in mentioned]
        blocked = frozenset(
            content for table in self.tables for content in blocked_contents(table, readings[table.name], empty, rules)
        )
        lean = self._look_around(axes[across], axes[up], across, up, readings, rules)
        return Board(
            readings=readings,
            axes=axes,
            across=across,
            up=up,
            places=grid_places(squares, axes, across, up, lean),
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


def _between(axis: Sequence[str], used: Collection[str]) -> tuple[str, ...]:
    """Returns the axis from its first used value to its last."""
    at = [index for index, value in enumerate(axis) if value in used]
    return tuple(axis[at[0] : at[-1] + 1])


def _squares(table: FactTable, reading: Reading) -> set[Square]:
    return {read[0] for fact in table.facts if (read := reading.read(fact)) is not None}
