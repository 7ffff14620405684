"""Detection of what is drawn without a grid: counters and heaps as bars, things in a row by size, and on stacks."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from agent.boards.board import Board, Content, FactTable, Name, Reading, Square
from agent.boards.pieces import PALETTE, find_pieces
from agent.boards.rulesheet import FACT, MOVE, OWN, Rules, atoms_inside, is_integer, is_numbered, natural_key
from games.machine import Term
from protocol.kif import write

MAX_ROWS, MAX_THINGS = 12, 30
BAR_WIDTH, STEP = 7.0, 0.8
"""Width of the longest bar, and distance between bars and from a thing to the one on it, in cells."""
LEAST_WIDTH, MOST_WIDTH, COLUMN = 1.0, 2.4, 2.6
"""Widths of the smallest and the largest thing on a stack, and distance between stacks, in cells."""
WOOD = 9
"""Colour of the bars that are nobody's."""


def find_heaps(tables: Mapping[Name, FactTable], rules: Rules, taken: Collection[Name]) -> list[Board]:
    """Returns the bars and stacks among relations that no other board has."""
    found = []
    single: dict[frozenset[str] | None, list[FactTable]] = defaultdict(list)
    for name, table in sorted(tables.items(), key=lambda item: (rules.rank.get(item[0][0], 1 << 30), item[0])):
        if name not in taken and table.facts:
            found.append(_piles(table, rules) or _bars(table, rules) or _row(table, rules) or _stacks(table, rules))
            if name[1] == 1 and len(table.facts) == 1 and not _is_clock(name, rules):
                single[table.domains[0]].append(table)
    found += [_counters(group, rules) for group in single.values()]
    return [board for board in found if board is not None]


def _counters(group: Sequence[FactTable], rules: Rules) -> Board | None:
    """Reads facts such as `(white_score 3)` and `(black_score 5)`: relations of one number each, of the same range."""
    names = [table.name[0] for table in group]
    if not 2 <= len(set(names)) == len(names) <= MAX_ROWS:
        return None
    readings = [Reading(table.name, (), (), row=table.name[:1]) for table in group]
    return _rows(readings, [names], group[0].domains[0], rules)


def _is_clock(name: Name, rules: Rules) -> bool:
    """Returns whether a relation changes by itself: its rules ask for nothing else."""
    bodies = (atoms_inside(body) for _, body in rules.produced((FACT, *name)))
    apart = all(key == (FACT, *name) or key in rules.ground for body in bodies for key, _ in body)
    return apart and not rules.carried((FACT, *name))


def _bars(table: FactTable, rules: Rules) -> Board | None:
    """Reads facts such as `(heap a 5)` or `(stones north 3 4)`: every key of one or two words has one number."""
    *keys, numbers = table.domains
    if not 1 <= len(keys) <= 2 or any(not key or key == numbers for key in keys):
        return None
    squares = sorted({fact[1:-1] for fact in table.facts}, key=lambda square: [natural_key(write(it)) for it in square])
    if len(table.facts) != len(squares) or not math.prod(len(key or ()) for key in keys) == len(squares) > 1:
        return None
    names = [sorted(key or (), key=lambda word: rules.rank.get(word, len(rules.rank))) for key in keys]
    positions = tuple(range(len(keys)))
    return _rows([Reading(table.name, positions, (len(keys),))], names, numbers, rules)


def _row(table: FactTable, rules: Rules) -> Board | None:
    """Reads a fact such as `(order c a b)`: all things of a kind, in their order; places have the things' names."""
    things = table.domains[0]
    if not things or not 3 <= len(things) == table.name[1] <= MAX_ROWS or set(table.domains) != {things}:
        return None
    if len(table.facts) > 1 or {*table.facts[0][1:]} != things:
        return None
    names = sorted(things, key=natural_key)
    return _rows([Reading(table.name, (), (), row=tuple(names))], [names], things, rules)


def _amounts(words: Collection[str], rules: Rules) -> dict[str, float]:
    """Returns the numbers that words stand for; none where they are no numbers."""
    order, strength = rules.order(words)
    if not all(map(is_integer, order)) and not is_numbered(order):
        return {word: float(index) for index, word in enumerate(order)} if strength == 3 else {}
    return {word: float(word.lstrip("".join(filter(str.isalpha, word)) + "_")) for word in order}


