"""Detection of boards of two coordinates: which arguments are column, row, plane and content."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent.boards.board import MAX_SIDE, Board, FactTable, Name
from agent.boards.groups import Group, GroupCandidate
from agent.boards.rulesheet import FACT, Rules, is_integer
from games.machine import Term

MIN_SIDE = 2
MAX_SQUARES = 1200
"""Most squares of all planes together."""
MAX_PLANES = 36
MAX_CONTENTS = 200
"""Most different contents; more are no pieces."""
MAX_CONTENT_PARTS = 3
MAX_ARGUMENTS = 8
CROWDED = 0.5
"""Share of the squares with two contents from which on an argument is missing that tells squares apart."""


def find_grids(tables: Mapping[Name, FactTable], rules: Rules) -> list[Board]:
    """Returns the boards of two coordinates, the most important first."""
    candidates = [found for table in tables.values() if (found := _candidate(table, rules)) is not None]
    latched = {it.table.name: rules.is_latched((FACT, *it.table.name)) for it in candidates}
    candidates.sort(
        key=lambda it: (
            latched[it.table.name] and not it.contents,
            not it.certain,
            -len(it.table.facts),
            not it.contents,
            -it.area,
            _rank(it.table.name, rules),
        )
    )
    groups: list[Group] = []
    for candidate in candidates:
        use = None
        for group in groups:
            use = group.use_of(candidate, rules)
            if use is not None:
                group.add(candidate.table, replace(candidate.reading(), use=use))
                break
        if use is not None:
            continue
        # Facts of single states, such as a check, make no board of their own.
        fleeting = not candidate.table.facts and not rules.carried((FACT, *candidate.table.name))
        seen = any(group.first.table.facts for group in groups)
        if fleeting and (seen or (rules.rules and not candidate.contents)):
            continue
        if candidate.certain:
            groups.append(Group(candidate))
    taken = {reading.name for group in groups for reading in group.readings}
    for name, table in tables.items():
        marks = ((group, reading) for group in groups if (reading := group.mark_of(table)) is not None)
        for group, reading in itertools.islice(marks, 0 if name in taken else 1):
            group.add(table, reading)
    return [group.board(rules) for group in groups]


def _rank(name: Name, rules: Rules) -> tuple[int, str]:
    """Key that sorts relations by their first mention in the rules, so that renaming changes nothing."""
    return rules.rank.get(name[0], len(rules.rank)), name[0]


def _candidate(table: FactTable, rules: Rules) -> GroupCandidate | None:
    """Returns the best reading of a relation as a board, if there is any."""
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
    best: GroupCandidate | None = None
    for x, y in itertools.combinations(usable, 2):
        found = _with_axes(table, x, y, usable)
        if found is not None and (best is None or found.score > best.score):
            best = found
    return best


def _with_axes(
    table: FactTable, x: int, y: int, usable: Mapping[int, tuple[tuple[str, ...], int]]
) -> GroupCandidate | None:
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
        # Another argument is a column or row too: the facts are about two squares.
        return None
    # A counter has one value per state. So has a piece in each column at the start of some games.
    if not (contents and x_strength == y_strength == 3) and any(_is_function(table, of) for of in (x, y)):
        return None
    most = len(table.facts)
    ordered = min(x_strength, y_strength) >= 2
    if contents:
        squares = len({tuple(fact[1 + position] for position in positions) for fact in table.facts})
        full = squares >= 4 and squares == most and squares == len(xs) * len(ys) * _count(planes, usable)
        certain = ordered or full
        if certain and not ordered and len(xs) * len(ys) < 6:
            return None
    else:
        columns = Counter(fact[1 + x] for fact in table.facts)
        certain = ordered and most >= 4 and max(columns.values(), default=0) > 1
    if not certain and not ordered:
        return None
    alike = table.domains[x] == table.domains[y]
    # Nearly all sheets' coordinates have equal domains and stand side by side.
    score = math.log2(len(xs) * len(ys)) + 4 * alike + x_strength + y_strength + 2 * (y == x + 1)
    # By convention a board of boards comes first, a layer last.
    score += 0.5 if (len(planes) == 2) == all(plane < x for plane in planes) else 0
    return GroupCandidate(table, x, y, planes, contents, axes, certain, score - 0.1 * x)


def _count(planes: Sequence[int], usable: Mapping[int, tuple[tuple[str, ...], int]]) -> int:
    return math.prod(len(usable[plane][0]) for plane in planes)


def _planes(
    table: FactTable, x: int, y: int, rest: Sequence[int], usable: Mapping[int, tuple[tuple[str, ...], int]]
) -> tuple[int, ...]:
    """Returns the arguments that tell planes apart: those without which a square would have several facts."""
    able = [position for position in rest if position in usable]
    facts = table.facts
    area: float = len(usable[x][0]) * len(usable[y][0])
    numbered = any(position != table.name[1] - 1 and all(map(is_integer, usable[position][0])) for position in able)
    # Each square is seen with one fact at most.
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
    # Nothing seen yet: numbers tell planes apart, unless they come last.
    last = table.name[1] - 1
    numbers = tuple(
        position
        for position in able
        if position != last and len(usable[position][0]) <= 12 and all(map(is_integer, usable[position][0]))
    )
    return numbers if _count(numbers, usable) <= MAX_PLANES else ()


def _is_function(table: FactTable, of: int) -> bool:
    """Returns whether this argument is a counter or pointer: in each state, a function of the other arguments."""
    others = [position for position in range(table.name[1]) if position != of]
    every = 1
    for position in others:
        domain = table.domains[position]
        every *= max(1, len(domain)) if domain is not None else 10**6
    held = {tuple(fact[1 + position] for position in others) for fact in table.facts}
    return len(table.facts) == len(held) == every
