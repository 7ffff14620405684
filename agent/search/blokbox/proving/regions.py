"""Regions of a Blokbox board for one player: what it can ever cover there, and how many pieces at most.

See `territory` for what they are good for.
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
"""Sets of placements that are remembered for each player. Set by hand; not tuned."""
PRIVATE = 2
"""Region `PRIVATE + player` is that player's territory; region `player` all that it can reach."""

_ONE = np.uint64(1)
_LAST_COLUMN = np.uint64(0x8000800080008000)


class TerritoryWorkspace(NamedTuple):
    """Memory of the kernels of `regions`, `solo` and `territory`: one for each thread."""

    cells: NDArray[np.uint64]
    """[regions, 4]: cells of the region that a placement can cover, sooner or later."""
    corners: NDArray[np.uint64]
    """[regions, 4]: those among them that are diagonally beside the player's colour."""
    shapes: NDArray[np.int64]
    """[regions, shapes]: shapes that can be placed in the region, sooner or later."""
    n_shapes: NDArray[np.int64]
    """[regions]: how many these are."""
    pieces: NDArray[np.uint64]
    """[regions]: their pieces, as bits."""
    spans: NDArray[np.int64]
    """[shapes, 2]: how many cells a shape covers together with the cells right of it, and with those below."""
    board: NDArray[np.uint64]
    """[8]: a board after an empty one (see `bits.spread`)."""
    scratch: PlacementWorkspace
    """[plies]: solo search: moves."""
    positions: NDArray[np.uint64]
    """[plies, POSITION_WORDS]: positions, of which the first player's part is used."""
    live: NDArray[np.int64]
    """[plies]: how many shapes are live."""
    moves: NDArray[np.int64]
    """[plies, moves]: those of each ply that are left."""
    costs: NDArray[np.int64]
    """[plies, moves]: the free cells that these spend."""
    progress: NDArray[np.int64]
    """[plies, 2]: the next of these moves, and their number."""
    anchors: NDArray[np.uint64]
    """[shapes, 4]: the variant's, without those that the solo search has done with; all are there between searches."""
    witnesses: NDArray[np.uint64]
    """[2, WITNESSES, 9]: per player, sets of placements that were found: their cells, the corners among these that it
    had before, and the pieces."""
    lengths: NDArray[np.int64]
    """[2, WITNESSES + 1]: how many placements these are; then which of the sets was written last."""
    keys: NDArray[np.uint64]
    """Table of solo results: hashes of regions."""
    results: NDArray[np.int8]
    """[entries, 2]: lower and upper bounds."""


def new_territory_workspace(variant: BlokboxVariant, entries: int = 1 << 16) -> TerritoryWorkspace:
    """Memory for a variant, with a power of two of entries in the table of solo results, 10 bytes each."""
    n_shapes = len(variant.shapes)
    plies = len({shape.piece for shape in variant.shapes}) + 1
    max_moves = sum(len(shape.anchors) for shape in variant.shapes)
    spans = [
        [len({(x + dx, y + dy) for x, y in shape.cells for dx, dy in ((0, 0), step)}) for step in ((1, 0), (0, 1))]
        for shape in variant.shapes
    ]
    return TerritoryWorkspace(
        cells=np.zeros((4, WORDS), np.uint64),
        corners=np.zeros((4, WORDS), np.uint64),
        shapes=np.zeros((4, n_shapes), np.int64),
        n_shapes=np.zeros(4, np.int64),
        pieces=np.zeros(4, np.uint64),
        spans=np.array(spans, np.int64).reshape(-1, 2),
        board=np.zeros(2 * WORDS, np.uint64),
        scratch=new_placement_workspace(variant, plies),
        positions=np.zeros((plies, POSITION_WORDS), np.uint64),
        live=np.zeros(plies, np.int64),
        moves=np.zeros((plies, max_moves), np.int64),
        costs=np.zeros((plies, max_moves), np.int64),
        progress=np.zeros((plies, 2), np.int64),
        anchors=variant.tables.anchors.copy(),
        witnesses=np.zeros((2, WITNESSES, 2 * WORDS + 1), np.uint64),
        lengths=np.zeros((2, WITNESSES + 1), np.int64),
        keys=np.zeros(entries, np.uint64),
        results=np.zeros((entries, 2), np.int8),
    )


@njit(**INNER)
def narrow(tables, territory, region):
    """Narrow a region down to what can be covered from its corners on, by the player alone.

    Cells, corners and shapes of the region are what there might be; they become what there is, or slightly more: that
    two placements may exclude each other is left out of account.
    """
    scratch = territory.scratch
    free = scratch.shifted.ctypes.data
    touched = free + tables.columns * SHIFTED_BYTES
    anchors = territory.board.ctypes.data + 8 * WORDS
    all_anchors = tables.anchors.ctypes.data
    offsets = tables.offsets.ctypes.data
    cells = territory.cells[region]
    corners = territory.corners[region]
    shapes = territory.shapes[region]
    counts = scratch.counts[0]
    seeds = territory.positions[0, :WORDS]
    covered = territory.positions[0, WORDS : 2 * WORDS]
    beside = territory.positions[0, 2 * WORDS : 3 * WORDS]
    store_shifted(cells.ctypes.data, tables.columns, free)
    for word in range(WORDS):
        seeds[word] = corners[word] & cells[word]
        covered[word] = np.uint64(0)
    fitting = territory.n_shapes[region]
    grown = True
    while grown:
        store_shifted(seeds.ctypes.data, tables.columns, touched)
        candidates = fitting
        fitting = 0
        for index in range(candidates):
            shape = shapes[index]
            first = tables.first[shape]
            size = tables.first[shape + 1] - first
            count = fit(free, touched, offsets + 4 * first, size, all_anchors + 32 * shape, anchors)
            if count < 0:
                continue
            shapes[fitting] = shape
            counts[fitting] = count
            fitting += 1
            if count > 0:
                spread(anchors, offsets + 4 * first, size, covered.ctypes.data)
        diagonals(covered.ctypes.data, beside.ctypes.data)
        grown = False
        for word in range(WORDS):
            more = beside[word] & cells[word] & ~seeds[word]
            seeds[word] |= more
            grown |= more != 0
    n_shapes = 0
    pieces = np.uint64(0)
    for index in range(fitting):
        if counts[index] > 0:
            shapes[n_shapes] = shapes[index]
            n_shapes += 1
            pieces |= _ONE << np.uint64(tables.piece[shapes[index]])
    territory.n_shapes[region] = n_shapes
    territory.pieces[region] = pieces
    for word in range(WORDS):
        cells[word] = covered[word]
        corners[word] &= covered[word]


@njit(**INNER)
def ceiling(cells, shapes, n_shapes, spans):
    """An upper bound of how many shapes with different cells fit into `cells` (uint64[4]) side by side.

    Placements of one player share no sides. So no two of them share a cell even if each is taken together with the
    cells right of it, or with those below it.
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
    """An upper bound of the placements that can be made in a region."""
    n_shapes = territory.n_shapes[region]
    bound = ceiling(territory.cells[region], territory.shapes[region], n_shapes, territory.spans)
    return min(bound, popcount(territory.pieces[region]))
