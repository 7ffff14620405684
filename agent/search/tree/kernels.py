"""Monte-Carlo tree search on a stream of lanes (Numba).

Each of 64 lanes descends the tree on its own, takes over the state it arrives at, makes the chosen move there, and
plays on at random; the new state becomes a node on the way. Goals come back when the lane's match is over, whatever
the others do: no batch waits for its slowest lane. UCT (Kocsis & Szepesvari 2006) per role (decoupled where roles move
at once: Shafiei et al. 2009), virtual loss (Chaslot et al. 2008), all-moves-as-first values (RAVE, Gelly & Silver
2007), proven values (MCTS-Solver, Winands et al. 2008, for any number of roles), transpositions.

Where a judge of positions has been learnt (`judge`), a lane's match ends a few plies after it has left the tree, with
what the judge makes of the state.

Several threads may search one tree, each with its own `Lanes`: what touches the tree is under a spin lock, the circuit
is not.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agent.search.tree.backup import back_up, collect, judge_lanes
from agent.search.tree.descent import LEAF, descend
from agent.search.tree.lanes import ACTIVE, FORCED, FRESH, HELD, MAX_PLIES, WIDTH, clear_lanes
from agent.search.tree.lock import lock
from agent.search.tree.store import (
    GOAL,
    LOCK,
    N_EDGES,
    N_NODES,
    OPEN,
    ROOT,
    STATUS,
    TERMINAL,
    VISITS,
    add_node,
    get_child,
    set_child,
)
from games.bits.locks import unlock
from games.bits.words import lowest, popcount, transpose
from games.gdl.running.kernels import (
    ALL,
    ONE,
    ZERO,
    advance,
    clear_sets,
    enter_move,
    evaluate,
    load_state,
    store_state,
)
from games.gdl.running.layout import FIRST_FLUENT
from games.gdl.running.playouts import choose_random


@njit(cache=True, nogil=True, inline="always")
def _load_lanes(tree, lanes, which, n_fluents):
    """Puts the states at the ends of these lanes' paths into their slots, 64 fluents at a time (bit transposition)."""
    block = np.empty(64, np.uint64)
    for word in range(tree.state.shape[1]):
        block[:] = ZERO
        rest = which
        while rest != ZERO:
            lane = lowest(rest)
            rest &= rest - ONE
            side = lanes.side[lane]
            last = lanes.depth[side, lane]
            if lanes.mask[FORCED] >> np.uint64(lane) & ONE:
                last -= 1
            block[lane] = tree.state[lanes.node[side, lane, last], word]
        transpose(block)
        for f in range(64 * word, min(64 * word + 64, n_fluents)):
            at = FIRST_FLUENT + f
            lanes.slots[at] = (lanes.slots[at] & ~which) | block[f - 64 * word]


@njit(cache=True, nogil=True, inline="always")
def _restart(programs, tree, lanes, parameters, goals, n_fluents):
    """Sends every idle lane down the tree again; returns how many descents ended in proven nodes, done with at once."""
    idle = ~lanes.mask[ACTIVE]
    started = ZERO
    exact = 0
    filled = max(tree.counts[N_NODES] / len(tree.node), tree.counts[N_EDGES] / len(tree.edge))
    threshold = 1
    if filled > 0.125:
        threshold = 4 if filled < 0.25 else (16 if filled < 0.5 else (64 if filled < 0.75 else 256))
    lock(tree)
    rest = idle
    while rest != ZERO and tree.node[tree.counts[ROOT], STATUS] == OPEN:
        lane = lowest(rest)
        bit = ONE << np.uint64(lane)
        rest &= ~bit
        for _ in range(4):
            if tree.node[tree.counts[ROOT], STATUS] != OPEN:
                break
            if descend(programs, tree, lanes, lane, parameters, threshold) == LEAF:
                started |= bit
                break
            side = lanes.side[lane]
            node = lanes.node[side, lane, lanes.depth[side, lane]]
            for role in range(len(goals)):
                goals[role] = tree.value[node, GOAL + 4 * role]
            back_up(tree, lanes, lane, side, goals, ZERO, lanes.played, parameters)
            exact += 1
            for i in range(len(lanes.played)):
                lanes.played[i] &= ~bit
    unlock(tree.counts, LOCK)
    if started != ZERO:
        _load_lanes(tree, lanes, started, n_fluents)
        lanes.mask[ACTIVE] |= started
        rest = started
        while rest != ZERO:
            lanes.plies[lowest(rest)] = 0
            rest &= rest - ONE
    return exact


