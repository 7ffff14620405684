"""Proofs without search, from what each player can still cover and the other one never can.

A move takes free cells from both players, and never gives the opponent anything. So what a player can do only gets
less by what the other one does:

- A player never makes more placements than it could if the other one passed for ever (`most`).
- Cells that only one player can ever cover are its *territory*. A sequence of placements that stays inside can be made
  at any time, whatever the opponent does; so its length is certain (`least`).

The player to move wins if its `least` is greater than the opponent's `most`, and loses if its `most` is not greater
than the opponent's `least`. Where no cell is left to both, the two are the same and decide every position, but for the
length of the solo searches that find them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits import popcount
from games.native.blokbox.bits import SHIFTED_BYTES, SIDE, WORDS, diagonals, fit, spread, store_shifted
from games.native.blokbox.rules import Scratch, list_moves, new_scratch, placements, select
from games.native.blokbox.variant import (
    BLOCKED,
    BOARD_CELLS,
    CORNERS,
    COVERED,
    FREE,
    OWNED,
    POSITION_WORDS,
    TOUCHED,
    TURN,
    Variant,
)

WON = 1
LOST = -1

PRIVATE_NODES = 20
"""Placements that a solo search in a territory may try: what it finds later is hardly ever better."""
SOLO_NODES = 100
"""Placements that a solo search for a player's `most` may try."""

WITNESSES = 16
"""Sets of placements that are remembered for each player."""

PRIVATE = 2
"""Region `PRIVATE + player` is that player's territory; region `player` all that it can reach."""

_ONE = np.uint64(1)
_LAST_COLUMN = np.uint64(0x8000800080008000)


class Territory(NamedTuple):
    """Memory of the kernels here: one for each thread."""

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
    scratch: Scratch
    positions: NDArray[np.uint64]
    """[plies, POSITION_WORDS]: solo search: positions, of which the first player's part is used."""
    live: NDArray[np.int64]
    moves: NDArray[np.int64]
    """[plies, moves]: those of each ply that were not excluded."""
    costs: NDArray[np.int64]
    """[plies, moves]: the free cells that these spend."""
    progress: NDArray[np.int64]
    """[plies, 2]: the next of these moves, and their number."""
    excluded: NDArray[np.uint64]
    """[shapes, 4]: anchors that the solo search has done with; all zero between searches."""
    witnesses: NDArray[np.uint64]
    """[2, WITNESSES, 9]: per player, sets of placements that were found: their cells, the corners among these that it
    had before, and the pieces."""
    lengths: NDArray[np.int64]
    """[2, WITNESSES + 1]: how many placements these are; then which of the sets was written last."""
    keys: NDArray[np.uint64]
    """Table of solo results: hashes of regions."""
    results: NDArray[np.int8]
    """[entries, 2]: lower and upper bounds."""


def new_territory(variant: Variant, entries: int = 1 << 16) -> Territory:
    """Memory for a variant, with a power of two of entries in the table of solo results, 10 bytes each."""
    n_shapes = len(variant.shapes)
    plies = len({shape.piece for shape in variant.shapes}) + 1
    max_moves = sum(len(shape.anchors) for shape in variant.shapes)
    spans = [
        [len({(x + dx, y + dy) for x, y in shape.cells for dx, dy in ((0, 0), step)}) for step in ((1, 0), (0, 1))]
        for shape in variant.shapes
    ]
    return Territory(
        cells=np.zeros((4, WORDS), np.uint64),
        corners=np.zeros((4, WORDS), np.uint64),
        shapes=np.zeros((4, n_shapes), np.int64),
        n_shapes=np.zeros(4, np.int64),
        pieces=np.zeros(4, np.uint64),
        spans=np.array(spans, np.int64).reshape(-1, 2),
        board=np.zeros(2 * WORDS, np.uint64),
        scratch=new_scratch(variant, plies),
        positions=np.zeros((plies, POSITION_WORDS), np.uint64),
        live=np.zeros(plies, np.int64),
        moves=np.zeros((plies, max_moves), np.int64),
        costs=np.zeros((plies, max_moves), np.int64),
        progress=np.zeros((plies, 2), np.int64),
        excluded=np.zeros((n_shapes, WORDS), np.uint64),
        witnesses=np.zeros((2, WITNESSES, 2 * WORDS + 1), np.uint64),
        lengths=np.zeros((2, WITNESSES + 1), np.int64),
        keys=np.zeros(entries, np.uint64),
        results=np.zeros((entries, 2), np.int8),
    )


@njit(cache=True, nogil=True)
def _reach(tables, territory, region):
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


@njit(cache=True, nogil=True)
def _ceiling(cells, shapes, n_shapes, spans):
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


