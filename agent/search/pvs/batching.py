"""Steps of `expansion.expand` that make the children of several siblings in one pass of the lanes.

With few moves, the children of one state leave most lanes empty. So a node's grandchildren are made together where they
fit into the lanes: leaves then cost a small part of a pass. (Connect four: 1.6 nodes a pass, quiescence included.)
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agent.search.pvs.workspace import BOTH, COUNT, FIRST, MAX_CHILDREN, UNKNOWN, WIDE
from games.bits.inner import step
from games.bits.short_rows import copy_row
from games.bits.words import lowest
from games.gdl.running.kernels import ALL, FIRST_WORD, NARROW, ONE, ZERO, enter_move, evaluate
from games.gdl.running.layout import FIRST_FLUENT

LANES = 64
"""Limit on grandchildren: more than one pass is wasted where the first child already refutes a move."""


@njit(inline="always")
def _lanes(first, count):
    """Returns the word of `count` lanes from `first` on."""
    return (ALL >> np.uint64(64 - count)) << np.uint64(first)


@step
def _list_children(game, row, chunk, ready):
    """Lists the moves of the siblings in the lanes `ready` of a chunk as those of row `row` + 1.

    Returns their number. If that exceeds LANES, nothing is listed.
    """
    programs, work = game.programs, game.work
    slots, legal_slot = work.slots, programs.legal_slot
    children, single, mover = work.children, work.single, work.mover
    begin = 64 * chunk
    # Where nobody has a choice, role 1's only move is listed, as in `expansion.expand`.
    chosen = ZERO
    rest = ready
    while rest != ZERO:
        lane = lowest(rest)
        rest &= rest - ONE
        children[row, begin + lane, COUNT] = 0
        if mover[row, begin + lane] != 0:
            chosen |= ONE << np.uint64(lane)
    total = np.int64(0)
    for role in range(2):
        choosing = ready & (chosen if role == 1 else ~chosen)
        for move in range(programs.role_start[role], programs.role_start[role + 1]):
            word = slots[legal_slot[move]]
            rest = word & choosing
            while rest != ZERO:
                at = begin + lowest(rest)
                rest &= rest - ONE
                children[row, at, COUNT] += 1
                total += 1
            rest = word & ready & ~choosing
            while rest != ZERO:
                single[lowest(rest)] = move
                rest &= rest - ONE
    if total > LANES:
        return total
    first = np.int64(0)
    rest = ready
    while rest != ZERO:
        at = begin + lowest(rest)
        rest &= rest - ONE
        children[row, at, FIRST] = first
        first += children[row, at, COUNT]
        children[row, at, COUNT] = 0
    for role in range(2):
        choosing = ready & (chosen if role == 1 else ~chosen)
        for move in range(programs.role_start[role], programs.role_start[role + 1]):
            rest = slots[legal_slot[move]] & choosing
            while rest != ZERO:
                at = begin + lowest(rest)
                rest &= rest - ONE
                work.move[row + 1, children[row, at, FIRST] + children[row, at, COUNT]] = move
                children[row, at, COUNT] += 1
    return total


@step
def load_siblings(game, row, first, count, evaluated):
    """Lists the children of `count` children of row `row` from `first` on (int64 each), to be made in the next row.

    Returns their number, 0 where they do not fit, and the word of siblings that have some: not terminal, with one role
    that chooses. The slots and `node` then hold the parent of each. `game` is a `PvsGame`, `evaluated` is whether the
    slots hold the legal program for these `count` children.
    """
    work = game.work
    slots, node, children = work.slots, work.node, work.children
    chunk = first >> 6
    begin = 64 * chunk
    ready = ZERO
    for child in range(first, first + count):
        children[row, child, COUNT] = 0
        if work.result[row, child] == UNKNOWN and work.mover[row, child] != BOTH:
            ready |= ONE << np.uint64(child - begin)
    total = np.int64(0)
    if ready != ZERO:
        if evaluated == 0:
            for f in range(len(node)):
                slots[FIRST_FLUENT + f] = work.state[row, chunk, f]
            evaluate(game.programs.legal, slots, NARROW)
        total = _list_children(game, row, chunk, ready)
    if total > LANES:
        total = np.int64(0)
    if total > 0:
        for f in range(len(node)):
            word = ZERO
            rest = work.state[row, chunk, f] & ready
            if rest == ready:
                word = ALL
            else:
                while rest != ZERO:
                    at = begin + lowest(rest)
                    rest &= rest - ONE
                    word |= _lanes(children[row, at, FIRST], children[row, at, COUNT])
            node[f] = word
            slots[FIRST_FLUENT + f] = word
    return total, ready


@step
def enter_children(game, row, first, ready):
    """Enters the moves to the children of the siblings `ready` into the slots, and copies the parents' values to
    them."""
    programs, work = game.programs, game.work
    children = work.children
    wide = game.settings[WIDE] != 0
    begin = 64 * (first >> 6)
    rest = ready
    while rest != ZERO:
        lane = lowest(rest)
        rest &= rest - ONE
        at = begin + lane
        begin_of, size = np.int64(children[row, at, FIRST]), np.int64(children[row, at, COUNT])
        move, lanes = np.int64(work.single[lane]), _lanes(begin_of, size)
        for child in range(begin_of - 1, begin_of + size):
            if child >= begin_of:
                work.key[row + 1, child] = work.key[row, at]
                copy_row(work.sums, (row + 1) * MAX_CHILDREN + child, work.sums, row * MAX_CHILDREN + at, wide)
                move, lanes = np.int64(work.move[row + 1, child]), ONE << np.uint64(child)
            # First the only move of the role without a choice, for all of them.
            enter_move(programs.set_start, programs.set_slot, work.slots, NARROW, FIRST_WORD, move, lanes)
