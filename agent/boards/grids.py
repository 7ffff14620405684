"""Finds boards of two coordinates among relations of facts: which arguments are column and row, and what is on them."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.boards.board import MAX_SIDE, Board, Content, Name, Reading, Square, Table
from agent.boards.emptiness import FULL, blocked_contents, empty_content
from agent.boards.lattice import lean
from agent.boards.places import grid_places
from agent.boards.rulesheet import FACT, Rules, is_integer
from games.machine import Term

MIN_SIDE = 2
MAX_SQUARES = 1200
"""On all planes together."""
MAX_PLANES = 36
MAX_CONTENTS = 200
"""More different contents than that are no pieces."""
MAX_CONTENT_PARTS = 3
MIN_MENTIONED = 5
"""Fewer squares that facts can mention are no board; all that lie between them are taken to be there."""
MAX_ARGUMENTS = 8
CROWDED = 0.5
"""So many of the squares that facts mention hold two at least where an argument is missing that names the square."""


@dataclass(frozen=True)
class _Candidate:
    """One way to see a relation as a board."""

    table: Table
    x: int
    y: int
    planes: tuple[int, ...]
    contents: tuple[int, ...]
    axes: tuple[tuple[str, ...], ...]
    """For the arguments `positions`."""
    certain: bool
    """Whether it is a board by itself, even where no other relation shares its coordinates."""
    score: float

    @property
    def positions(self) -> tuple[int, ...]:
        return tuple(sorted((*self.planes, self.x, self.y)))

    @property
    def area(self) -> int:
        return math.prod(map(len, self.axes))

    def reading(self) -> Reading:
        return Reading(self.table.name, self.positions, self.contents)


def find_grids(tables: Mapping[Name, Table], rules: Rules) -> list[Board]:
    """The boards of two coordinates, the largest first."""
    candidates = [found for table in tables.values() if (found := _candidate(table, rules)) is not None]
    latched = {it.table.name: rules.is_latched((FACT, *it.table.name)) for it in candidates}
    candidates.sort(
        key=lambda it: (
            latched[it.table.name] and not it.contents,
            not it.certain,
            -len(it.table.most),
            not it.contents,
            -it.area,
            _rank(it.table.name, rules),
        )
    )
    groups: list[_Group] = []
    for candidate in candidates:
        if any(group.takes(candidate, rules) for group in groups):
            continue
        shares_axes = any(
            other is not candidate and other.axes == candidate.axes and not other.contents and not candidate.contents
            for other in candidates
        )
        # What is true of single states and gone in the next, as a check is, makes no board beside one that is there.
        fleeting = not candidate.table.most and not rules.carried((FACT, *candidate.table.name))
        seen = any(group.first.table.most for group in groups)
        if fleeting and (seen or (rules.rules and not candidate.contents)):
            continue
        if candidate.certain or shares_axes:
            groups.append(_Group(candidate))
    taken = {reading.name for group in groups for reading in group.readings}
    for name, table in tables.items():
        if name not in taken:
            next((True for group in groups if group.adds_mark(table, rules)), False)
    return [group.board(rules) for group in groups]


def _rank(name: Name, rules: Rules) -> tuple[int, str]:
    """Sorts relations by where the rules first mention them, so that renaming changes nothing."""
    return rules.rank.get(name[0], len(rules.rank)), name[0]


def _candidate(table: Table, rules: Rules) -> _Candidate | None:
    """The best way to see a relation as a board, if there is one."""
    count = table.name[1]
    if not 2 <= count <= MAX_ARGUMENTS:
        return None
    roles = set(rules.roles)
    usable: dict[int, tuple[tuple[str, ...], int]] = {}
    for position, domain in enumerate(table.domains):
        if domain and len(domain) <= MAX_SIDE and 2 * len(domain & roles) < len(domain):
            axis, strength = rules.order(domain)
            if MIN_SIDE <= len(axis) <= MAX_SIDE:
                usable[position] = axis, strength
    best: _Candidate | None = None
    for x, y in itertools.combinations(usable, 2):
        found = _with_axes(table, x, y, usable)
        if found is not None and (best is None or found.score > best.score):
            best = found
    return best


def _with_axes(table: Table, x: int, y: int, usable: Mapping[int, tuple[tuple[str, ...], int]]) -> _Candidate | None:
    rest = [position for position in range(table.name[1]) if position not in (x, y)]
    (xs, x_strength), (ys, y_strength) = usable[x], usable[y]
    planes = _planes(table, x, y, rest, usable)
    contents = tuple(position for position in rest if position not in planes)
    positions = sorted((*planes, x, y))
    axes = tuple(usable[position][0] for position in positions)
    if math.prod(map(len, axes)) > MAX_SQUARES:
        return None
    if len(contents) > MAX_CONTENT_PARTS:
        return None
    if len({tuple(fact[1 + position] for position in contents) for fact in table.facts}) > MAX_CONTENTS:
        return None
    words = {value for value in (*xs, *ys) if not is_integer(value)}
    if any(domain and domain <= words for domain in (table.domains[position] for position in contents)):
        # What else is named like a column or row is one: the facts are about two squares, not about one.
        return None
    # At the start of some games each piece stands once in each column, which counting does too.
    if not (contents and x_strength == y_strength == 3) and any(_is_function(table, of) for of in (x, y)):
        return None
    most = len(table.most)
    ordered = min(x_strength, y_strength) >= 2
    if contents:
        squares = len({tuple(fact[1 + position] for position in positions) for fact in table.most})
        full = squares >= 4 and squares == most and squares == len(xs) * len(ys) * _count(planes, usable)
        certain = ordered or full
        if certain and not ordered and len(xs) * len(ys) < 6:
            return None
    else:
        columns = Counter(fact[1 + x] for fact in table.most)
        certain = ordered and most >= 4 and max(columns.values(), default=0) > 1
    if not certain and not ordered:
        return None
    alike = table.domains[x] == table.domains[y]
    # Set by hand: equal domains and neighbouring arguments are what nearly every sheet's coordinates have.
    score = math.log2(len(xs) * len(ys)) + 4 * alike + x_strength + y_strength + 2 * (y == x + 1)
    # Convention: a board among boards comes first, a layer comes last.
    score += 0.5 if (len(planes) == 2) == all(plane < x for plane in planes) else 0
    return _Candidate(table, x, y, planes, contents, axes, certain, score - 0.1 * x)


def _count(planes: Sequence[int], usable: Mapping[int, tuple[tuple[str, ...], int]]) -> int:
    return math.prod(len(usable[plane][0]) for plane in planes)


def _planes(
    table: Table, x: int, y: int, rest: Sequence[int], usable: Mapping[int, tuple[tuple[str, ...], int]]
) -> tuple[int, ...]:
    """The arguments that tell one plane from another: those without which a square would hold several facts."""
    able = [position for position in rest if position in usable]
    facts = table.most
    area: float = len(usable[x][0]) * len(usable[y][0])
    numbered = any(position != table.name[1] - 1 and all(map(is_integer, usable[position][0])) for position in able)
    # Each square has one fact at most, as far as can be seen.
    if len({(fact[1 + x], fact[1 + y]) for fact in facts}) == len(facts) >= max(8, area if numbered else area / 4):
        return ()

    def held(planes: tuple[int, ...]) -> Counter[tuple[Term, ...]]:
        return Counter(tuple(fact[1 + position] for position in (x, y, *planes)) for fact in facts)

    if len(facts) >= 4:
        squares = held(())
        if sum(count > 1 for count in squares.values()) < CROWDED * len(squares):
            if len(squares) >= (area if numbered else area / 2):
                return ()
        else:
            for size in range(1, len(able) + 1):
                for planes in itertools.combinations(able, size):
                    if _count(planes, usable) <= MAX_PLANES and max(held(planes).values()) == 1:
                        return planes
    # Nothing to be seen yet: numbers tell planes apart, unless they come last.
    last = table.name[1] - 1
    numbers = tuple(
        position
        for position in able
        if position != last and len(usable[position][0]) <= 12 and all(map(is_integer, usable[position][0]))
    )
    return numbers if _count(numbers, usable) <= MAX_PLANES else ()


def _is_function(table: Table, of: int) -> bool:
    """Whether the relation counts or points: in each state, all other arguments together have one value of this one."""
    others = [position for position in range(table.name[1]) if position != of]
    every = 1
    for position in others:
        domain = table.domains[position]
        every *= max(1, len(domain)) if domain is not None else 10**6
    known = [state for state in table.states if state]
    return bool(known) and all(
        len(state) == every and len({tuple(fact[1 + position] for position in others) for fact in state}) == every
        for state in known
    )


class _Group:
    """Relations that lie on the same board."""

    def __init__(self, first: _Candidate) -> None:
        self.first = first
        self.readings = [first.reading()]
        self.tables = [first.table]
        self.vacant: Content | None = None
        """The content of empty squares where a relation of its own says that they are empty."""

    def takes(self, candidate: _Candidate, rules: Rules) -> bool:
        """Adds a relation that puts other pieces on the same squares, or blocks some. Returns whether it did."""
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
            # Walls between squares do not keep pieces from standing there, and come in several relations.
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
            # Every square has the first relation's fact until something comes: it says that the square is empty.
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

    def adds_mark(self, table: Table, rules: Rules) -> bool:
        """Adds a relation that says more about squares of the board, where enough of them can be meant."""
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

    def _add(self, table: Table, reading: Reading, use: str) -> bool:
        self.readings.append(replace(reading, use="piece" if use == "piece" else "block" if use == "block" else "mark"))
        self.tables.append(table)
        return True

    def board(self, rules: Rules) -> Board:
        """The board of these relations."""
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
            # Where each relation has squares of its own, its name says nothing about what stands there.
            readings = {name: replace(reading, named=False) for name, reading in readings.items()}
            several = False
        size = first.area if len(own) == 1 else len(own[0])
        empty = empty_content(self.tables[0], readings[first.table.name], size, rules) if not several else self.vacant
        squares = self._existing(empty is not None and not several and _is_full(self.tables[0], self.readings[0]))
        blocked = frozenset(
            content for table in self.tables for content in blocked_contents(table, readings[table.name], empty, rules)
        )
        xs, ys = first.axes[across], first.axes[up]
        lattice_lean = 0
        if min(rules.order(xs)[1], rules.order(ys)[1]) >= 2:
            at = {reading.name: (reading.positions[across], reading.positions[up]) for reading in self.readings}
            lattice_lean = lean(rules, xs, ys, at)
        places = grid_places(squares, first.axes, across, up, lattice_lean)
        return Board(
            readings=readings,
            axes=first.axes,
            across=across,
            up=up,
            places=places,
            lattice="hex" if lattice_lean else "square",
            lean=lattice_lean,
            empty=empty,
            blocked=blocked,
        )

    def _existing(self, full: bool) -> list[Square]:
        """The squares of the board: all, or those that facts can mention where these are known."""
        everything = list(itertools.product(*self.first.axes))
        mentioned: set[Square] = set()
        if self.tables[0].possible or full:
            for table, reading in zip(self.tables, self.readings, strict=True):
                mentioned |= _possible_squares(table, reading).union(*_squares(table, reading))
        if len(mentioned) < MIN_MENTIONED:
            return everything
        return [square for square in everything if square in mentioned]


def _within(inner: Sequence[Sequence[str]], outer: Sequence[Sequence[str]]) -> bool:
    return all(set(a) <= set(b) for a, b in zip(inner, outer, strict=True))


def _runs(count: int, wanted: int) -> Iterator[tuple[int, ...]]:
    """Neighbouring positions, as many as wanted."""
    for start in range(count - wanted + 1):
        yield tuple(range(start, start + wanted))


def _squares(table: Table, reading: Reading) -> list[set[Square]]:
    """The squares that facts mention in each known state."""
    return [_read(state, reading) for state in table.states]


def _possible_squares(table: Table, reading: Reading) -> set[Square]:
    return _read(table.possible, reading)


def _read(facts: frozenset[Term] | tuple[Term, ...], reading: Reading) -> set[Square]:
    return {read[0] for fact in facts if (read := reading.read(fact)) is not None}


def _is_full(table: Table, reading: Reading) -> bool:
    """Whether every square always has a fact: none that has one is ever without."""
    known = [squares for squares in _squares(table, reading) if squares]
    return bool(known) and all(squares == known[0] for squares in known)