def _rows(readings: list[Reading], keys: list[list[str]], words: frozenset[str] | None, rules: Rules) -> Board | None:
    """Returns a board of bars, one below the other for the last words of their keys; None for words that are no
    numbers."""
    amounts = _amounts(words, rules) if words else {}
    rows = keys[-1]
    if len(amounts) < 3 or len(rows) > MAX_ROWS or len(keys[0]) > MAX_ROWS:
        return None
    looks = find_pieces([(key,) for key in keys[0]], {}, rules)
    tints = [looks[key,].colour if looks[key,].owner >= 0 else WOOD for key in keys[0]]
    if len(readings) == 1 and readings[0].row:
        tints = [PALETTE[index % len(PALETTE)] for index in range(len(rows))]
    squares = list(itertools.product(*keys))
    column = BAR_WIDTH / len(keys)
    gap = 0.0 if len(keys) == 1 else column + 0.2
    return Board(
        readings={reading.name: reading for reading in readings},
        axes=tuple(map(tuple, keys)),
        across=len(keys) - 2,
        up=len(keys) - 1,
        places={it: (gap * keys[0].index(it[0]), STEP * rows.index(it[-1])) for it in squares},
        lattice="bars",
        widths=dict.fromkeys(squares, column),
        amounts=amounts,
        tints={square: tints[keys[0].index(square[0])] for square in squares},
    )


def _stacks(table: FactTable, rules: Rules) -> Board | None:
    """Reads facts such as `(on a b)`: things on others, or on a base that never moves."""
    above, below = (*table.domains, None, None)[:2]
    if table.name[1] != 2 or not above or not below or above <= set(rules.roles) or not above & below:
        return None
    names = sorted(above | below, key=lambda name: rules.rank.get(name, len(rules.rank)))
    if len(names) > MAX_THINGS or any(is_integer(name) for name in names):
        return None
    under = {fact[1]: fact[2] for fact in table.facts}
    if len(under) != len(table.facts) or any(_height(name, under) is None for name in under):
        return None
    order, _ = rules.order(above)
    sized = any(
        {fact[0], fact[1]} <= above
        for (kind, _, count), facts in rules.ground.items()
        for fact in (facts if kind == OWN and count == 2 else ())
    )
    rising = sum(order.index(a) < order.index(b) for a, b in under.items() if b in order)
    ranks = order if 2 * rising >= len(under) - 1 else order[::-1]
    wide: dict[Square, float] = {(name,): MOST_WIDTH for name in names}
    for index, name in enumerate(ranks):
        wide[name,] = LEAST_WIDTH + (index * (MOST_WIDTH - LEAST_WIDTH) / len(ranks) if sized else 0.4)
    bases = [name for name in names if name not in above] or names
    return Board(
        readings={table.name: Reading(table.name, (0,), (1,))},
        axes=(tuple(names),),
        across=-1,
        up=-1,
        places={(name,): (COLUMN * bases.index(name) if name in bases else 0.0, 0.0) for name in names},
        lattice="stacks",
        widths=wide,
        tints={(name,): PALETTE[ranks.index(name) % len(PALETTE)] for name in order},
    )


def _piles(table: FactTable, rules: Rules) -> Board | None:
    """Reads facts such as `(on 3 1)`: things by size at places, which moves name, unlike the things."""
    things, where = (*table.domains, None, None)[:2]
    if table.name[1] != 2 or not things or not where or not 3 <= len(things) == len(table.facts) <= MAX_ROWS:
        return None
    named = [it for (kind, _, _), domains in rules.constants.items() if kind == MOVE for it in domains]
    if {fact[1] for fact in table.facts} != things or where not in named or things in named or len(where) > MAX_ROWS:
        return None
    names, sizes = sorted(where, key=natural_key), _amounts(things, rules)
    if not sizes:
        return None
    return Board(
        readings={table.name: Reading(table.name, (1,), (0,))},
        axes=(tuple(names),),
        across=-1,
        up=-1,
        places={(name,): (COLUMN * index, 0.0) for index, name in enumerate(names)},
        lattice="stacks",
        widths=dict.fromkeys(((name,) for name in names), MOST_WIDTH),
        amounts=sizes,
    )


def _height(name: Term, under: Mapping[Term, Term]) -> int | None:
    """Returns the number of things under one; None where that is endless."""
    for height in range(MAX_THINGS):
        if name not in under:
            return height
        name = under[name]
    return None


def places_now(board: Board, contents: Mapping[Square, Collection[Content]]) -> Mapping[Square, tuple[float, float]]:
    """Returns the places on a board; things of a stack are on what they stand on now."""
    if board.lattice != "stacks" or board.amounts:
        return board.places
    under: dict[Term, Term] = {square[0]: min(below)[0] for square, below in contents.items() if below}
    places = {}
    for square in board.places:
        base: Term = square[0]
        height = _height(base, under) or 0
        for _ in range(height):
            base = under[base]
        # Without a known base it stands at the side.
        column = board.places.get((base,), (0.0, 0.0))[0] if isinstance(base, str) else 0.0
        places[square] = column, -STEP * height
    return places
