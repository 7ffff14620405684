"""Regions of a Blokbox board for one player: cells that it can ever cover, and an upper bound of placements.

See `territory` for their use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.board16x16 import SHIFTED_BYTES, SIDE, WORDS, diagonals, fit, spread, store_shifted
from games.bits.compiling import INNER
from games.bits.words import popcount
from games.native.blokbox.rules import PlacementWorkspace, new_placement_workspace
from games.native.blokbox.variant import POSITION_WORDS, BlokboxVariant

WITNESSES = 16
"""Sets of placements remembered for each player."""
CELLS, CORNERS, PIECES, SIZE, LATEST, REGION_WORDS = 0, WORDS, 2 * WORDS, 2 * WORDS + 1, 2 * WORDS + 2, 2 * WORDS + 3
"""Words of a region: cells that a placement can ever cover; those of them diagonally beside the player's colour; pieces
of the placeable shapes, as bits; number of these shapes; for regions below PRIVATE, the player's newest witness."""
LIVE, NEXT, COUNT, PLY_WORDS = range(POSITION_WORDS, POSITION_WORDS + 4)
"""Words of a ply of the solo search after its position: number of live shapes, next move, number of moves."""
PRIVATE = 2
"""Region `PRIVATE + player` is that player's territory, region `player` its whole reach."""

# Boards of `narrow` in the first ply of the solo search.
_SEEDS, _COVERED, _BESIDE = 0, WORDS, 2 * WORDS
_ONE = np.uint64(1)
_LAST_COLUMN = np.uint64(0x8000800080008000)


class TerritoryWorkspace(NamedTuple):
    """One thread's memory for the kernels of `regions`, `solo` and `territory`."""

    regions: NDArray[np.uint64]
    """[regions + 1, REGION_WORDS]: see `CELLS`; the last one holds an empty board, and one after it (see
    `bits.spread`)."""
    shapes: NDArray[np.int64]
    """[regions, shapes]: shapes that can ever be placed in the region."""
    spans: NDArray[np.int64]
    """[shapes, 2]: number of cells of a shape together with those right of it, and with those below."""
    scratch: PlacementWorkspace
    """[plies]: moves of the solo search."""
    plies: NDArray[np.uint64]
    """[plies, PLY_WORDS]: positions, of which only the first player's part is used, and the words from `LIVE` on."""
    moves: NDArray[np.int64]
    """[2, plies, moves]: moves of each ply, and the free cells that they spend."""
    anchors: NDArray[np.uint64]
    """[shapes, 4]: the variant's anchors, during a solo search without those that are done."""
    witnesses: NDArray[np.uint64]
    """[2, WITNESSES, REGION_WORDS]: found sets of placements per player, in the words of a region: cells, corners among
    them that it had before, pieces, number of placements."""
    table: NDArray[np.uint64]
    """[entries, 2]: solo results: hash of the region; lower bound, and upper bound 8 bits further up."""


def new_territory_workspace(variant: BlokboxVariant, entries: int = 1 << 16) -> TerritoryWorkspace:
    """Memory for a variant, with a power of two of entries in the table of solo results, 16 bytes each."""
    n_shapes = len(variant.shapes)
    plies = len({shape.piece for shape in variant.shapes}) + 1
    max_moves = sum(len(shape.anchors) for shape in variant.shapes)
    spans = [
        [len({(x + dx, y + dy) for x, y in shape.cells for dx, dy in ((0, 0), step)}) for step in ((1, 0), (0, 1))]
        for shape in variant.shapes
    ]
    return TerritoryWorkspace(
        regions=np.zeros((5, REGION_WORDS), np.uint64),
        shapes=np.zeros((4, n_shapes), np.int64),
        spans=np.array(spans, np.int64).reshape(-1, 2),
        scratch=new_placement_workspace(variant, plies),
        plies=np.zeros((plies, PLY_WORDS), np.uint64),
        moves=np.zeros((2, plies, max_moves), np.int64),
        anchors=variant.tables.anchors.copy(),
        witnesses=np.zeros((2, WITNESSES, REGION_WORDS), np.uint64),
        table=np.zeros((entries, 2), np.uint64),
    )


