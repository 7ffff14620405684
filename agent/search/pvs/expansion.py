"""Makes all children of a state in one pass of the lanes, with their keys, evaluations, results and movers.

In all kernels `game` is a `PvsGame`. A pass makes 64 children: it evaluates the circuit's legal program for the state,
enters a move per lane, evaluates the next state, and the legal program again for the children, which gives terminal
states and movers. Keys and evaluations are updated by the facts that change (as in chess programs). `batching` makes
the children of several states in one pass.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agent.search.evaluation.network import MOST, MOVERS, WIN
from agent.search.pvs.batching import enter_children, load_siblings
from agent.search.pvs.workspace import (
    BOTH,
    COUNT,
    EXPANSIONS,
    FIRST,
    MAX_CHILDREN,
    NOBODY,
    PAIRED,
    REFUSED,
    ROOT,
    ROOT_CHILDREN,
    UNKNOWN,
    WIDE,
)
from games.bits.compiling import KERNEL
from games.bits.inner import inner_kernel, step
from games.bits.short_rows import add_row, copy_row, subtract_row, unit_output
from games.bits.words import lowest
from games.gdl.running.goals import read_goals
from games.gdl.running.kernels import ALL, FIRST_WORD, NARROW, ONE, ZERO, clear_sets, enter_move, evaluate
from games.gdl.running.layout import FIRST_FLUENT

_FLUENTS = np.uint64(FIRST_FLUENT)


@step
def _load(game, row, child):
    """Loads a child's state into all lanes."""
    work = game.work
    chunk, bit = child >> 6, np.uint64(child & 63)
    slots, node = work.slots, work.node
    for f in range(len(node)):
        word = ZERO - ((work.state[row, chunk, f] >> bit) & ONE)
        node[f] = word
        slots[FIRST_FLUENT + f] = word


@step
def _list_moves(game, into):
    """Lists the moves of the role that chooses in row `into`; returns their number, and the other role's only move.

    The number is 0 where a state cannot be expanded.
    """
    programs, work = game.programs, game.work
    slots, legal_slot = work.slots, programs.legal_slot
    single = np.int64(-1)
    chooser = np.int64(-1)
    count = np.int64(0)
    for role in range(2):
        first = np.int64(-1)
        n = np.int64(0)
        for move in range(programs.role_start[role], programs.role_start[role + 1]):
            if slots[legal_slot[move]] & ONE != ZERO:
                if n == 0:
                    first = move
                else:
                    if n == 1:
                        if chooser >= 0 or count > 1:
                            return np.int64(0), single
                        chooser = np.int64(role)
                        work.move[into, 0] = first
                    if n >= MAX_CHILDREN:
                        return np.int64(0), single
                    work.move[into, n] = move
                n += 1
        if n == 0:
            return np.int64(0), single
        if n > 1:
            count = n
        elif role == 0 or chooser == 0:
            single = first
        else:
            # Nobody has a choice: role 0's only move stays `single`, role 1's is listed.
            work.move[into, 0] = first
            count = np.int64(1)
            chooser = np.int64(1)
    return count, single


@step
def _follow_changes(game, into, chunk, mask):
    """Updates keys and evaluations of a chunk's children, which start with their parents' values; loads the slots."""
    work = game.work
    slots, node, state = work.slots, work.node, work.state
    weights, zobrist, sums = game.weights, game.zobrist, work.sums
    wide = game.settings[WIDE] != 0
    begin = 64 * chunk
    place = into * MAX_CHILDREN + begin
    for f in range(len(node)):
        word = state[into, chunk, f]
        slots[FIRST_FLUENT + f] = word
        changed = (word ^ node[f]) & mask
        if changed == ZERO:
            continue
        number = zobrist[f]
        while changed != ZERO:
            lane = lowest(changed)
            changed &= changed - ONE
            work.key[into, begin + lane] ^= number
            if (word >> np.uint64(lane)) & ONE != ZERO:
                add_row(sums, place + lane, weights, f, wide)
            else:
                subtract_row(sums, place + lane, weights, f, wide)


@inner_kernel()
def _follow_pairs(pairs, weights, node, state, sums, into, chunk, mask, wide):
    """Adds the pairs of facts to the sums of a chunk's children.

    `pairs` and `weights` are the game's; the next three are parts of a `PvsWorkspace`.
    """
    place = into * MAX_CHILDREN + 64 * chunk
    for f in range(len(node)):
        start, end = np.int64(pairs.first[f]), np.int64(pairs.first[f + 1])
        if start == end:
            continue
        now, before = state[into, chunk, f], node[f]
        changed = (now ^ before) & mask
        if changed == ZERO:
            continue
        for i in range(start, end):
            g = np.int64(pairs.other[i])
            other_now, other_before = state[into, chunk, g], node[g]
            lanes = changed
            if g < f:
                # Counted with that fact.
                lanes &= ~(other_now ^ other_before)
            gained = now & other_now & ~(before & other_before) & lanes
            lost = before & other_before & ~(now & other_now) & lanes
            weight = np.int64(pairs.row[i])
            while gained != ZERO:
                add_row(sums, place + lowest(gained), weights, weight, wide)
                gained &= gained - ONE
            while lost != ZERO:
                subtract_row(sums, place + lowest(lost), weights, weight, wide)
                lost &= lost - ONE


