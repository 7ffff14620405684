"""Monte-Carlo tree search on a stream of lanes (Numba).

Descents through the tree bring starts of playouts (`expansion`); each of 256 lanes takes over the next one and plays on
at random. Goals come back when the lane's match is over, whatever the others do: no batch waits for its slowest lane.
UCT (Kocsis & Szepesvari 2006) per role, regret matching where several choose at once (`regret`), all-moves-as-first
values (RAVE, Gelly & Silver 2007), proven values (MCTS-Solver, Winands et al. 2008, for any number of roles),
transpositions.

Where a linear evaluation has been fitted (`judge`), a lane's match ends a few plies after it has left the tree, with
the evaluation of the state.

Several threads may search one tree, each with its own `SearchWorkspace`; only nodes are added under a spin lock.

In all kernels `programs` is a `CircuitPrograms`, `tree` a `SearchTree`, `lanes` a `SearchWorkspace`,
`parameters` a `Parameters`; sets of lanes (`over`, `which`) are words; `n_fluents` is the number of the game's fluents.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.tree.backup import collect, judge_lanes
from agent.search.tree.expansion import grow
from agent.search.tree.store import OPEN, ROOT, SearchTree, add_node, list_candidates, load_rows
from agent.search.tree.workspace import (
    ACTIVE,
    DESCENTS,
    FIRST_START,
    HELD,
    LANES,
    MAX_PLIES,
    N_FREE,
    N_STARTS,
    ONE_WORD,
    PLAYOUT_TIME,
    PLAYOUTS_MADE,
    TREE_TIME,
    WAITING,
    WIDTH,
    WORDS,
    Parameters,
    SearchWorkspace,
    clear_workspace,
)
from games.bits.clock import nanoseconds
from games.bits.compiling import KERNEL
from games.bits.inner import inner_kernel, step
from games.bits.words import lowest, popcount
from games.gdl.running.batches import load_lanes
from games.gdl.running.kernels import ONE, ZERO, advance, clear_sets, enter_move, evaluate
from games.gdl.running.layout import FIRST_FLUENT, CircuitPrograms
from games.gdl.running.playouts import choose_random

MIN_IDLE = 4
"""Idle lanes of a word that are waited for before they start again: to load states is cheaper for many at once. Set by
hand; not tuned."""
MAX_BATCHES = 4
"""Batches of descents that are made at most until all idle lanes have a start. Set by hand; not tuned."""
IN_FLIGHT_SHARE = 0.25
"""Matches under way beyond those of one word of lanes, at most, as a share of the root's visits: while they are under
way nothing is learnt from them. Set by hand; not tuned."""
GOAL_COST_RATIO = 8.0
"""Finished matches are held until their playouts took this many times as long as one evaluation of the goal program
takes. Set by hand; not tuned."""
MIN_HELD, MAX_HELD = 48.0, 128.0
"""Finished matches that are held at least, so that those of one descent are backed up together, and at most. Set by
hand; not tuned."""
STEP_OVERHEAD = 500
"""What one ply of 64 lanes costs beside the circuit, in gate inputs. An estimate; not tuned."""


@inner_kernel()
def _count(mask):
    """How many lanes are in a set, uint64[WORDS]."""
    count = 0
    for w in range(WORDS):
        count += popcount(mask[w])
    return count


@step
def _room(tree, lanes):
    """How many more matches may be under way."""
    visits = tree.node[tree.counts[ROOT]].visits
    most = min(np.int64(LANES), max(np.int64(64), np.int64(IN_FLIGHT_SHARE * visits)))
    return most - _count(lanes.mask[ACTIVE])


@step
def _start_playouts(tree, lanes, amaf, room, n_fluents):
    """Puts the states of the next starts into idle lanes, `room` of them at most."""
    descents, starts = lanes.descents, lanes.starts
    roles = tree.stats.shape[1]
    at = lanes.counts[FIRST_START]
    end = lanes.counts[N_STARTS]
    for w in range(WORDS):
        rest = ~lanes.mask[ACTIVE, w]
        if at == end or room <= 0 or popcount(rest) < MIN_IDLE:
            continue
        started = ZERO
        while rest != ZERO and at < end and room > 0:
            descent = starts.descent[at]
            taken = ZERO
            while rest != ZERO and starts.copies[at] > 0 and room > 0:
                bit = lowest(rest)
                rest &= rest - ONE
                room -= 1
                taken |= ONE << np.uint64(bit)
                lanes.counts[WAITING] -= 1
                starts.copies[at] -= 1
                lane = 64 * w + bit
                match = np.int64(lanes.current[lane])
                lanes.descent[match, lane] = descent
                for role in range(roles):
                    lanes.edge[match, lane, role] = starts.edge[at, role]
                lanes.trail_size[match, lane] = 0
                lanes.plies[lane] = 0
                lanes.source[w, bit] = at
            if amaf:
                for role in range(roles):
                    for d in range(descents.depth[descent]):
                        lanes.played[tree.edge[descents.edge[descent, d, role]].move, w] |= taken
                    if starts.edge[at, role] >= 0:
                        lanes.played[tree.edge[starts.edge[at, role]].move, w] |= taken
            started |= taken
            if starts.copies[at] == 0:
                at += 1
        load_rows(starts.state, lanes.source[w], started, lanes.slots, WIDTH, w, lanes.block, n_fluents)
        lanes.mask[ACTIVE, w] |= started
        lanes.left_tree[0, w] = started
    if at == end:
        at = 0
        lanes.counts[N_STARTS] = 0
    lanes.counts[FIRST_START] = at


@step
def _enter_moves(programs, lanes, w, playing):
    """Enters random moves of the lanes in `playing`, of word w; returns those in which some role has no legal move."""
    slots, set_start, set_slot = lanes.slots, programs.set_start, programs.set_slot
    stuck = ZERO
    draw = lanes.move_workspace
    if playing != ZERO:
        for role in range(len(programs.role_start) - 1):
            n, dead = choose_random(
                programs.role_start, programs.legal_slot, slots, WIDTH, w, role, playing, lanes.rng, draw
            )
            stuck |= dead
            for i in range(n):
                chosen = draw.chosen[i]
                if chosen != ZERO:
                    move = draw.move[i]
                    enter_move(set_start, set_slot, slots, WIDTH, w, move, chosen)
                    lanes.played[move, w] |= chosen
                    if lanes.trail.shape[2] > 0:
                        while chosen != ZERO:
                            lane = 64 * w + lowest(chosen)
                            chosen &= chosen - ONE
                            match = np.int64(lanes.current[lane])
                            n_trail = lanes.trail_size[match, lane]
                            if n_trail < lanes.trail.shape[2]:
                                lanes.trail[match, lane, n_trail] = move
                                lanes.trail_size[match, lane] = n_trail + 1
    return stuck


@step
def _hold(programs, tree, lanes, w, over, parameters, n_fluents):
    """Puts finished matches of word w aside until their goals are evaluated; their lanes are idle afterwards."""
    if over & lanes.mask[HELD, w] != ZERO:
        collect(programs, tree, lanes, parameters)
    for f in range(FIRST_FLUENT, FIRST_FLUENT + n_fluents):
        at = f * WORDS + w
        lanes.goal_slots[at] = (lanes.goal_slots[at] & ~over) | (lanes.slots[at] & over)
    for move in range(len(lanes.played)):
        lanes.held_played[move, w] = (lanes.held_played[move, w] & ~over) | (lanes.played[move, w] & over)
        lanes.played[move, w] &= ~over
    rest = over
    while rest != ZERO:
        lane = 64 * w + lowest(rest)
        rest &= rest - ONE
        lanes.current[lane] = 1 - lanes.current[lane]
        lanes.playout_counts[0] += 1.0
    lanes.mask[HELD, w] |= over
    lanes.mask[ACTIVE, w] &= ~over


@step
def _cut_long_playouts(lanes, w):
    """The lanes of word w whose playouts have become too long; called every 64 plies."""
    over = ZERO
    rest = lanes.mask[ACTIVE, w]
    while rest != ZERO:
        bit = lowest(rest)
        rest &= rest - ONE
        lanes.plies[64 * w + bit] += 64
        if lanes.plies[64 * w + bit] > MAX_PLIES:
            over |= ONE << np.uint64(bit)
    return over


@step
def _end_matches(programs, tree, lanes, w, parameters, cut, n_fluents):
    """Ends the matches of word w that are over, or due to be judged, and enters random moves in the others.

    `cut` says whether to look for playouts that have become too long. Returns how many results are there at once, and
    how many are held.
    """
    judged = 0
    over = lanes.slots[programs.terminal_slot * WORDS + w] & lanes.mask[ACTIVE, w]
    horizon = parameters.horizon[0]
    if horizon >= 0:
        due = lanes.left_tree[horizon, w] & lanes.mask[ACTIVE, w] & ~over
        if due != ZERO:
            judge_lanes(tree, lanes, parameters, w, due)
            judged = popcount(due)
    over |= _enter_moves(programs, lanes, w, lanes.mask[ACTIVE, w] & ~over)
    lanes.playout_counts[1] += popcount(lanes.mask[ACTIVE, w])
    if cut:
        over |= _cut_long_playouts(lanes, w)
    if over != ZERO:
        _hold(programs, tree, lanes, w, over, parameters, n_fluents)
    for n in range(horizon, 0, -1):
        lanes.left_tree[n, w] = lanes.left_tree[n - 1, w] & lanes.mask[ACTIVE, w]
    lanes.left_tree[0, w] = ZERO
    return judged, popcount(over)


@njit(**KERNEL)
def search(programs, tree, lanes, parameters, stop, playouts):
    """Searches until `stop[0]` is not 0, the root is proven, or these lanes have finished about `playouts` playouts.

    `stop` is uint8[1]. Matches under way stay in the lanes for the next call. Asked for no playouts, it backs up the
    finished ones that wait for their goals. Returns the number of playouts finished, and of descents that ended in
    proven nodes.
    """
    n_fluents = len(programs.next_slot)
    amaf = parameters.rave_equivalence > 0.0
    if parameters.horizon[0] < 0:
        for n in range(len(lanes.left_tree)):
            for w in range(WORDS):
                lanes.left_tree[n, w] = ZERO
    costs = lanes.costs
    # Backing up waits for the next round, or for the end where there is none.
    waiting = playouts == 0
    done = 0
    ply = 0
    step_work = len(programs.legal.inputs) + len(programs.next.inputs) + STEP_OVERHEAD
    began = nanoseconds()
    while True:
        if waiting:
            now = nanoseconds()
            costs[PLAYOUT_TIME] += now - began
            collect(programs, tree, lanes, parameters)
            waiting = False
            began = nanoseconds()
            costs[TREE_TIME] += began - now
        if stop[0] != 0 or done >= playouts or tree.node[tree.counts[ROOT]].status != OPEN:
            return done
        room = _room(tree, lanes)
        if room >= MIN_IDLE * WORDS:
            if lanes.counts[N_STARTS] == 0:
                now = nanoseconds()
                costs[PLAYOUT_TIME] += now - began
                for _ in range(MAX_BATCHES):
                    done += grow(programs, tree, lanes, parameters, n_fluents)
                    if lanes.counts[WAITING] >= room:
                        break
                began = nanoseconds()
                costs[TREE_TIME] += began - now
            if lanes.counts[N_STARTS] != 0:
                _start_playouts(tree, lanes, amaf, room, n_fluents)
        if _count(lanes.mask[ACTIVE]) == 0:
            waiting = True
            continue
        evaluate(programs.legal, lanes.slots, WIDTH)
        clear_sets(programs.first_set, programs.n_sets, lanes.slots, WIDTH)
        ply += 1
        finished = 0
        for w in range(WORDS):
            if lanes.mask[ACTIVE, w] != ZERO:
                judged, held = _end_matches(programs, tree, lanes, w, parameters, ply & 63 == 0, n_fluents)
                finished += held
                done += judged + held
                costs[PLAYOUTS_MADE] += judged + held
        if finished > 0:
            # A small goal program is evaluated at once; a large one when enough matches share it.
            playout_work = lanes.playout_counts[1] / lanes.playout_counts[0] * step_work / 64.0
            share = GOAL_COST_RATIO * len(programs.goal.inputs) / playout_work
            waiting = _count(lanes.mask[HELD]) >= min(MAX_HELD, max(MIN_HELD, share))
        evaluate(programs.next, lanes.slots, WIDTH)
        advance(programs.next_slot, programs.initial, lanes.slots, WIDTH, lanes.keep, lanes.following)


def finish(programs: CircuitPrograms, tree: SearchTree, lanes: SearchWorkspace, parameters: Parameters) -> None:
    """Backs up what is finished, and drops the matches under way.

    Nobody else may be searching.
    """
    search(programs, tree, lanes, parameters, np.zeros(1, np.uint8), 0)
    descents = lanes.descents
    for descent in np.setdiff1d(np.arange(DESCENTS), descents.free[: lanes.counts[N_FREE]]):
        # What it has brought so far counts; nothing can be proven by it.
        depth = int(descents.depth[descent])
        nodes = descents.node[descent, : depth + 1]
        nodes = nodes[nodes >= 0]
        edges = descents.edge[descent, :depth]
        chosen = tree.stats["n_edges"][nodes[:depth]] > 1
        np.subtract.at(tree.node["pending"], nodes, descents.expected[descent])
        np.add.at(tree.node["visits"], nodes, descents.results[descent])
        np.add.at(tree.stats["total"], nodes, descents.sums[descent])
        np.subtract.at(tree.edge["pending"], edges[chosen], descents.expected[descent])
        np.add.at(tree.edge["visits"], edges[chosen], descents.results[descent])
        np.add.at(tree.edge["total"], edges[chosen], np.broadcast_to(descents.sums[descent], edges.shape)[chosen])
    clear_workspace(programs, lanes)


def root_node(programs: CircuitPrograms, tree: SearchTree, lanes: SearchWorkspace, state: NDArray[np.uint64]) -> int:
    """The node of a packed state, made if it is not in the tree (lanes must be clear); -1 if it does not fit."""
    slots = lanes.expansion.slots
    load_lanes(len(programs.next_slot), slots, state[None, :])
    evaluate(programs.legal, slots, ONE_WORD)
    over = bool(slots[programs.terminal_slot] & ONE)
    candidates = lanes.expansion.candidates
    list_candidates(programs.role_start, programs.legal_slot, slots, ONE, candidates)
    return int(add_node(tree, state, candidates, 0, over))
