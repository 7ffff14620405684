"""Monte-Carlo tree search on a stream of lanes (Numba).

Each of 64 lanes descends the tree on its own, takes over the state it arrives at, makes the chosen move there, and
plays on at random; the new state becomes a node on the way. Goals come back when the lane's match is over, whatever
the others do: no batch waits for its slowest lane. UCT (Kocsis & Szepesvari 2006) per role (decoupled where roles move
at once: Shafiei et al. 2009), virtual loss (Chaslot et al. 2008), all-moves-as-first values (RAVE, Gelly & Silver
2007), proven values (MCTS-Solver, Winands et al. 2008, for any number of roles), transpositions.

Where a linear evaluation has been fitted (`judge`), a lane's match ends a few plies after it has left the tree, with
the evaluation of the state.

Several threads may search one tree, each with its own `SearchWorkspace`: what touches the tree is under a spin lock,
the circuit is not.

In all kernels `programs` is a `CircuitPrograms`, `tree` a `SearchTree`, `lanes` a `SearchWorkspace`,
`parameters` a `Parameters`; sets of lanes (`over`, `which`) are words; `goals` is float64[roles], overwritten; `state`
is uint64[words], overwritten; `n_fluents` is the number of the game's fluents.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.tree.backup import back_up, collect, judge_lanes
from agent.search.tree.descent import LEAF, descend
from agent.search.tree.lock import lock
from agent.search.tree.store import (
    LOCK,
    N_EDGES,
    N_NODES,
    OPEN,
    ROOT,
    TERMINAL,
    SearchTree,
    add_node,
    get_child,
    set_child,
)
from agent.search.tree.workspace import (
    ACTIVE,
    FORCED,
    FRESH,
    HELD,
    MAX_PLIES,
    WIDTH,
    Parameters,
    SearchWorkspace,
    clear_workspace,
)
from games.bits.compiling import KERNEL
from games.bits.inner import step
from games.bits.locks import unlock
from games.bits.words import lowest, popcount, transpose
from games.gdl.running.batches import load_lanes
from games.gdl.running.kernels import FIRST_WORD, ONE, ZERO, advance, clear_sets, enter_move, evaluate, store_state
from games.gdl.running.layout import FIRST_FLUENT, CircuitPrograms
from games.gdl.running.playouts import choose_random

MIN_IDLE = 4
"""Idle lanes that are waited for before lanes descend again: descents share a lock. Set by hand; not tuned."""
DESCENTS = 4
"""Descents that a lane makes at most, where they end in proven nodes. Set by hand; not tuned."""
GOAL_COST_RATIO = 4.0
"""Finished matches are held until their playouts took this many times as long as one evaluation of the goal program
takes. Set by hand; not tuned."""
MAX_HELD = 48.0
"""Finished matches that are held at most. Set by hand; not tuned."""
STEP_OVERHEAD = 500
"""What one ply of 64 lanes costs beside the circuit, in gate inputs. An estimate; not tuned."""


@step
def _expansion_threshold(tree):
    """Visits that an edge must have before its state becomes a node: more, the fuller the tree is.

    So that a tree that fills up keeps room for what is visited often. Set by hand; not tuned.
    """
    filled = max(tree.counts[N_NODES] / len(tree.node), tree.counts[N_EDGES] / len(tree.edge))
    if filled <= 0.125:
        return 1
    return 4 if filled < 0.25 else (16 if filled < 0.5 else (64 if filled < 0.75 else 256))


@step
def _load_lanes(tree, lanes, which, n_fluents):
    """Puts the states at the ends of these lanes' paths into their slots, 64 fluents at a time (bit transposition)."""
    block, paths = lanes.block, lanes.paths
    for word in range(tree.state.shape[1]):
        for lane in range(64):
            block[lane] = ZERO
        rest = which
        while rest != ZERO:
            lane = lowest(rest)
            rest &= rest - ONE
            path = lanes.current[lane]
            last = paths.depth[path, lane]
            if lanes.mask[FORCED] >> np.uint64(lane) & ONE:
                last -= 1
            block[lane] = tree.state[paths.node[path, lane, last], word]
        transpose(block)
        for f in range(64 * word, min(64 * word + 64, n_fluents)):
            at = FIRST_FLUENT + f
            lanes.slots[at] = (lanes.slots[at] & ~which) | block[f - 64 * word]


