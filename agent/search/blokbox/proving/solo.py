"""The solo search: the largest set of placements that a player can make in a region without an opponent.

Most questions need no search: a table of earlier results answers them, or a *witness*, a set of placements from another
position that can still be made.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agent.search.blokbox.proving import regions
from agent.search.blokbox.proving.regions import ceiling
from games.bits.board16x16 import WORDS
from games.bits.compiling import INNER
from games.bits.words import popcount
from games.native.blokbox.rules import list_moves, placements, select
from games.native.blokbox.variant import BLOCKED, BOARD_CELLS, CORNERS, COVERED, FREE, OWNED, TOUCHED, VariantTables

_ONE = np.uint64(1)
_ONLY = np.int64(0)
"""The player of a solo search. A NumPy integer: Numba compiles callees anew for a literal."""


@njit(inline="always")
def _mix(key, word):
    """One step of a hash of 64-bit words: the multiplications of SplitMix64's finaliser."""
    key = (key ^ word) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(32))


@njit(inline="always")
def _region_key(row):
    """A hash of a region, uint64[REGION_WORDS]."""
    key = _mix(np.uint64(0x9E3779B97F4A7C15), row[regions.PIECES])
    for word in range(WORDS):
        key = _mix(key, row[regions.CELLS + word])
        key = _mix(key, row[regions.CORNERS + word])
    return key


@njit(**INNER)
def _list_by_cost(effects, scratch, position, ply, moves, costs):
    """List the moves of a ply (int64) and the free cells that they spend; begin with the first.

    `effects` are the variant's (uint64[moves, EFFECT_WORDS]), `scratch` is a PlacementWorkspace, `position`
    uint64[PLY_WORDS], `moves` and `costs` are int64[moves].
    """
    n = list_moves(scratch, ply, np.int64(position[regions.LIVE]), moves)
    for index in range(n):
        cost = 0
        for word in range(WORDS):
            cost += popcount(effects[moves[index], BLOCKED + word] & position[FREE + word])
        costs[index] = cost
    position[regions.NEXT], position[regions.COUNT] = np.uint64(0), np.uint64(n)