@inner_kernel()
def _add_conjunctions(conjunctions, weights, slots, whole, sums, place, mask, wide):
    """Sets `whole` to the sums with conjunctions of the children in lanes `mask` (a word), with states in the slots.

    `conjunctions` and `weights` are the game's; the next three are parts of a `PvsWorkspace`. Row `place` of `sums` is
    lane 0.
    """
    first, fact, far, near = conjunctions.first, conjunctions.fact, conjunctions.far, conjunctions.near
    threat = conjunctions.threat
    blocked_first, blocker = conjunctions.blocked_first, conjunctions.blocker
    rest = mask
    while rest != ZERO:
        lane = lowest(rest)
        rest &= rest - ONE
        copy_row(whole, lane, sums, place + lane, wide)
    # Unsigned indices need no test for counting from the end.
    for c in range(np.uint64(len(far))):
        free = mask
        for i in range(np.uint64(blocked_first[c]), np.uint64(blocked_first[c + ONE])):
            free &= ~slots[np.uint64(blocker[i]) + _FLUENTS]
        if free == ZERO:
            continue
        # Lanes that lack at least one, two, three of its facts.
        one, two, three = ZERO, ZERO, ZERO
        for i in range(np.uint64(first[c]), np.uint64(first[c + ONE])):
            absent = ~slots[np.uint64(fact[i]) + _FLUENTS]
            three |= two & absent
            two |= one & absent
            one |= absent
        found = free & one & ~three
        if found == ZERO:
            continue
        weight = np.int64(far[c])
        rest = found & two
        while rest != ZERO:
            add_row(whole, lowest(rest), weights, weight, wide)
            rest &= rest - ONE
        lone = found & ~two
        weight = np.int64(near[c])
        rest = lone
        while rest != ZERO:
            add_row(whole, lowest(rest), weights, weight, wide)
            rest &= rest - ONE
        if lone == ZERO or len(threat) == 0:
            continue
        for i in range(np.uint64(first[c]), np.uint64(first[c + ONE])):
            rest = lone & ~slots[np.uint64(fact[i]) + _FLUENTS]
            weight = np.int64(threat[i])
            while rest != ZERO:
                add_row(whole, lowest(rest), weights, weight, wide)
                rest &= rest - ONE


@step
def _set_evaluations(game, into, chunk, mask):
    """Sets the evaluations of a chunk's children after `_follow_changes` and `_note_movers`."""
    work = game.work
    sums, whole, outputs = work.sums, work.whole, game.outputs
    wide = game.settings[WIDE] != 0
    place = into * MAX_CHILDREN + 64 * chunk
    if game.settings[PAIRED] != 0:
        _follow_pairs(game.pairs, game.weights, work.node, work.state, sums, into, chunk, mask, wide)
    _add_conjunctions(game.conjunctions, game.weights, work.slots, whole, sums, place, mask, wide)
    while mask != ZERO:
        lane = lowest(mask)
        mask &= mask - ONE
        at = 64 * chunk + lane
        mover = min(np.int64(work.mover[into, at]), np.int64(NOBODY))
        work.evaluation[into, at] = unit_output(whole, lane, outputs, mover, wide)


@step
def _set_results(game, into, chunk, over):
    """Sets the results of the children in `over` (a word)."""
    programs, work = game.programs, game.work
    goal_slots, goals = work.goal_slots, work.goals
    for f in range(len(work.node)):
        goal_slots[FIRST_FLUENT + f] = work.slots[FIRST_FLUENT + f]
    goal_slot, goal_role, goal_value = programs.goal_slot, programs.goal_role, programs.goal_value
    evaluate(programs.goal, goal_slots, NARROW)
    while over != ZERO:
        lane = lowest(over)
        over &= over - ONE
        read_goals(goal_slot, goal_role, goal_value, goal_slots, lane, goals)
        if goals[0] >= game.best_goal[0] and goals[0] > goals[1]:
            score = WIN
        elif goals[1] >= game.best_goal[1] and goals[1] > goals[0]:
            score = -WIN
        else:
            score = np.int64((goals[0] - goals[1]) * (MOST / 100.0))
        work.result[into, 64 * chunk + lane] = score


@step
def _note_movers(game, into, chunk, mask):
    """Sets the movers of a chunk's children; returns the lanes in which a role has no move."""
    programs, work = game.programs, game.work
    slots, legal_slot = work.slots, programs.legal_slot
    stuck = ZERO
    several = ZERO
    other = ZERO
    for role in range(2):
        once = ZERO
        twice = ZERO
        for move in range(programs.role_start[role], programs.role_start[role + 1]):
            word = slots[legal_slot[move]]
            twice |= once & word
            once |= word
        stuck |= mask & ~once
        several, other = other, twice
    for lane in range(64):
        if mask >> np.uint64(lane) & ONE != ZERO:
            first = (several >> np.uint64(lane)) & ONE != ZERO
            second = (other >> np.uint64(lane)) & ONE != ZERO
            who = NOBODY
            if first:
                who = BOTH if second else 0
            elif second:
                who = 1
            work.mover[into, 64 * chunk + lane] = who
    return stuck


