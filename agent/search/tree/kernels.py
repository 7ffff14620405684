"""Monte-Carlo tree search on a stream of lanes (Numba).

Descents through the tree queue starts of playouts (`expansion`); each of 64 lanes takes the next one and plays on at
random, but for decisive moves (`decisive`). A finished match is backed up whatever the other lanes do: no batch waits
for its slowest lane.

UCT (Kocsis & Szepesvari 2006) per role, regret matching where several choose at once (`regret`), all-moves-as-first
values (RAVE, Gelly & Silver 2007), proven values (MCTS-Solver, Winands et al. 2008, for any number of roles),
transpositions. Threads may share a tree, each with its own `SearchWorkspace`; a spin lock guards the adding of nodes.

In all kernels `programs` is a `CircuitPrograms`, `tree` a `SearchTree`, `lanes` a `SearchWorkspace`,
`parameters` a `Parameters`; sets of lanes (`over`, `which`) are words; `n_fluents` is the number of the game's fluents.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.tree.backup import collect
from agent.search.tree.decisive.kernels import find_decisive
from agent.search.tree.expansion import grow
from agent.search.tree.store import OPEN, ROOT, SearchTree, add_node, list_legal_moves, load_rows
from agent.search.tree.workspace import (
    ACTIVE,
    DESCENTS,
    FIRST_START,
    HELD,
    MAX_PLIES,
    N_FREE,
    N_STARTS,
    PLAYOUT_TIME,
    PLAYOUTS_MADE,
    TREE_TIME,
    WAITING,
    Parameters,
    SearchWorkspace,
    clear_workspace,
)
from games.bits.clock import nanoseconds
from games.bits.compiling import KERNEL
from games.bits.inner import step
from games.bits.words import lowest, popcount
from games.gdl.running.batches import load_lanes
from games.gdl.running.kernels import FIRST_WORD, NARROW, ONE, ZERO, advance, clear_sets, enter_move, evaluate
from games.gdl.running.layout import FIRST_FLUENT, CircuitPrograms
from games.gdl.running.playouts import choose_random

MIN_IDLE = 4
"""Idle lanes at which lanes start again: loading many states at once is cheaper."""
MAX_BATCHES = 4
"""Most batches of descents to find starts for all idle lanes."""
GOAL_COST_RATIO = 4.0
"""Time of the playouts of held matches, as a multiple of one evaluation of the goal program."""
MIN_HELD, MAX_HELD = 12.0, 48.0
"""Fewest and most finished matches to hold; some are held so that those of one descent are backed up together."""
STEP_OVERHEAD = 500
"""Estimated cost of one ply of 64 lanes beside the circuit, in gate inputs."""


@step
def _start_playouts(tree, lanes, amaf, n_fluents):
    """Puts the states of the next starts into idle lanes."""
    descents, starts = lanes.descents, lanes.starts
    roles = tree.stats.shape[1]
    rest = ~lanes.mask[ACTIVE]
    started = ZERO
    at = lanes.counts[FIRST_START]
    end = lanes.counts[N_STARTS]
    while rest != ZERO and at < end:
        descent = starts.descent[at]
        taken = ZERO
        while rest != ZERO and starts.copies[at] > 0:
            lane = lowest(rest)
            rest &= rest - ONE
            taken |= ONE << np.uint64(lane)
            lanes.counts[WAITING] -= 1
            starts.copies[at] -= 1
            match = np.int64(lanes.current[lane])
            lanes.descent[match, lane] = descent
            for role in range(roles):
                lanes.edge[match, lane, role] = starts.edge[at, role]
            lanes.trail_size[match, lane] = 0
            lanes.plies[lane] = 0
            lanes.source[lane] = at
        if amaf:
            for role in range(roles):
                for d in range(descents.depth[descent]):
                    lanes.played[tree.edge[descents.edge[descent, d, role]].move] |= taken
                if starts.edge[at, role] >= 0:
                    lanes.played[tree.edge[starts.edge[at, role]].move] |= taken
        started |= taken
        if starts.copies[at] == 0:
            at += 1
    load_rows(starts.state, lanes.source, started, lanes.slots, lanes.block, n_fluents)
    if at == end:
        at = 0
        lanes.counts[N_STARTS] = 0
    lanes.counts[FIRST_START] = at
    lanes.mask[ACTIVE] |= started


@step
def _enter_moves(programs, lanes, parameters, playing):
    """Enters decisive moves, else random ones, in the lanes of `playing`.

    Returns the lanes where some role has no legal move.
    """
    slots, set_start, set_slot = lanes.slots, programs.set_start, programs.set_slot
    clear_sets(programs.first_set, programs.n_sets, slots, NARROW)
    stuck = ZERO
    draw = lanes.move_workspace
    if playing != ZERO:
        # Never for a single player: no trail is kept of these moves.
        knowing = len(parameters.decisive.role) > 0
        if knowing:
            decisive = lanes.decisive
            n_fluents, legal_slot = len(programs.next_slot), programs.legal_slot
            for i in range(find_decisive(parameters.decisive, n_fluents, legal_slot, slots, playing, decisive)):
                decided = np.int64(decisive.move[i])
                enter_move(set_start, set_slot, slots, NARROW, FIRST_WORD, decided, decisive.word[i])
                lanes.played[decided] |= decisive.word[i]
        for role in range(len(programs.role_start) - 1):
            draw.lanes[0] = playing & ~lanes.decisive.decided[role] if knowing else playing
            n = choose_random(programs.role_start, slots, NARROW, role, draw, parameters.draws[role])
            stuck |= draw.stuck[0]
            for i in range(n):
                move, chosen = draw.move[i], draw.chosen[i]
                enter_move(set_start, set_slot, slots, NARROW, FIRST_WORD, move, chosen)
                lanes.played[move] |= chosen
                if lanes.trail.shape[2] > 0:
                    while chosen != ZERO:
                        lane = lowest(chosen)
                        chosen &= chosen - ONE
                        match = np.int64(lanes.current[lane])
                        n_trail = lanes.trail_size[match, lane]
                        if n_trail < lanes.trail.shape[2]:
                            lanes.trail[match, lane, n_trail] = move
                            lanes.trail_size[match, lane] = n_trail + 1
    return stuck


@step
def _hold(programs, tree, lanes, over, parameters, n_fluents):
    """Puts finished matches aside until their goals are evaluated; their lanes are idle afterwards."""
    if over & lanes.mask[HELD] != ZERO:
        collect(programs, tree, lanes, parameters)
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


@step
def _cut_long_playouts(lanes):
    """The lanes with too long playouts; to be called every 64 plies."""
    over = ZERO
    rest = lanes.mask[ACTIVE]
    while rest != ZERO:
        lane = lowest(rest)
        rest &= rest - ONE
        lanes.plies[lane] += 64
        if lanes.plies[lane] > MAX_PLIES:
            over |= ONE << np.uint64(lane)
    return over


@njit(**KERNEL)
def search(programs, tree, lanes, parameters, stop, playouts):
    """Searches until `stop[0]` (uint8[1]) is set, the root is proven, or about `playouts` playouts are finished.

    Matches under way stay in the lanes for the next call. With 0 playouts it only backs up the held matches. Returns
    the number of finished playouts and of descents that ended in proven nodes.
    """
    n_fluents = len(programs.next_slot)
    amaf = parameters.rave_equivalence > 0.0
    costs = lanes.costs
    # Backing up waits for the next round.
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
        if popcount(lanes.mask[ACTIVE]) <= 64 - MIN_IDLE:
            if lanes.counts[N_STARTS] == 0:
                now = nanoseconds()
                costs[PLAYOUT_TIME] += now - began
                for _ in range(MAX_BATCHES):
                    done += grow(programs, tree, lanes, parameters, n_fluents)
                    if lanes.counts[WAITING] >= 64 - popcount(lanes.mask[ACTIVE]):
                        break
                began = nanoseconds()
                costs[TREE_TIME] += began - now
            if lanes.counts[N_STARTS] != 0:
                _start_playouts(tree, lanes, amaf, n_fluents)
            if lanes.mask[ACTIVE] == ZERO:
                waiting = True
                continue
        evaluate(programs.legal, lanes.slots, NARROW)
        over = lanes.slots[programs.terminal_slot] & lanes.mask[ACTIVE]
        over |= _enter_moves(programs, lanes, parameters, lanes.mask[ACTIVE] & ~over)
        lanes.playout_counts[1] += popcount(lanes.mask[ACTIVE])
        ply += 1
        if ply & 63 == 0:
            over |= _cut_long_playouts(lanes)
        if over != ZERO:
            _hold(programs, tree, lanes, over, parameters, n_fluents)
            done += popcount(over)
            costs[PLAYOUTS_MADE] += popcount(over)
            # A small goal program is evaluated at once; a large one when enough matches share it.
            playout_work = lanes.playout_counts[1] / lanes.playout_counts[0] * step_work / 64.0
            share = GOAL_COST_RATIO * len(programs.goal.inputs) / playout_work
            waiting = popcount(lanes.mask[HELD]) >= min(MAX_HELD, max(MIN_HELD, share))
        evaluate(programs.next, lanes.slots, NARROW)
        advance(programs.next_slot, programs.initial, lanes.slots, NARROW, lanes.keep, lanes.following)


def finish(programs: CircuitPrograms, tree: SearchTree, lanes: SearchWorkspace, parameters: Parameters) -> None:
    """Backs up finished matches and drops the others. No other thread may be searching."""
    search(programs, tree, lanes, parameters, np.zeros(1, np.uint8), 0)
    descents = lanes.descents
    for descent in np.setdiff1d(np.arange(DESCENTS), descents.free[: lanes.counts[N_FREE]]):
        # Its results so far count; it proves nothing.
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
    """The node of a packed state, made if it is new; -1 if it does not fit. Lanes must be clear."""
    load_lanes(len(programs.next_slot), lanes.slots, state[None, :])
    evaluate(programs.legal, lanes.slots, NARROW)
    over = bool(lanes.slots[programs.terminal_slot] & ONE)
    legal_moves = lanes.expansion.legal_moves
    list_legal_moves(programs.role_start, programs.legal_slot, lanes.slots, ONE, legal_moves)
    return int(add_node(tree, state, legal_moves, 0, over))