@njit(**INNER)
def narrow(tables, territory, region):
    """Narrow a region down to the cells that the player alone can cover from its corners on.

    The region's cells, corners and shapes are candidates and become those that remain. They are slightly
    over-estimated: placements that exclude each other both count.
    """
    columns, firsts, pieces_of = tables.columns, tables.first, tables.piece
    all_anchors, offsets = tables.anchors.ctypes.data, tables.offsets.ctypes.data
    free = territory.scratch.shifted.ctypes.data
    touched = free + columns * SHIFTED_BYTES
    counts, work = territory.scratch.counts[0], territory.plies[0]
    row, shapes = territory.regions[region], territory.shapes[region]
    anchors = territory.regions[PRIVATE + 2].ctypes.data + 8 * WORDS
    boards = work.ctypes.data
    seeds, covered, beside = boards + 8 * _SEEDS, boards + 8 * _COVERED, boards + 8 * _BESIDE
    store_shifted(row.ctypes.data, columns, free)
    for word in range(WORDS):
        work[_SEEDS + word] = row[CORNERS + word] & row[word]
        work[_COVERED + word] = np.uint64(0)
    fitting = np.int64(row[SIZE])
    grown = True
    while grown:
        store_shifted(seeds, columns, touched)
        candidates = fitting
        fitting = 0
        for index in range(candidates):
            shape = shapes[index]
            first = firsts[shape]
            size = firsts[shape + 1] - first
            count = fit(free, touched, offsets + 4 * first, size, all_anchors + 32 * shape, anchors)
            if count < 0:
                continue
            shapes[fitting] = shape
            counts[fitting] = count
            fitting += 1
            if count > 0:
                spread(anchors, offsets + 4 * first, size, covered)
        diagonals(covered, beside)
        grown = False
        for word in range(WORDS):
            more = work[_BESIDE + word] & row[word] & ~work[_SEEDS + word]
            work[_SEEDS + word] |= more
            grown |= more != 0
    n_shapes = 0
    pieces = np.uint64(0)
    for index in range(fitting):
        if counts[index] > 0:
            shapes[n_shapes] = shapes[index]
            n_shapes += 1
            pieces |= _ONE << np.uint64(pieces_of[shapes[index]])
    row[SIZE], row[PIECES] = np.uint64(n_shapes), pieces
    for word in range(WORDS):
        row[word] = work[_COVERED + word]
        row[CORNERS + word] &= work[_COVERED + word]


@njit(**INNER)
def ceiling(cells, shapes, n_shapes, spans):
    """An upper bound of the number of shapes that fit into `cells` side by side.

    Counts the first `n_shapes` of `shapes` (int64[...]) in the first 4 words of `cells` (uint64[...]); `spans`
    (int64[shapes, 2]) is that of a TerritoryWorkspace. Placements of one player share no sides: they do not overlap
    even when each is taken together with the cells right of it, or below it.
    """
    wide = 0
    tall = 0
    above = np.uint64(0)
    for word in range(WORDS):
        row = cells[word]
        wide += popcount(row | ((row & ~_LAST_COLUMN) << _ONE)) + popcount(row & _LAST_COLUMN)
        tall += popcount(row | (row << np.uint64(SIDE)) | above)
        above = row >> np.uint64(64 - SIDE)
    tall += popcount(above)
    bound = n_shapes
    for direction in range(2):
        left = wide if direction == 0 else tall
        count = 0
        size = 1
        remaining = n_shapes
        while remaining > 0 and left >= size:
            for index in range(n_shapes):
                if spans[shapes[index], direction] == size:
                    remaining -= 1
                    if left >= size:
                        left -= size
                        count += 1
            size += 1
        bound = min(bound, count)
    return bound


@njit(inline="always")
def region_ceiling(territory, region):
    """An upper bound of the placements in a region."""
    row = territory.regions[region]
    bound = ceiling(row, territory.shapes[region], np.int64(row[SIZE]), territory.spans)
    return min(bound, popcount(row[PIECES]))