@njit(cache=True, nogil=True, inline="always")
def _grow_tree(programs, tree, lanes, over, state):
    """Makes nodes of the states that fresh lanes have reached by their first move out of the tree."""
    rest = lanes.mask[FRESH]
    lanes.mask[FRESH] = ZERO
    locked = False
    while rest != ZERO:
        lane = lowest(rest)
        bit = ONE << np.uint64(lane)
        rest &= ~bit
        if not lanes.grow[lane]:
            continue
        if not locked:
            lock(tree)
            locked = True
        side = lanes.side[lane]
        last = lanes.depth[side, lane] - 1
        parent = lanes.node[side, lane, last]
        edges = lanes.edge[side, lane, last]
        child = get_child(tree, parent, edges)
        if child < 0:
            store_state(programs, lanes.slots, WIDTH, lane, state)
            child = add_node(programs, tree, state, lanes.slots, lane, over & bit != ZERO)
            if child >= 0:
                set_child(tree, parent, edges, child)
        if child >= 0 and tree.node[child, STATUS] == TERMINAL:
            lanes.leaf[side, lane] = child
    if locked:
        unlock(tree.counts, LOCK)


@njit(cache=True, nogil=True, inline="always")
def _enter_moves(programs, tree, lanes, over):
    """Enters the moves of all active lanes that are not over: from the tree where there is one, random ones elsewhere.

    Returns the lanes in which some role has no legal move.
    """
    roles = len(programs.role_start) - 1
    clear_sets(programs, lanes.slots, WIDTH)
    forced = lanes.mask[FORCED] & lanes.mask[ACTIVE]
    rest = forced
    while rest != ZERO:
        lane = lowest(rest)
        bit = ONE << np.uint64(lane)
        rest &= ~bit
        side = lanes.side[lane]
        for role in range(roles):
            enter_move(
                programs,
                lanes.slots,
                WIDTH,
                0,
                tree.edge[lanes.edge[side, lane, lanes.depth[side, lane] - 1, role]].move,
                bit,
            )
    playing = lanes.mask[ACTIVE] & ~over & ~forced
    stuck = ZERO
    workspace = lanes.workspace
    if playing != ZERO:
        for role in range(roles):
            n, dead = choose_random(programs, lanes.slots, WIDTH, 0, role, playing, lanes.rng, workspace)
            stuck |= dead
            for i in range(n):
                chosen = workspace.chosen[i]
                if chosen != ZERO:
                    enter_move(programs, lanes.slots, WIDTH, 0, workspace.move[i], chosen)
                    lanes.played[workspace.move[i]] |= chosen
                    if lanes.trail.shape[2] > 0:
                        while chosen != ZERO:
                            lane = lowest(chosen)
                            chosen &= chosen - ONE
                            side = lanes.side[lane]
                            n_trail = lanes.trail_size[side, lane]
                            if n_trail < lanes.trail.shape[2]:
                                lanes.trail[side, lane, n_trail] = workspace.move[i]
                                lanes.trail_size[side, lane] = n_trail + 1
    lanes.mask[FORCED] &= ~forced
    lanes.mask[FRESH] = forced
    return stuck


@njit(cache=True, nogil=True, inline="always")
def _hold(programs, tree, lanes, over, parameters, goals, n_fluents):
    """Puts finished matches aside until their goals are evaluated; their lanes are idle afterwards."""
    if over & lanes.mask[HELD] != ZERO:
        collect(programs, tree, lanes, parameters, goals)
    for f in range(FIRST_FLUENT, FIRST_FLUENT + n_fluents):
        lanes.goal_slots[f] = (lanes.goal_slots[f] & ~over) | (lanes.slots[f] & over)
    for move in range(len(lanes.played)):
        lanes.held_played[move] = (lanes.held_played[move] & ~over) | (lanes.played[move] & over)
        lanes.played[move] &= ~over
    rest = over
    while rest != ZERO:
        lane = lowest(rest)
        rest &= rest - ONE
        lanes.side[lane] = 1 - lanes.side[lane]
        lanes.work[0] += 1.0
    lanes.mask[HELD] |= over
    lanes.mask[ACTIVE] &= ~over