@njit(cache=True, nogil=True)
def _mix(key, word):
    """One step of a hash of 64-bit words: the multiplications of SplitMix64's finaliser."""
    key = (key ^ word) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(32))


@njit(cache=True, nogil=True)
def _region_key(territory, region):
    key = _mix(np.uint64(0x9E3779B97F4A7C15), territory.pieces[region])
    for word in range(WORDS):
        key = _mix(key, territory.cells[region, word])
        key = _mix(key, territory.corners[region, word])
    return key


@njit(cache=True, nogil=True)
def _list_by_cost(tables, territory, ply):
    """List the moves of a ply that are not excluded, with the free cells that they spend. Returns their number."""
    scratch = territory.scratch
    position = territory.positions[ply]
    moves = territory.moves[ply]
    for index in range(territory.live[ply]):
        shape = scratch.shapes[ply, index]
        for word in range(WORDS):
            scratch.legal[ply, index, word] &= ~territory.excluded[shape, word]
    n = list_moves(scratch, ply, territory.live[ply], moves)
    for index in range(n):
        cost = 0
        for word in range(WORDS):
            cost += popcount(tables.effects[moves[index], BLOCKED + word] & position[FREE + word])
        territory.costs[ply, index] = cost
    return n


@njit(cache=True, nogil=True)
def _exclude(territory, move):
    cell = move % BOARD_CELLS
    territory.excluded[move // BOARD_CELLS, cell // 64] ^= _ONE << np.uint64(cell % 64)


@njit(cache=True, nogil=True)
def _witnessed(territory, player, length):
    """Whether a set of so many placements that was found once can still be made by `player` without an opponent."""
    cells = territory.cells[player]
    corners = territory.corners[player]
    for index in range(WITNESSES):
        if territory.lengths[player, index] < length:
            continue
        witness = territory.witnesses[player, index]
        missing = witness[2 * WORDS] & ~territory.pieces[player]
        for word in range(WORDS):
            missing |= witness[word] & ~cells[word]
            missing |= witness[WORDS + word] & ~corners[word]
        if missing == 0:
            return True
    return False


@njit(cache=True, nogil=True)
def _remember(tables, territory, player, ply, live):
    """Keep the placements of a solo search down to `ply`, and one more if its child has any, as a witness."""
    last = (territory.lengths[player, WITNESSES] + 1) % WITNESSES
    territory.lengths[player, WITNESSES] = last
    witness = territory.witnesses[player, last]
    witness[:] = np.uint64(0)
    length = 0
    for level in range(ply + 2):
        move = -1
        if level <= ply:
            move = territory.moves[level, territory.progress[level, 0] - 1]
        else:
            for index in range(live):
                if territory.scratch.counts[level, index] > 0:
                    anchor = select(territory.scratch.legal[level, index], 0)
                    move = BOARD_CELLS * territory.scratch.shapes[level, index] + anchor
                    break
        if move >= 0:
            length += 1
            for word in range(WORDS):
                witness[word] |= tables.effects[move, COVERED + word]
            witness[2 * WORDS] |= _ONE << np.uint64(tables.piece[move // BOARD_CELLS])
    for word in range(WORDS):
        witness[WORDS + word] = witness[word] & territory.corners[player, word]
    territory.lengths[player, last] = length


@njit(cache=True, nogil=True)
def _solo(tables, territory, region, target, budget):
    """Lower and upper bound of the placements that a player can make in a region, without an opponent.

    Looks for `target` placements. If the lower bound is less than that and the upper one is not, the search was too
    long. It is one for sets of placements: when all sets with a certain one were tried, that one is excluded from the
    others.
    """
    n_shapes = territory.n_shapes[region]
    upper = popcount(territory.pieces[region])
    if upper <= 1:
        return upper, upper
    if upper < target:
        return 1, upper
    key = _region_key(territory, region)
    slot = np.int64(key & np.uint64(len(territory.keys) - 1))
    lower = 0
    if territory.keys[slot] == key:
        lower = np.int64(territory.results[slot, 0])
        upper = np.int64(territory.results[slot, 1])
        if lower >= target or upper < target:
            return lower, upper
    scratch = territory.scratch
    root = territory.positions[0]
    for word in range(WORDS):
        root[FREE + word] = territory.cells[region, word]
        root[CORNERS + word] = territory.corners[region, word]
    root[OWNED] = territory.pieces[region]
    territory.live[0], _ = placements(tables, root, 0, territory.shapes[region], n_shapes, scratch, 0)
    territory.progress[0, 0] = 0
    territory.progress[0, 1] = _list_by_cost(tables, territory, 0)
    nodes = 0
    ply = 0
    while lower < target and nodes < budget:
        index, n = territory.progress[ply]
        moves = territory.moves[ply]
        if index == n:
            for done in range(n):
                _exclude(territory, moves[done])
            ply -= 1
            if ply < 0:
                break
            continue
        costs = territory.costs[ply]
        best = index
        for other in range(index + 1, n):
            if costs[other] < costs[best]:
                best = other
        move = moves[best]
        moves[best], costs[best] = moves[index], costs[index]
        moves[index] = move
        territory.progress[ply, 0] = index + 1
        _exclude(territory, move)
        nodes += 1
        position = territory.positions[ply]
        child = territory.positions[ply + 1]
        effect = tables.effects[move]
        for word in range(WORDS):
            child[FREE + word] = position[FREE + word] & ~effect[BLOCKED + word]
            child[CORNERS + word] = position[CORNERS + word] | effect[TOUCHED + word]
        child[OWNED] = position[OWNED] & ~(_ONE << np.uint64(tables.piece[move // BOARD_CELLS]))
        live, total = placements(tables, child, 0, scratch.shapes[ply], territory.live[ply], scratch, ply + 1)
        lower = max(lower, ply + 1 + (total > 0))
        if lower >= target and region < PRIVATE:
            _remember(tables, territory, region, ply, live)
        if total > 0 and ply + 1 + _ceiling(child, scratch.shapes[ply + 1], live, territory.spans) >= target:
            ply += 1
            territory.live[ply] = live
            territory.progress[ply, 0] = 0
            territory.progress[ply, 1] = _list_by_cost(tables, territory, ply)
    if ply < 0:
        upper = target - 1
    else:
        territory.excluded[:] = np.uint64(0)
    territory.keys[slot] = key
    territory.results[slot, 0] = lower
    territory.results[slot, 1] = upper
    return lower, upper


@njit(cache=True, nogil=True)
def _ceiling_of(territory, region):
    """An upper bound of the placements that can be made in a region."""
    n_shapes = territory.n_shapes[region]
    bound = _ceiling(territory.cells[region], territory.shapes[region], n_shapes, territory.spans)
    return min(bound, popcount(territory.pieces[region]))


@njit(cache=True, nogil=True)
def _outlasts(tables, territory, player, lead):
    """Whether `player` certainly makes `lead` placements more than the other one ever can."""
    other = 1 - player
    region = PRIVATE + player
    usable = False
    for word in range(WORDS):
        private = territory.cells[player, word] & ~territory.cells[other, word]
        territory.cells[region, word] = private
        territory.corners[region, word] = territory.corners[player, word]
        usable |= (territory.corners[player, word] & private) != 0
    if not usable:
        return False
    territory.pieces[region] = territory.pieces[player]
    territory.n_shapes[region] = territory.n_shapes[player]
    for index in range(territory.n_shapes[player]):
        territory.shapes[region, index] = territory.shapes[player, index]
    # Most positions are undecided. Each step is dearer than the one before it, and sorts most of them out.
    at_most = _ceiling_of(territory, region)
    if at_most < lead or _witnessed(territory, other, at_most - lead + 1):
        return False
    _reach(tables, territory, region)
    at_most = _ceiling_of(territory, region)
    if at_most < lead or _witnessed(territory, other, at_most - lead + 1):
        return False
    least, _ = _solo(tables, territory, region, at_most, PRIVATE_NODES)
    if least < lead or _witnessed(territory, other, least - lead + 1):
        return False
    _, most = _solo(tables, territory, other, least - lead + 1, SOLO_NODES)
    return most + lead <= least


@njit(cache=True, nogil=True)
def verdict(tables, position, candidates, n_candidates, expected, territory):
    """`WON` or `LOST` for the player to move if territories decide the match, else 0.

    Only `expected`, which is one of the two, is looked for: evaluations are nearly always right about which one it can
    be. The first `n_candidates[player]` (int64[2]) of `candidates[player]` may be live. Writes to `territory` only.
    """
    for player in range(2):
        own = WORDS * player
        for word in range(WORDS):
            territory.cells[player, word] = position[FREE + own + word]
            territory.corners[player, word] = position[CORNERS + own + word]
        owned = position[OWNED + player]
        n_shapes = 0
        for index in range(n_candidates[player]):
            shape = candidates[player, index]
            if (owned >> np.uint64(tables.piece[shape])) & _ONE:
                territory.shapes[player, n_shapes] = shape
                n_shapes += 1
        territory.n_shapes[player] = n_shapes
        _reach(tables, territory, player)
    mover = np.int64(position[TURN])
    if expected == WON:
        return WON if _outlasts(tables, territory, mover, 1) else 0
    return LOST if _outlasts(tables, territory, 1 - mover, 0) else 0
