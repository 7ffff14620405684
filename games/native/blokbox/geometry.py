"""From neighbourhoods of unnamed squares to coordinates on a grid."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from games.bits.board16x16 import SIDE
from games.native.blokbox.variant import CORNER_STEPS, SIDE_STEPS, Cell

Square = TypeVar("Square", bound=Hashable)


@dataclass(frozen=True)
class Neighbourhoods(Generic[Square]):
    """Known relations between squares, all symmetric."""

    sides: dict[Square, set[Square]]
    """Squares beside each square."""
    corners: dict[Square, set[Square]]
    """Squares diagonally beside each square."""
    judged: dict[Square, set[Square]]
    """Squares whose relation to each square is known."""


def embed(squares: Neighbourhoods[Square]) -> dict[Square, Cell] | None:
    """Coordinates that agree with all known relations, or None if there are none within 16x16.

    The grid may have holes if the squares hang together by sides. The least x and y are 0. Any of the images under the
    grid's symmetries may be returned.
    """
    for start, beside in squares.sides.items():
        for other in beside:
            for third in beside:
                # Two squares beside `start` lie around its corner if they share a corner.
                if third in squares.corners[other]:
                    placed = _spread({start: (0, 0), other: (1, 0), third: (0, 1)}, squares)
                    return None if placed is None else _normalised(placed)
    return None


def _spread(placed: dict[Square, Cell], squares: Neighbourhoods[Square]) -> dict[Square, Cell] | None:
    """Places squares whose place is forced, from those already placed."""
    taken = {cell: square for square, cell in placed.items()}
    if len(taken) < len(placed):
        return None

    def fits(square: Square, cell: Cell) -> bool:
        x, y = cell
        judged = squares.judged[square]
        for steps, neighbours in ((SIDE_STEPS, squares.sides[square]), (CORNER_STEPS, squares.corners[square])):
            around = {taken[(x + dx, y + dy)] for dx, dy in steps if (x + dx, y + dy) in taken}
            if around & judged != neighbours & placed.keys() & judged:
                return False
        return True

    waiting = deque(placed)
    idle = 0
    while waiting and idle <= len(waiting):
        square = waiting.popleft()
        x, y = placed[square]
        complete = True
        for other in squares.sides[square] - placed.keys():
            free = [(x + dx, y + dy) for dx, dy in SIDE_STEPS if (x + dx, y + dy) not in taken]
            cells = [cell for cell in free if fits(other, cell)]
            if not cells:
                return None
            if len(cells) == 1:
                placed[other] = cells[0]
                taken[cells[0]] = other
                waiting.append(other)
                idle = 0
            else:
                complete = False
        if not complete:
            waiting.append(square)
            idle += 1
    if len(placed) < len(squares.sides) or not all(fits(square, cell) for square, cell in placed.items()):
        return None
    return placed


def _normalised(placed: dict[Square, Cell]) -> dict[Square, Cell] | None:
    left = min(x for x, _ in placed.values())
    top = min(y for _, y in placed.values())
    moved = {square: (x - left, y - top) for square, (x, y) in placed.items()}
    return moved if all(x < SIDE and y < SIDE for x, y in moved.values()) else None
