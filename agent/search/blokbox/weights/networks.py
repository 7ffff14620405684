"""The shipped networks: one file per variant, found for any rotation or reflection of its board."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.search.blokbox.guiding.network import CELL_STATES, Network, weight_shapes
from agent.search.blokbox.weights import general
from games.bits.board16x16 import SIDE
from games.native.blokbox.variant import BOARD_CELLS, BlokboxVariant, Cell

SHIPPED = Path(__file__).parent
SUFFIX = ".npz"
_NAMES = {"move_features": "hints"}
"""Names of a network's fields in the files, where they differ."""


@dataclass(frozen=True)
class Geometry:
    """Geometry of the variant that a network was trained for."""

    size: tuple[int, int]
    shapes: tuple[frozenset[Cell], ...]
    """The cells of each shape, from its anchor."""
    pieces: tuple[int, ...]
    """The piece of each shape."""
    starts: frozenset[frozenset[Cell]]
    """Cells of each colour at the start."""

    @classmethod
    def of(cls, variant: BlokboxVariant) -> Geometry:
        """The geometry of a variant."""
        return cls(
            (variant.width, variant.height),
            tuple(frozenset(shape.cells) for shape in variant.shapes),
            tuple(shape.piece for shape in variant.shapes),
            frozenset(variant.starts),
        )


@dataclass(frozen=True)
class _Symmetry:
    """One of the eight mappings of a rectangle to itself or its transpose."""

    transpose: bool
    flip_x: bool
    flip_y: bool

    def cell(self, cell: Cell, size: tuple[int, int]) -> Cell:
        """The image of a cell of a board of that size."""
        x, y = cell
        width, height = size
        if self.flip_x:
            x = width - 1 - x
        if self.flip_y:
            y = height - 1 - y
        return (y, x) if self.transpose else (x, y)

    def size(self, size: tuple[int, int]) -> tuple[int, int]:
        """The size of the board's image."""
        return (size[1], size[0]) if self.transpose else size


def load(path: Path) -> tuple[Network, Geometry]:
    """Read a network and its geometry from a file. Raises `ValueError` for arrays of other shapes."""
    with np.load(path) as arrays:
        shapes: dict[int, set[Cell]] = {}
        for shape, x, y in arrays["shape_cells"].tolist():
            shapes.setdefault(shape, set()).add((x, y))
        starts: dict[int, set[Cell]] = {}
        for player, x, y in arrays["start_cells"].tolist():
            starts.setdefault(player, set()).add((x, y))
        width, height = arrays["size"].tolist()
        geometry = Geometry(
            (width, height),
            tuple(frozenset(shapes[index]) for index in range(len(shapes))),
            tuple(arrays["pieces"].tolist()),
            frozenset(frozenset(cells) for cells in starts.values()),
        )
        network = Network(*(arrays[_NAMES.get(name, name)].astype(np.float32) for name in Network._fields))
    if {name: array.shape for name, array in network._asdict().items()} != weight_shapes(len(shapes)):
        raise ValueError(f"{path}: these are not the weights of a network of this version")
    return network, geometry


def save(path: Path, network: Network, variant: BlokboxVariant) -> None:
    """Write a network, in half precision, and the geometry of its variant to a file."""
    np.savez_compressed(
        path,
        size=np.array([variant.width, variant.height]),
        pieces=np.array([shape.piece for shape in variant.shapes]),
        shape_cells=np.array([(index, *cell) for index, shape in enumerate(variant.shapes) for cell in shape.cells]),
        start_cells=np.array([(player, *cell) for player, cells in enumerate(variant.starts) for cell in cells]),
        **{_NAMES.get(name, name): array.astype(np.float16) for name, array in network._asdict().items()},
    )