@step
def _restart(tree, lanes, parameters, goals, n_fluents):
    """Sends every idle lane down the tree again; returns how many descents ended in proven nodes, done with at once."""
    idle = ~lanes.mask[ACTIVE]
    started = ZERO
    exact = 0
    threshold = _expansion_threshold(tree)
    lock(tree.counts)
    rest = idle
    while rest != ZERO and tree.node[tree.counts[ROOT]].status == OPEN:
        lane = lowest(rest)
        bit = ONE << np.uint64(lane)
        rest &= ~bit
        for _ in range(DESCENTS):
            if tree.node[tree.counts[ROOT]].status != OPEN:
                break
            if descend(tree, lanes, lane, parameters, threshold) == LEAF:
                started |= bit
                break
            paths = lanes.paths
            path = np.int64(lanes.current[lane])
            node = paths.node[path, lane, paths.depth[path, lane]]
            for role in range(len(goals)):
                goals[role] = tree.stats[node, role].goal
            back_up(tree, paths, lane, path, goals, ZERO, lanes.played, parameters)
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


@step
def _grow_tree(programs, tree, lanes, over, state):
    """Makes nodes of the states that fresh lanes have reached by their first move out of the tree."""
    paths = lanes.paths
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
            lock(tree.counts)
            locked = True
        path = lanes.current[lane]
        last = paths.depth[path, lane] - 1
        parent = paths.node[path, lane, last]
        edges = paths.edge[path, lane, last]
        child = get_child(tree, parent, edges)
        if child < 0:
            store_state(len(programs.next_slot), lanes.slots, WIDTH, lane, state)
            over_here = over & bit != ZERO
            child = add_node(programs.role_start, programs.legal_slot, tree, state, lanes.slots, lane, over_here)
            if child >= 0:
                set_child(tree, parent, edges, child)
        if child >= 0 and tree.node[child].status == TERMINAL:
            paths.leaf[path, lane] = child
    if locked:
        unlock(tree.counts, LOCK)


@step
def _enter_moves(programs, tree, lanes, over):
    """Enters the moves of all active lanes that are not over: from the tree where there is one, random ones elsewhere.

    Returns the lanes in which some role has no legal move.
    """
    roles = len(programs.role_start) - 1
    paths = lanes.paths
    slots, set_start, set_slot = lanes.slots, programs.set_start, programs.set_slot
    clear_sets(programs.first_set, programs.n_sets, slots, WIDTH)
    forced = lanes.mask[FORCED] & lanes.mask[ACTIVE]
    rest = forced
    while rest != ZERO:
        lane = lowest(rest)
        bit = ONE << np.uint64(lane)
        rest &= ~bit
        path = lanes.current[lane]
        for role in range(roles):
            move = tree.edge[paths.edge[path, lane, paths.depth[path, lane] - 1, role]].move
            enter_move(set_start, set_slot, slots, WIDTH, FIRST_WORD, np.int64(move), bit)
    playing = lanes.mask[ACTIVE] & ~over & ~forced
    stuck = ZERO
    draw = lanes.move_workspace
    if playing != ZERO:
        for role in range(roles):
            n, dead = choose_random(
                programs.role_start, programs.legal_slot, slots, WIDTH, FIRST_WORD, role, playing, lanes.rng, draw
            )
            stuck |= dead
            for i in range(n):
                chosen = draw.chosen[i]
                if chosen != ZERO:
                    move = draw.move[i]
                    enter_move(set_start, set_slot, slots, WIDTH, FIRST_WORD, move, chosen)
                    lanes.played[move] |= chosen
                    if paths.trail.shape[2] > 0:
                        while chosen != ZERO:
                            lane = lowest(chosen)
                            chosen &= chosen - ONE
                            path = lanes.current[lane]
                            n_trail = paths.trail_size[path, lane]
                            if n_trail < paths.trail.shape[2]:
                                paths.trail[path, lane, n_trail] = move
                                paths.trail_size[path, lane] = n_trail + 1
    lanes.mask[FORCED] &= ~forced
    lanes.mask[FRESH] = forced
    return stuck


@step
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
        lanes.current[lane] = 1 - lanes.current[lane]
        lanes.playout_counts[0] += 1.0
    lanes.mask[HELD] |= over
    lanes.mask[ACTIVE] &= ~over


