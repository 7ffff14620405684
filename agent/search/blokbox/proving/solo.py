"""The solo search: how many placements a player can make in a region with nobody else on the board.

It looks for sets of placements that do not exclude each other.

Most questions are answered without a search: by a table of earlier results, or by a *witness*, a set of placements
that was found in another position and can still be made.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agent.search.blokbox.proving.regions import PRIVATE, WITNESSES, ceiling
from games.bits.board16x16 import WORDS
from games.bits.compiling import INNER
from games.bits.words import popcount
from games.native.blokbox.rules import list_moves, placements, select
from games.native.blokbox.variant import BLOCKED, BOARD_CELLS, CORNERS, COVERED, FREE, OWNED, TOUCHED, VariantTables

_ONE = np.uint64(1)
_ONLY = np.int64(0)
"""The player of a solo search. Of a NumPy type: Numba would compile what is called with a literal anew for it."""


@njit(inline="always")
def _mix(key, word):
    """One step of a hash of 64-bit words: the multiplications of SplitMix64's finaliser."""
    key = (key ^ word) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(32))


@njit(inline="always")
def _region_key(territory, region):
    key = _mix(np.uint64(0x9E3779B97F4A7C15), territory.pieces[region])
    for word in range(WORDS):
        key = _mix(key, territory.cells[region, word])
        key = _mix(key, territory.corners[region, word])
    return key


@njit(**INNER)
def _list_by_cost(tables, territory, ply):
    """List the moves of a ply and the free cells that they spend. Returns their number."""
    position = territory.positions[ply]
    moves = territory.moves[ply]
    n = list_moves(territory.scratch, ply, territory.live[ply], moves)
    for index in range(n):
        cost = 0
        for word in range(WORDS):
            cost += popcount(tables.effects[moves[index], BLOCKED + word] & position[FREE + word])
        territory.costs[ply, index] = cost
    return n


@njit(inline="always")
def _toggle(territory, move):
    """Take a move out of the choices, or put it back."""
    cell = move % BOARD_CELLS
    territory.anchors[move // BOARD_CELLS, cell // 64] ^= _ONE << np.uint64(cell % 64)


@njit(**INNER)
def witnessed(territory, player, length):
    """Whether a witness of at least `length` placements can still be made by `player` (both int64) without an opponent.

    `territory` is a TerritoryWorkspace.
    """
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


@njit(inline="always")
def _remember(tables, territory, player, ply, live):
    """Keep the placements of a solo search down to `ply`, and one more if its child has any, as a witness."""
    last = (territory.lengths[player, WITNESSES] + 1) % WITNESSES
    territory.lengths[player, WITNESSES] = last
    witness = territory.witnesses[player, last]
    for word in range(2 * WORDS + 1):
        witness[word] = np.uint64(0)
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


@njit(**INNER)
def solo(tables, territory, region, target, budget):
    """Lower and upper bound of the placements that a player can make in a region, without an opponent.

    Looks for `target` placements, and tries at most `budget`; if the lower bound is less than the target and the upper
    one is not, these were too few. When all sets with a certain placement were tried, it is left out of all others.
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
    # The variant's tables with the anchors that are left.
    choices = VariantTables(
        territory.anchors, tables.offsets, tables.first, tables.piece, tables.columns, tables.effects, tables.keys
    )
    scratch = territory.scratch
    root = territory.positions[0]
    for word in range(WORDS):
        root[FREE + word] = territory.cells[region, word]
        root[CORNERS + word] = territory.corners[region, word]
    root[OWNED] = territory.pieces[region]
    ply = np.int64(0)
    territory.live[ply], _ = placements(choices, root, _ONLY, territory.shapes[region], n_shapes, scratch, ply)
    territory.progress[ply, 0] = 0
    territory.progress[ply, 1] = _list_by_cost(tables, territory, ply)
    nodes = 0
    while lower < target and nodes < budget:
        index, n = territory.progress[ply, 0], territory.progress[ply, 1]
        moves = territory.moves[ply]
        if index == n:
            for done in range(n):
                _toggle(territory, moves[done])
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
        _toggle(territory, move)
        nodes += 1
        position = territory.positions[ply]
        child = territory.positions[ply + 1]
        effect = tables.effects[move]
        for word in range(WORDS):
            child[FREE + word] = position[FREE + word] & ~effect[BLOCKED + word]
            child[CORNERS + word] = position[CORNERS + word] | effect[TOUCHED + word]
        child[OWNED] = position[OWNED] & ~(_ONE << np.uint64(tables.piece[move // BOARD_CELLS]))
        live, total = placements(choices, child, _ONLY, scratch.shapes[ply], territory.live[ply], scratch, ply + 1)
        lower = max(lower, ply + 1 + (total > 0))
        if lower >= target and region < PRIVATE:
            _remember(tables, territory, region, ply, live)
        if total > 0 and ply + 1 + ceiling(child, scratch.shapes[ply + 1], live, territory.spans) >= target:
            ply += 1
            territory.live[ply] = live
            territory.progress[ply, 0] = 0
            territory.progress[ply, 1] = _list_by_cost(tables, territory, ply)
    if ply < 0:
        upper = target - 1
    else:
        for shape in range(len(tables.piece)):
            for word in range(WORDS):
                territory.anchors[shape, word] = tables.anchors[shape, word]
    territory.keys[slot] = key
    territory.results[slot, 0] = lower
    territory.results[slot, 1] = upper
    return lower, upper