def shipped_network(variant: BlokboxVariant, folder: Path = SHIPPED) -> Network | None:
    """The network for a variant, in its numbering of shapes and cells; None where there is none."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        if path.name == general.FILE:
            continue
        network, geometry = load(path)
        if (laid_out := lay_out(network, geometry, variant)) is not None:
            return laid_out
    return None


def lay_out(network: Network, geometry: Geometry, variant: BlokboxVariant) -> Network | None:
    """The network for a variant that differs from `geometry` by numbering and a symmetry; else None."""
    for symmetry in _symmetries():
        match = _matching_moves(geometry, symmetry, variant)
        if match is None:
            continue
        shapes, moves = match
        n_shapes = len(shapes)
        board = list(product(range(geometry.size[0]), range(geometry.size[1])))
        sources = [SIDE * y + x for x, y in board]
        targets = [SIDE * y + x for x, y in (symmetry.cell(cell, geometry.size) for cell in board)]
        rows = np.zeros_like(network.rows)
        fitting = BOARD_CELLS * CELL_STATES
        placing = fitting + 2 * n_shapes
        n_moves = n_shapes * BOARD_CELLS
        rows[:fitting].reshape(BOARD_CELLS, -1)[targets] = network.rows[:fitting].reshape(BOARD_CELLS, -1)[sources]
        for side in range(2):
            fit = fitting + side * n_shapes
            rows[fit + shapes] = network.rows[fit : fit + n_shapes]
            place = placing + side * n_moves
            _move_rows(network.rows[place : place + n_moves], moves, rows[place : place + n_moves])
        move_vectors = np.zeros_like(network.moves)
        move_bias = np.zeros_like(network.move_bias)
        _move_rows(network.moves, moves, move_vectors)
        _move_rows(network.move_bias, moves, move_bias)
        return network._replace(rows=rows, moves=move_vectors, move_bias=move_bias)
    return None


def _move_rows(source: NDArray[np.float32], moves: NDArray[np.int64], target: NDArray[np.float32]) -> None:
    known = moves.reshape(-1) >= 0
    target[moves.reshape(-1)[known]] = source[known]


def _symmetries() -> Iterator[_Symmetry]:
    for transpose, flip_x, flip_y in product((False, True), repeat=3):
        yield _Symmetry(transpose, flip_x, flip_y)


def _matching_moves(
    geometry: Geometry, symmetry: _Symmetry, variant: BlokboxVariant
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """The variant's shape for each shape of the geometry, and its move for each move; None where they do not match.

    Moves are int64[shapes, 256], -1 for none.
    """
    if symmetry.size(geometry.size) != (variant.width, variant.height):
        return None
    turned = [{symmetry.cell(cell, geometry.size) for cell in cells} for cells in geometry.starts]
    # A match that begins midway has more cells. Either player may be first.
    begun = any(
        all(first <= cells for first, cells in zip(turned, starts, strict=False))
        for starts in (variant.starts, variant.starts[::-1])
    )
    if not begun or len(geometry.shapes) != len(variant.shapes):
        return None
    numbers = {frozenset(shape.cells): index for index, shape in enumerate(variant.shapes)}
    shapes = np.zeros(len(geometry.shapes), np.int64)
    moves = np.full((len(geometry.shapes), BOARD_CELLS), -1, np.int64)
    pieces: dict[int, int] = {}
    for index, cells in enumerate(geometry.shapes):
        _, shape_cells = _anchored(symmetry.cell(cell, geometry.size) for cell in cells)
        number = numbers.get(shape_cells)
        if number is None:
            return None
        shapes[index] = number
        if pieces.setdefault(geometry.pieces[index], variant.shapes[number].piece) != variant.shapes[number].piece:
            return None
        for x, y in product(range(geometry.size[0]), range(geometry.size[1])):
            moved = [symmetry.cell((x + dx, y + dy), geometry.size) for dx, dy in cells]
            corner, _ = _anchored(iter(moved))
            if corner in variant.shapes[number].anchors:
                moves[index, SIDE * y + x] = BOARD_CELLS * number + SIDE * corner[1] + corner[0]
    return (shapes, moves) if len(set(pieces.values())) == len(pieces) else None


def _anchored(cells: Iterator[Cell]) -> tuple[Cell, frozenset[Cell]]:
    """The least x and y of some cells, and the cells relative to it."""
    listed = list(cells)
    left, top = min(x for x, _ in listed), min(y for _, y in listed)
    return (left, top), frozenset((x - left, y - top) for x, y in listed)