@njit(**KERNEL)
def search(programs, tree, lanes, parameters, stop, playouts):
    """Searches until `stop[0]` is not 0, the root is proven, or these lanes have finished about `playouts` playouts.

    `stop` is uint8[1]. Matches under way stay in the lanes for the next call. Asked for no playouts, it backs up the
    finished ones that wait for their goals. Returns the number of playouts finished.
    """
    n_fluents = len(programs.next_slot)
    state, goals, sums = lanes.state, lanes.goals, lanes.sums
    horizon = parameters.horizon[0]
    if horizon < 0:
        for n in range(len(lanes.left_tree)):
            lanes.left_tree[n] = ZERO
    # Backing up waits for the next round, or for the end where there is none.
    waiting = playouts == 0
    done = 0
    ply = 0
    step_work = len(programs.legal.inputs) + len(programs.next.inputs) + STEP_OVERHEAD
    while True:
        if waiting:
            collect(programs, tree, lanes, parameters, goals)
            waiting = False
        if stop[0] != 0 or done >= playouts or tree.node[tree.counts[ROOT]].status != OPEN:
            return done
        if popcount(lanes.mask[ACTIVE]) <= 64 - MIN_IDLE:
            done += _restart(tree, lanes, parameters, goals, n_fluents)
            if lanes.mask[ACTIVE] == ZERO:
                done += popcount(lanes.mask[HELD])
                waiting = True
                continue
        evaluate(programs.legal, lanes.slots, WIDTH)
        over = lanes.slots[programs.terminal_slot] & lanes.mask[ACTIVE]
        lanes.left_tree[0] = lanes.mask[FRESH]
        if lanes.mask[FRESH] != ZERO:
            _grow_tree(programs, tree, lanes, over, state)
        over &= ~lanes.mask[FORCED]
        if horizon >= 0:
            due = lanes.left_tree[horizon] & lanes.mask[ACTIVE] & ~over
            if due != ZERO:
                judge_lanes(tree, lanes, parameters, due, goals, sums)
                done += popcount(due)
                if lanes.mask[ACTIVE] == ZERO:
                    for n in range(len(lanes.left_tree)):
                        lanes.left_tree[n] = ZERO
                    continue
        over |= _enter_moves(programs, tree, lanes, over)
        rest = lanes.mask[ACTIVE]
        lanes.playout_counts[1] += popcount(rest)
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
            playout_work = lanes.playout_counts[1] / lanes.playout_counts[0] * step_work / 64.0
            share = GOAL_COST_RATIO * len(programs.goal.inputs) / playout_work
            waiting = popcount(lanes.mask[HELD]) >= min(MAX_HELD, max(1.0, share))
        for n in range(horizon, 0, -1):
            lanes.left_tree[n] = lanes.left_tree[n - 1] & lanes.mask[ACTIVE]
        evaluate(programs.next, lanes.slots, WIDTH)
        advance(programs.next_slot, programs.initial, lanes.slots, WIDTH, lanes.keep, lanes.following)


def finish(programs: CircuitPrograms, tree: SearchTree, lanes: SearchWorkspace, parameters: Parameters) -> None:
    """Backs up what is finished, and takes back the virtual losses of matches under way, which are dropped.

    Nobody else may be searching.
    """
    search(programs, tree, lanes, parameters, np.zeros(1, np.uint8), 0)
    paths = lanes.paths
    for lane in range(64):
        if lanes.mask[ACTIVE] >> np.uint64(lane) & ONE:
            path = lanes.current[lane]
            depth = paths.depth[path, lane]
            np.subtract.at(tree.node["visits"], paths.node[path, lane, :depth], 1)
            np.subtract.at(tree.edge["visits"], paths.edge[path, lane, :depth].ravel(), 1)
    clear_workspace(programs, lanes)


def root_node(programs: CircuitPrograms, tree: SearchTree, lanes: SearchWorkspace, state: NDArray[np.uint64]) -> int:
    """The node of a packed state, made if it is not in the tree (lanes must be clear); -1 if it does not fit."""
    load_lanes(len(programs.next_slot), lanes.slots, state[None, :])
    evaluate(programs.legal, lanes.slots, WIDTH)
    over = bool(lanes.slots[programs.terminal_slot] & ONE)
    return int(add_node(programs.role_start, programs.legal_slot, tree, state, lanes.slots, 0, over))
