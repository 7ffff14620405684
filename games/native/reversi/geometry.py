"""Places of unnamed cells on a board, from rows of three neighbours."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from itertools import permutations, product

Point = tuple[int, int]
Triple = tuple[int, int, int]
"""Three adjacent cells in a row, in order."""

_AXES: tuple[Point, ...] = ((1, 0), (0, 1), (1, 1), (1, -1))


def embed(count: int, triples: Iterable[Triple]) -> list[int] | None:
    """Bitboard cells (8 * row + column) of `count` cells such that every triple is a row; None if there are none.

    Any image under the board's symmetries may be returned. The opposite neighbours of one cell get the four axes in
    every possible way; all other cells follow.
    """
    rows = {(min(a, c), b, max(a, c)) for a, b, c in triples}
    pairs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    members: dict[int, list[Triple]] = defaultdict(list)
    for triple in rows:
        pairs[triple[1]].append((triple[0], triple[2]))
        for cell in triple:
            members[cell].append(triple)
    if len(members) < count or any(len(opposite) > len(_AXES) for opposite in pairs.values()):
        return None
    centre = max(pairs, key=lambda cell: len(pairs[cell]))
    opposite = pairs[centre]
    for axes in permutations(_AXES, len(opposite)):
        # A half turn of the board leaves the first sign free.
        for signs in product((1,), *[(1, -1)] * (len(opposite) - 1)):
            points: dict[int, Point] = {centre: (0, 0)}
            for (one, other), (x, y), sign in zip(opposite, axes, signs, strict=True):
                points[one], points[other] = (sign * x, sign * y), (-sign * x, -sign * y)
            if _spread(points, members) and (cells := _normalise(points, count)) is not None:
                return cells
    return None


def _spread(points: dict[int, Point], members: dict[int, list[Triple]]) -> bool:
    """Place all cells that follow from placed ones; False on a contradiction."""
    queue = deque(points)
    while queue:
        for triple in members[queue.popleft()]:
            known = [cell in points for cell in triple]
            if sum(known) < 2:
                continue
            a, b, c = triple
            if not known[0]:
                placed = a
                point = (2 * points[b][0] - points[c][0], 2 * points[b][1] - points[c][1])
            elif not known[2]:
                placed = c
                point = (2 * points[b][0] - points[a][0], 2 * points[b][1] - points[a][1])
            else:
                placed = b
                x, y = points[a][0] + points[c][0], points[a][1] + points[c][1]
                if x % 2 or y % 2:
                    return False
                point = (x // 2, y // 2)
            if points.setdefault(placed, point) != point:
                return False
            if sum(known) == 2:
                queue.append(placed)
    steps = {(points[b][0] - points[a][0], points[b][1] - points[a][1]) for a, b, _ in _all(members, points)}
    return len(set(points.values())) == len(points) and all(max(abs(x), abs(y)) == 1 for x, y in steps)


def _all(members: dict[int, list[Triple]], points: dict[int, Point]) -> set[Triple]:
    return {triple for triples in members.values() for triple in triples if all(cell in points for cell in triple)}


def _normalise(points: dict[int, Point], count: int) -> list[int] | None:
    """Move the points into the corner of the bitboard; None if some are missing or do not fit."""
    if len(points) < count:
        return None
    left, top = min(x for x, _ in points.values()), min(y for _, y in points.values())
    if any(x - left > 7 or y - top > 7 for x, y in points.values()):
        return None
    return [8 * (points[cell][1] - top) + points[cell][0] - left for cell in range(count)]