@njit(cache=True, nogil=True)
def search(programs, tree, lanes, parameters, stop, playouts):
    """Searches until `stop[0]` is not 0, the root is proven, or these lanes have finished about so many more playouts.

    Matches under way stay in the lanes for the next call. Returns the number of playouts finished.
    """
    n_fluents = len(programs.next_slot)
    state = np.zeros(tree.state.shape[1], np.uint64)
    goals = np.zeros(len(programs.role_start) - 1, np.float64)
    sums = np.zeros((64, len(goals)), np.float64)
    horizon = parameters.horizon[0]
    if horizon < 0:
        lanes.since[:] = ZERO
    keep = np.full(1, ALL)
    done = 0
    ply = 0
    step_work = len(programs.legal.inputs) + len(programs.next.inputs) + 500
    while stop[0] == 0 and done < playouts and tree.node[tree.counts[ROOT], STATUS] == OPEN:
        if popcount(lanes.mask[ACTIVE]) <= 60:
            done += _restart(programs, tree, lanes, parameters, goals, n_fluents)
            if lanes.mask[ACTIVE] == ZERO:
                if lanes.mask[HELD] != ZERO:
                    done += popcount(lanes.mask[HELD])
                    collect(programs, tree, lanes, parameters, goals)
                continue
        evaluate(programs.legal, lanes.slots, WIDTH)
        over = lanes.slots[programs.terminal_slot] & lanes.mask[ACTIVE]
        lanes.since[0] = lanes.mask[FRESH]
        if lanes.mask[FRESH] != ZERO:
            _grow_tree(programs, tree, lanes, over, state)
        over &= ~lanes.mask[FORCED]
        if horizon >= 0:
            due = lanes.since[horizon] & lanes.mask[ACTIVE] & ~over
            if due != ZERO:
                judge_lanes(tree, lanes, parameters, due, goals, sums)
                done += popcount(due)
                if lanes.mask[ACTIVE] == ZERO:
                    lanes.since[:] = ZERO
                    continue
        over |= _enter_moves(programs, tree, lanes, over)
        rest = lanes.mask[ACTIVE]
        lanes.work[1] += popcount(rest)
        ply += 1
        if ply & 63 == 0:
            while rest != ZERO:
                lane = lowest(rest)
                rest &= rest - ONE
                lanes.plies[lane] += 64
                if lanes.plies[lane] > MAX_PLIES and not lanes.mask[FRESH] >> np.uint64(lane) & ONE:
                    over |= ONE << np.uint64(lane)
        if over != ZERO:
            _hold(programs, tree, lanes, over, parameters, goals, n_fluents)
            done += popcount(over)
            # A small goal program is evaluated at once; a large one when enough matches share it.
            playout_work = lanes.work[1] / lanes.work[0] * step_work / 64.0
            share = 4.0 * len(programs.goal.inputs) / playout_work
            if popcount(lanes.mask[HELD]) >= min(48.0, max(1.0, share)):
                collect(programs, tree, lanes, parameters, goals)
        for n in range(horizon, 0, -1):
            lanes.since[n] = lanes.since[n - 1] & lanes.mask[ACTIVE]
        evaluate(programs.next, lanes.slots, WIDTH)
        advance(programs, lanes.slots, WIDTH, keep)
    return done


@njit(cache=True, nogil=True)
def finish(programs, tree, lanes, parameters):
    """Backs up what is finished, and takes back the virtual losses of matches under way, which are dropped."""
    goals = np.zeros(len(programs.role_start) - 1, np.float64)
    collect(programs, tree, lanes, parameters, goals)
    lock(tree)
    rest = lanes.mask[ACTIVE]
    while rest != ZERO:
        lane = lowest(rest)
        rest &= rest - ONE
        side = lanes.side[lane]
        depth = lanes.depth[side, lane]
        for d in range(depth):
            tree.node[lanes.node[side, lane, d], VISITS] -= 1
            for role in range(len(goals)):
                tree.edge[lanes.edge[side, lane, d, role]].tried -= 1
    unlock(tree.counts, LOCK)
    clear_lanes(programs, lanes)


@njit(cache=True, nogil=True)
def root_node(programs, tree, lanes, state):
    """The node of a state, made if it is not in the tree (lanes must be clear); -1 if it does not fit."""
    load_state(programs, lanes.slots, WIDTH, 0, state)
    evaluate(programs.legal, lanes.slots, WIDTH)
    over = lanes.slots[programs.terminal_slot] & ONE != ZERO
    return add_node(programs, tree, state, lanes.slots, 0, over)