@njit(inline="always")
def _toggle(anchors, move):
    """Remove a move (int64) from the choices, `anchors` (uint64[shapes, 4]), or put it back."""
    cell = move & (BOARD_CELLS - 1)
    anchors[move // BOARD_CELLS, cell >> 6] ^= _ONE << np.uint64(cell & 63)


@njit(**INNER)
def witnessed(territory, player, length):
    """Whether `player` alone can still make a witness of at least `length` placements (both int64).

    `territory` is a TerritoryWorkspace.
    """
    row, witnesses = territory.regions[player], territory.witnesses[player]
    for index in range(regions.WITNESSES):
        witness = witnesses[index]
        if np.int64(witness[regions.SIZE]) < length:
            continue
        missing = np.uint64(0)
        for word in range(regions.SIZE):
            missing |= witness[word] & ~row[word]
        if missing == 0:
            return True
    return False


@njit(inline="always")
def _remember(tables, territory, player, ply, live):
    """Keep the placements of a solo search down to `ply`, and one of its child if it has any, as a witness."""
    row, plies, moves, scratch = territory.regions[player], territory.plies, territory.moves, territory.scratch
    row[regions.LATEST] = (row[regions.LATEST] + _ONE) & np.uint64(regions.WITNESSES - 1)
    witness = territory.witnesses[player, np.int64(row[regions.LATEST])]
    for word in range(regions.REGION_WORDS):
        witness[word] = np.uint64(0)
    length = 0
    for level in range(ply + 2):
        move = -1
        if level <= ply:
            move = moves[0, level, np.int64(plies[level, regions.NEXT]) - 1]
        else:
            for index in range(live):
                if scratch.counts[level, index] > 0:
                    move = BOARD_CELLS * scratch.shapes[level, index] + select(scratch.legal[level, index], np.int64(0))
                    break
        if move >= 0:
            length += 1
            for word in range(WORDS):
                witness[regions.CELLS + word] |= tables.effects[move, COVERED + word]
            witness[regions.PIECES] |= _ONE << np.uint64(tables.piece[move // BOARD_CELLS])
    for word in range(WORDS):
        witness[regions.CORNERS + word] = witness[regions.CELLS + word] & row[regions.CORNERS + word]
    witness[regions.SIZE] = np.uint64(length)


@njit(**INNER)
def solo(tables, territory, region, target, budget):
    """Lower and upper bounds of the placements that a player alone can make in a region.

    Looks for `target` placements and tries at most `budget`; the target lies between the bounds if the budget was too
    small. A placement whose sets were all tried is left out of all others.
    """
    row, plies, anchors, spans = territory.regions[region], territory.plies, territory.anchors, territory.spans
    upper = popcount(row[regions.PIECES])
    if upper <= 1:
        return upper, upper
    if upper < target:
        return 1, upper
    key = _region_key(row)
    entry = territory.table[np.int64(key & np.uint64(len(territory.table) - 1))]
    lower = 0
    if entry[0] == key:
        lower = np.int64(entry[1] & np.uint64(0xFF))
        upper = np.int64(entry[1] >> np.uint64(8))
        if lower >= target or upper < target:
            return lower, upper
    # The variant's tables with the remaining anchors.
    effects, piece = tables.effects, tables.piece
    choices = VariantTables(anchors, tables.offsets, tables.first, piece, tables.columns, effects, tables.keys)
    scratch, all_moves, all_costs = territory.scratch, territory.moves[0], territory.moves[1]
    root = plies[0]
    for word in range(WORDS):
        root[FREE + word] = row[regions.CELLS + word]
        root[CORNERS + word] = row[regions.CORNERS + word]
    root[OWNED] = row[regions.PIECES]
    ply = np.int64(0)
    live, total = placements(choices, root, _ONLY, territory.shapes[region], np.int64(row[regions.SIZE]), scratch, ply)
    root[regions.LIVE] = np.uint64(live)
    _list_by_cost(effects, scratch, root, ply, all_moves[ply], all_costs[ply])
    nodes = 0
    while lower < target and nodes < budget:
        position, moves = plies[ply], all_moves[ply]
        index, n = np.int64(position[regions.NEXT]), np.int64(position[regions.COUNT])
        if index == n:
            for done in range(n):
                _toggle(anchors, moves[done])
            ply -= 1
            if ply < 0:
                break
            continue
        costs = all_costs[ply]
        best = index
        for other in range(index + 1, n):
            if costs[other] < costs[best]:
                best = other
        move = moves[best]
        moves[best], costs[best] = moves[index], costs[index]
        moves[index] = move
        position[regions.NEXT] = np.uint64(index + 1)
        _toggle(anchors, move)
        nodes += 1
        child = plies[ply + 1]
        effect = effects[move]
        for word in range(WORDS):
            child[FREE + word] = position[FREE + word] & ~effect[BLOCKED + word]
            child[CORNERS + word] = position[CORNERS + word] | effect[TOUCHED + word]
        child[OWNED] = position[OWNED] & ~(_ONE << np.uint64(piece[move // BOARD_CELLS]))
        live, total = placements(
            choices, child, _ONLY, scratch.shapes[ply], np.int64(position[regions.LIVE]), scratch, ply + 1
        )
        lower = max(lower, ply + 1 + (total > 0))
        if lower >= target and region < regions.PRIVATE:
            _remember(tables, territory, region, ply, live)
        if total > 0 and ply + 1 + ceiling(child, scratch.shapes[ply + 1], live, spans) >= target:
            ply += 1
            child[regions.LIVE] = np.uint64(live)
            _list_by_cost(effects, scratch, child, ply, all_moves[ply], all_costs[ply])
    if ply < 0:
        upper = target - 1
    else:
        for shape in range(len(piece)):
            for word in range(WORDS):
                anchors[shape, word] = tables.anchors[shape, word]
    entry[0], entry[1] = key, np.uint64(lower | upper << 8)
    return lower, upper
