"""Matches of shallow searches against one another, to learn from and to compare evaluations.

In all kernels `first` and `second` are `PvsGame`s of one game, for role 0 and role 1, with workspaces of their own or a
common one.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agent.search.alphabeta.table import probe
from agent.search.evaluation.network import WIN
from agent.search.pvs.expansion import place_root
from agent.search.pvs.search import search
from agent.search.pvs.table import child_of, side_key
from agent.search.pvs.workspace import ROOT, ROOT_CHILDREN, SIDE, UNKNOWN
from games.bits.compiling import KERNEL
from games.bits.inner import inner_kernel
from games.bits.splitmix import random32
from games.gdl.running.kernels import ONE, ZERO

NO_RESULT = 1 << 21
"""Result of a match that did not end."""


@inner_kernel()
def _play_move(game, state, count, depth, random, rng, value, stop):
    """Replaces a packed state (uint64[words]), placed with `count` children, by the next one; returns its result.

    The move is the best one by a search to `depth`, whose score for role 0 goes into `value` (int64[1]), or a random
    one with a chance of `random` / 65536.
    """
    work = game.work
    child = np.int64(0)
    if count > 1:
        if np.int64(random32(rng) >> np.uint64(16)) < random:
            child = np.int64((random32(rng) * np.uint64(count)) >> np.uint64(32))
        else:
            side = np.int64(work.mover[ROOT, 0])
            game.settings[SIDE] = side
            score = search(game, np.int64(ROOT), np.int64(0), np.int64(-WIN), np.int64(WIN), depth, stop)
            child = child_of(probe(game.table, side_key(work.key[ROOT, 0], side)))
            value[0] = -score if side == 1 else score
            if child >= count:
                child = np.int64(0)
    for word in range(len(state)):
        state[word] = ZERO
    chunk, bit = child >> 6, np.uint64(child & 63)
    for f in range(len(work.node)):
        state[f >> 6] |= ((work.state[ROOT_CHILDREN, chunk, f] >> bit) & ONE) << np.uint64(f & 63)
    return np.int64(work.result[ROOT_CHILDREN, child])


@njit(**KERNEL)
def play_match(first, second, state, depth, opening, random, rng, states, movers, values, stop):
    """Plays from a packed state (uint64[words], overwritten) to the end, with `opening` random plies first.

    Both sides search to `depth` plies and play a random move with a chance of `random` / 65536. Returns the number of
    positions after the opening, and the result as in `PvsWorkspace.result`: NO_RESULT if the match was stopped or did
    not end within `opening + most` plies. Writes the positions to `states` (uint64[most, words]), who chooses there to
    `movers` (int8[most]), and their scores for role 0 to `values` (int64[most], NO_RESULT where nothing was searched).
    `rng` is uint64[1].
    """
    n = 0
    for ply in range(opening + len(states)):
        if stop[0] != 0:
            break
        if ply >= opening:
            for word in range(len(state)):
                states[n, word] = state[word]
            n += 1
        count = place_root(first, state)
        if count == 0:
            break
        chance = np.int64(65536) if ply < opening else random
        at = max(0, n - 1)
        movers[at] = first.work.mover[ROOT, 0]
        values[at] = NO_RESULT
        value = values[at : at + 1]
        if first.work.mover[ROOT, 0] == 1:
            place_root(second, state)
            result = _play_move(second, state, count, depth, chance, rng, value, stop)
        else:
            result = _play_move(first, state, count, depth, chance, rng, value, stop)
        if result != UNKNOWN:
            return n, result
    return n, np.int64(NO_RESULT)