@step
def _enter_moves(game, row, child, into, begin, n, single):
    """Enters the moves to `n` children from `begin` on into the slots, and copies the parent's values to them."""
    programs, work = game.programs, game.work
    wide = game.settings[WIDE] != 0
    move, lanes = single, ALL >> np.uint64(64 - n)
    for lane in range(-1, n):
        if lane >= 0:
            work.key[into, begin + lane] = work.key[row, child]
            copy_row(work.sums, into * MAX_CHILDREN + begin + lane, work.sums, row * MAX_CHILDREN + child, wide)
            move, lanes = np.int64(work.move[into, begin + lane]), ONE << np.uint64(lane)
        # First the only move of the role without a choice, for all of them.
        enter_move(programs.set_start, programs.set_slot, work.slots, NARROW, FIRST_WORD, move, lanes)


@inner_kernel()
def expand(game, row, child, siblings, into, evaluated):
    """Makes the children of a child of row `row` in row `into`; returns their number, 0 where that cannot be done.

    If `siblings` (int64) is not 0, makes the children of that many children of row `row` from `child` on, provided that
    they fit into one pass: `into` must be the next row, and `PvsWorkspace.batch` and `children` describe the result.
    `evaluated` (int64) is whether the slots hold the legal program for these siblings.
    """
    programs, work = game.programs, game.work
    slots = work.slots
    begin = np.int64(0)
    count = np.int64(1)
    single = np.int64(0)
    ready = ZERO
    if siblings == 0:
        # The former states of the row, and with them their children, are overwritten.
        work.batch[into, COUNT] = 0
        work.batch[into - 1, COUNT] = 0
    while begin < count:
        if siblings != 0:
            count, ready = load_siblings(game, row, child, siblings, evaluated)
            if count == 0:
                break
        else:
            _load(game, row, child)
        evaluate(programs.legal, slots, NARROW)
        if siblings == 0 and begin == 0:
            work.counts[EXPANSIONS] += 1
            count, single = _list_moves(game, into)
            if count == 0:
                work.counts[REFUSED] += 1
                break
        chunk = begin >> 6
        n = min(np.int64(64), count - begin)
        mask = ALL >> np.uint64(64 - n)
        clear_sets(programs.first_set, programs.n_sets, slots, NARROW)
        if siblings != 0:
            enter_children(game, row, child, ready)
        else:
            _enter_moves(game, row, child, into, begin, n, single)
        evaluate(programs.next, slots, NARROW)
        next_slot, state = programs.next_slot, work.state
        for f in range(len(next_slot)):
            state[into, chunk, f] = slots[next_slot[f]]
        _follow_changes(game, into, chunk, mask)
        evaluate(programs.legal, slots, NARROW)
        over = slots[programs.terminal_slot] & mask
        for lane in range(n):
            work.result[into, begin + lane] = UNKNOWN
        over |= _note_movers(game, into, chunk, mask)
        _set_evaluations(game, into, chunk, mask)
        if over != ZERO:
            _set_results(game, into, chunk, over)
        begin += 64
    if siblings != 0 and count > 0:
        work.batch[into, COUNT] = 0
        work.batch[row, FIRST] = child
        work.batch[row, COUNT] = siblings
    return count


@njit(**KERNEL)
def place_root(game, state):
    """Makes a packed state (uint64[words]) child 0 of row `ROOT`, and its children row `ROOT_CHILDREN`.

    Returns their number, 0 where the state cannot be searched.
    """
    programs, work = game.programs, game.work
    key = ZERO
    place = np.int64(ROOT * MAX_CHILDREN)
    wide = game.settings[WIDE] != 0
    copy_row(work.sums, place, game.outputs, np.int64(MOVERS), wide)
    for f in range(len(work.node)):
        bit = (state[f >> 6] >> np.uint64(f & 63)) & ONE
        work.state[ROOT, 0, f] = bit
        # As if all facts had come true just now.
        work.node[f] = ZERO
        if bit != ZERO:
            key ^= game.zobrist[f]
            add_row(work.sums, place, game.weights, f, wide)
        work.slots[FIRST_FLUENT + f] = bit
    work.key[ROOT, 0] = key
    evaluate(programs.legal, work.slots, NARROW)
    _note_movers(game, np.int64(ROOT), np.int64(0), ONE)
    _set_evaluations(game, np.int64(ROOT), np.int64(0), ONE)
    work.result[ROOT, 0] = UNKNOWN
    work.mover[ROOT, 0] = NOBODY
    count = expand(game, np.int64(ROOT), np.int64(0), np.int64(0), np.int64(ROOT_CHILDREN), np.int64(0))
    if count > 1:
        work.mover[ROOT, 0] = 0 if work.move[ROOT_CHILDREN, 0] < game.programs.role_start[1] else 1
    return count
