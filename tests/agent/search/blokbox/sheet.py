"""Games of Blokbox: small ones, and the package's sheet, recognised once in a process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from games.native.blokbox.binding import BlokboxBinding
from games.native.blokbox.recognise import RECOGNITION
from games.native.blokbox.variant import BlokboxVariant, Cell, Shape
from tests.circuits import own_machine

PIECES: list[list[Cell]] = [
    [(0, 0)],
    [(0, 0), (1, 0)],
    [(0, 0), (0, 1), (0, 2)],
    [(0, 0), (1, 0), (0, 1)],
    [(0, 1), (1, 1), (1, 0), (2, 0)],
]
"""Small pieces."""


def anywhere(piece: int, cells: Sequence[Cell], width: int, height: int) -> Shape:
    """A shape that may lie anywhere on the board."""
    columns, rows = width - max(x for x, _ in cells), height - max(y for _, y in cells)
    return Shape(piece, tuple(cells), frozenset((x, y) for x in range(columns) for y in range(rows)))


def variant_of(pieces: Sequence[Sequence[Cell]], width: int, height: int, starts: tuple[Cell, Cell]) -> BlokboxVariant:
    """A game in which both players have the same pieces, without rotation."""
    shapes = tuple(anywhere(index, cells, width, height) for index, cells in enumerate(pieces))
    owned = frozenset(range(len(pieces)))
    return BlokboxVariant(width, height, shapes, (owned, owned), (frozenset({starts[0]}), frozenset({starts[1]})))


@cache
def own_binding() -> BlokboxBinding:
    """Its binding, verified on some positions."""
    return RECOGNITION.bind(own_machine("blokbox"), positions=100)
