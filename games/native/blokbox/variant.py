"""The games of the Blokbox family as data, and their tables for kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from games.bits.board16x16 import SHIFTED_BYTES, SIDE, WORDS

Cell: TypeAlias = tuple[int, int]
"""(x, y), both from 0."""

MAX_PIECES = 64
"""Most pieces in one variant, of both players together."""
BOARD_CELLS = SIDE * SIDE
SIDE_STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))
CORNER_STEPS = ((1, 1), (1, -1), (-1, 1), (-1, -1))


@dataclass(frozen=True)
class Shape:
    """One orientation of a piece: its cells, translated over the board."""

    piece: int
    cells: tuple[Cell, ...]
    """Offsets from the anchor; the least dx and the least dy are 0."""
    anchors: frozenset[Cell]
    """Cells at which the anchor may be; all of the shape's cells are then on the board."""


@dataclass(frozen=True)
class BlokboxVariant:
    """One member of the family: two players place pieces alternately; a player who cannot loses.

    A placement covers free cells only. At least one is diagonally beside a cell of the player's own colour, none shares
    a side with such a cell. Each player who owns a piece can place it once.
    """

    width: int
    height: int
    shapes: tuple[Shape, ...]
    owned: tuple[frozenset[int], frozenset[int]]
    """The pieces of each player; player 0 moves first."""
    starts: tuple[frozenset[Cell], frozenset[Cell]]
    """The cells of each player's colour in the first position."""

    def __post_init__(self) -> None:
        if not (1 <= self.width <= SIDE and 1 <= self.height <= SIDE):
            raise ValueError(f"a board of {self.width}x{self.height} does not fit into {SIDE}x{SIDE}")
        if any(not 0 <= shape.piece < MAX_PIECES for shape in self.shapes):
            raise ValueError(f"pieces are numbered 0..{MAX_PIECES - 1}")

    def __str__(self) -> str:
        pieces = len({shape.piece for shape in self.shapes})
        return f"{self.width}x{self.height} cells, {pieces} pieces in {len(self.shapes)} shapes"

    @cached_property
    def tables(self) -> VariantTables:
        """The tables for kernels."""
        return _tables(self)

    @cached_property
    def start(self) -> NDArray[np.uint64]:
        """The first position."""
        return self.position(self.starts, self.owned, 0)

    def position(
        self, cells: tuple[frozenset[Cell], frozenset[Cell]], owned: tuple[frozenset[int], frozenset[int]], turn: int
    ) -> NDArray[np.uint64]:
        """The position with these cells and pieces per player, and player `turn` to move."""
        taken = cells[0] | cells[1]
        board = self.board_cells()
        position = np.zeros(POSITION_WORDS, np.uint64)
        key = 0
        keys = _cell_keys()
        for player in (0, 1):
            sides = _neighbours(cells[player], SIDE_STEPS)
            corners = _neighbours(cells[player], CORNER_STEPS) & board
            position[FREE + WORDS * player :][:WORDS] = board_words(board - taken - sides)
            position[CORNERS + WORDS * player :][:WORDS] = board_words(corners)
            position[OWNED + player] = sum(1 << piece for piece in owned[player])
            for x, y in cells[player]:
                key ^= int(keys[player, SIDE * y + x])
            for piece in owned[player]:
                key ^= int(keys[player, BOARD_CELLS + piece])
        position[TURN] = turn
        position[KEY] = key
        return position

    def board_cells(self) -> frozenset[Cell]:
        """All cells of the board."""
        return frozenset((x, y) for x in range(self.width) for y in range(self.height))


# A position is uint64[20]: per player, the cells its colour may cover (free, no side shared with an own cell) and the
# cells diagonally beside its colour; then the owned pieces as bits, the player to move, and the Zobrist key.
FREE = 0
CORNERS = 2 * WORDS
OWNED = 4 * WORDS
TURN = OWNED + 2
KEY = OWNED + 3
POSITION_WORDS = KEY + 1

# A row of `VariantTables.effects`.
COVERED = 0
BLOCKED = WORDS
TOUCHED = 2 * WORDS
EFFECT_WORDS = 3 * WORDS


class VariantTables(NamedTuple):
    """A variant as arrays. A move is `256 * shape + anchor`, an anchor is the cell `16 * y + x`."""

    anchors: NDArray[np.uint64]
    """[shapes, 4]: admissible anchors."""
    offsets: NDArray[np.uint32]
    """Byte offsets of the shapes' cells in shifted boards (see `board16x16.fit`), all shapes in a row."""
    first: NDArray[np.int64]
    """[shapes + 1]: start of each shape's offsets."""
    piece: NDArray[np.int64]
    """[shapes]: the shape's piece."""
    columns: int
    """Number of shifted copies of a board that the shapes need."""
    effects: NDArray[np.uint64]
    """[moves, 12]: cells that a move covers; these and those beside them; those diagonally beside them."""
    keys: NDArray[np.uint64]
    """[2, moves]: change of the Zobrist key by a player's move."""


def board_words(cells: frozenset[Cell]) -> NDArray[np.uint64]:
    """A set of cells as a board: `uint64[4]`."""
    bits = sum(1 << (SIDE * y + x) for x, y in cells)
    return np.array([bits >> (64 * word) & 0xFFFFFFFFFFFFFFFF for word in range(WORDS)], np.uint64)


def _neighbours(cells: frozenset[Cell], steps: tuple[Cell, ...]) -> frozenset[Cell]:
    return frozenset((x + dx, y + dy) for x, y in cells for dx, dy in steps)


def _cell_keys() -> NDArray[np.uint64]:
    """Zobrist keys [2, 256 + 64] of a player's cells and pieces; equal in all processes."""
    return np.random.default_rng(0x626C6F6B).integers(0, 1 << 64, (2, BOARD_CELLS + MAX_PIECES), np.uint64)


def _tables(variant: BlokboxVariant) -> VariantTables:
    board = variant.board_cells()
    shapes = variant.shapes
    keys = _cell_keys()
    effects = np.zeros((len(shapes) * BOARD_CELLS, EFFECT_WORDS), np.uint64)
    move_keys = np.zeros((2, len(shapes) * BOARD_CELLS), np.uint64)
    for index, shape in enumerate(shapes):
        for x, y in shape.anchors:
            cells = frozenset((x + dx, y + dy) for dx, dy in shape.cells)
            if not cells <= board:
                raise ValueError(f"shape {index} leaves the board at {(x, y)}")
            move = BOARD_CELLS * index + SIDE * y + x
            effects[move, COVERED:BLOCKED] = board_words(cells)
            effects[move, BLOCKED:TOUCHED] = board_words((cells | _neighbours(cells, SIDE_STEPS)) & board)
            effects[move, TOUCHED:] = board_words(_neighbours(cells, CORNER_STEPS) & board)
            covered = [SIDE * cell_y + cell_x for cell_x, cell_y in cells]
            move_keys[:, move] = np.bitwise_xor.reduce(keys[:, covered], axis=1) ^ keys[:, BOARD_CELLS + shape.piece]
    offsets = [SHIFTED_BYTES * dx + 2 * dy for shape in shapes for dx, dy in shape.cells]
    return VariantTables(
        anchors=np.array([board_words(shape.anchors) for shape in shapes], np.uint64).reshape(-1, WORDS),
        offsets=np.array(offsets, np.uint32),
        first=np.cumsum([0, *(len(shape.cells) for shape in shapes)], dtype=np.int64),
        piece=np.array([shape.piece for shape in shapes], np.int64),
        columns=1 + max((dx for shape in shapes for dx, _ in shape.cells), default=0),
        effects=effects,
        keys=move_keys,
    )
