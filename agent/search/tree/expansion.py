"""Leaves and their children, made on 64 lanes at once; each descent brings several playouts.

A batch of descents reaches leaves (`descent`), whose states are made in one pass of the lanes. Then all their children
are made, 64 in a pass, which finds terminal ones at once: a leaf with a winning move is proven as soon as it is made
(decisive moves, Teytaud & Teytaud 2010). Playouts start from the other children, several for each descent where they
are cheap (leaf parallelisation, Cazenave & Jouandeau 2007).

In all kernels `programs` is a `CircuitPrograms`, `tree` a `SearchTree`, `lanes` a `SearchWorkspace`, `parameters` a
`Parameters`; `n_fluents` is the number of the game's fluents.
"""

from __future__ import annotations

import numpy as np

from agent.search.tree.backup import NO_EDGE, NO_TRAIL, back_up, note_best_line
from agent.search.tree.descent import is_expansion_due, lead_down
from agent.search.tree.proofs import note_proven_child, set_proven
from agent.search.tree.store import (
    LOCK,
    OPEN,
    ROOT,
    TERMINAL,
    add_node,
    choosers,
    hash_state,
    list_legal_moves,
    load_rows,
    set_child,
)
from agent.search.tree.workspace import (
    BATCHES,
    DESCENTS_MADE,
    LANES_USED,
    MAX_BATCH,
    N_STARTS,
    PASS_TIME,
    PASSES,
    PLAYOUT_TIME,
    PLAYOUTS_MADE,
    TREE_TIME,
    WAITING,
)
from games.bits.clock import nanoseconds
from games.bits.inner import inner_kernel, step
from games.bits.locks import try_lock, unlock, yield_core
from games.bits.prefetch import prefetch
from games.bits.splitmix import random32
from games.bits.words import lowest, transpose
from games.gdl.running.goals import read_goals
from games.gdl.running.kernels import ALL, FIRST_WORD, NARROW, ONE, ZERO, advance, clear_sets, enter_move, evaluate
from games.gdl.running.layout import FIRST_FLUENT

PLAYOUT_SHARE = 0.5
"""Time for a descent's playouts, as a multiple of the time for the descent, its leaf and children: higher values make
more playouts and fewer nodes, and gained nothing at 1 (see docs/experiments.md)."""
MAX_PLAYOUTS = 64
"""Most playouts of a descent."""
FIRST_PLAYOUTS = 8
"""Playouts of a descent before costs are known."""
MIN_BATCH = 8
"""Fewest descents of a batch in a large enough tree: a pass makes 64 leaves as fast as one."""
MAX_PENDING = 192
"""Most results that a batch of descents may expect."""
EXPANSION_SHARE = 0.5
"""Most time for all children of a new leaf, as a share of the time for its playouts; dearer ones wait for visits of the
leaf (`LATE_EXPANSION_SHARE`)."""
LATE_EXPANSION_SHARE = 0.25
"""Most time for a node's children, as a share of the time of all playouts below it."""
FADING = 0.995
"""Weight of earlier costs after a batch."""


@inner_kernel()
def _make_states(programs, tree, expansion, block, keep, following, n, n_fluents):
    """Makes and packs the states after `expansion.edge` at `expansion.node` in lanes 0 .. n - 1.

    All but `programs`, `tree` and numbers are parts of a `SearchWorkspace`. Returns the lanes (a word) with terminal
    states.
    """
    slots, set_start, set_slot = expansion.slots, programs.set_start, programs.set_slot
    which = ALL >> np.uint64(64 - n)
    load_rows(tree.state, expansion.node, which, slots, block, n_fluents)
    evaluate(programs.legal, slots, NARROW)
    clear_sets(programs.first_set, programs.n_sets, slots, NARROW)
    for lane in range(n):
        bit = ONE << np.uint64(lane)
        for role in range(tree.stats.shape[1]):
            move = tree.edge[expansion.edge[lane, role]].move
            enter_move(set_start, set_slot, slots, NARROW, FIRST_WORD, np.int64(move), bit)
    evaluate(programs.next, slots, NARROW)
    advance(programs.next_slot, programs.initial, slots, NARROW, keep, following)
    evaluate(programs.legal, slots, NARROW)
    for word in range(tree.state.shape[1]):
        for f in range(64 * word, 64 * word + 64):
            block[f - 64 * word] = slots[FIRST_FLUENT + f] if f < n_fluents else ZERO
        transpose(block)
        for lane in range(n):
            expansion.state[lane, word] = block[lane]
    return slots[programs.terminal_slot] & which


@inner_kernel()
def _evaluate_goals(programs, slots, goal_slots, n_fluents):
    """Evaluates the goals of all states of the expansion, whose slots are uint64[slots] and uint64[goal slots]."""
    for f in range(FIRST_FLUENT, FIRST_FLUENT + n_fluents):
        goal_slots[f] = slots[f]
    evaluate(programs.goal, goal_slots, NARROW)


@inner_kernel()
def _read_goals(programs, goal_slots, lane, goals):
    """Puts the goals of one state of the expansion into `goals` (float64[roles]), 0..1."""
    read_goals(programs.goal_slot, programs.goal_role, programs.goal_value, goal_slots, lane, goals)
    for role in range(len(goals)):
        goals[role] /= 100.0


@inner_kernel()
def _add_start(starts, counts, missing, state, lane, descent, copies):
    """Queues `copies` playouts from one of the states (uint64[64, words]) of the expansion.

    The first three are parts of a `SearchWorkspace`.
    """
    at = counts[N_STARTS]
    starts.descent[at] = descent
    starts.copies[at] = copies
    for word in range(starts.state.shape[1]):
        starts.state[at, word] = state[lane, word]
    missing[descent] += copies
    counts[N_STARTS] += 1
    counts[WAITING] += copies
    return at


@step
def _stuck(legal_moves, which):
    """The lanes of `which` (a word) in which some role has no legal move."""
    stuck = ZERO
    for role in range(len(legal_moves.start) - 1):
        some = ZERO
        for i in range(legal_moves.start[role], legal_moves.start[role + 1]):
            some |= legal_moves.word[i]
        stuck |= which & ~some
    return stuck


@step
def _make_leaves(programs, tree, lanes, n, n_fluents):
    """Makes leaves at the ends of the batch's first n descents; queues playouts of those that do not fit the tree."""
    descents, expansion, legal_moves = lanes.descents, lanes.expansion, lanes.expansion.legal_moves
    roles = tree.stats.shape[1]
    for lane in range(n):
        descent = descents.batch[lane]
        last = descents.depth[descent] - 1
        expansion.node[lane] = descents.node[descent, last]
        for role in range(roles):
            expansion.edge[lane, role] = descents.edge[descent, last, role]
    over = _make_states(programs, tree, expansion, lanes.block, lanes.keep, lanes.following, n, n_fluents)
    which = (ALL >> np.uint64(64 - n)) & ~over
    list_legal_moves(programs.role_start, programs.legal_slot, expansion.slots, which, legal_moves)
    over |= _stuck(legal_moves, which)
    if over != ZERO:
        _evaluate_goals(programs, expansion.slots, lanes.expansion_goal_slots, n_fluents)
    for lane in range(n):
        slot = hash_state(expansion.state[lane]) & np.uint64(len(tree.table) - 1)
        prefetch(tree.table, np.int64(slot))
    lock(tree.counts)
    for lane in range(n):
        descent = descents.batch[lane]
        depth = descents.depth[descent]
        ended = over >> np.uint64(lane) & ONE != ZERO
        node = add_node(tree, expansion.state[lane], legal_moves, lane, ended)
        descents.node[descent, depth] = node
        if node >= 0:
            if tree.node[node].status == TERMINAL:
                _read_goals(programs, lanes.expansion_goal_slots, lane, lanes.goals)
                set_proven(tree, node, lanes.goals)
                if roles == 1:
                    line, best_goal = lanes.best_line, lanes.best_goal
                    note_best_line(
                        tree.edge, descents, line, best_goal, descent, NO_EDGE, line, NO_TRAIL, lanes.goals[0]
                    )
            tree.node[node].pending += descents.expected[descent]
            set_child(tree, expansion.node[lane], expansion.edge[lane], node)
    unlock(tree.counts, LOCK)
    for lane in range(n):
        descent = descents.batch[lane]
        if descents.node[descent, descents.depth[descent]] < 0:
            copies = descents.expected[descent]
            at = _add_start(lanes.starts, lanes.counts, descents.missing, expansion.state, lane, descent, copies)
            for role in range(roles):
                lanes.starts.edge[at, role] = -1


@step
def _make_children(programs, tree, lanes, n, n_fluents):
    """Makes the children in lanes 0 .. n - 1 of the expansion: nodes of terminal ones, starts of playouts of others."""
    begin = nanoseconds()
    descents, expansion, starts = lanes.descents, lanes.expansion, lanes.starts
    roles = tree.stats.shape[1]
    over = _make_states(programs, tree, expansion, lanes.block, lanes.keep, lanes.following, n, n_fluents)
    if over != ZERO:
        _evaluate_goals(programs, expansion.slots, lanes.expansion_goal_slots, n_fluents)
        lock(tree.counts)
        rest = over
        while rest != ZERO:
            lane = lowest(rest)
            rest &= rest - ONE
            node, edges, descent = expansion.node[lane], expansion.edge[lane], expansion.descent[lane]
            _read_goals(programs, lanes.expansion_goal_slots, lane, lanes.goals)
            # True, but not a literal, for which Numba would compile another kernel.
            child = add_node(tree, expansion.state[lane], expansion.legal_moves, lane, over != ZERO)
            if child >= 0:
                set_proven(tree, child, lanes.goals)
                set_child(tree, node, edges, child)
                note_proven_child(tree, node, edges, child)
            if roles == 1:
                line, best_goal = lanes.best_line, lanes.best_goal
                note_best_line(tree.edge, descents, line, best_goal, descent, edges[0], line, NO_TRAIL, lanes.goals[0])
            count, _ = choosers(tree.stats, node)
            if count > 1 or child < 0:
                descents.results[descent] += 1
                for role in range(roles):
                    descents.sums[descent, role] += lanes.goals[role]
                    if tree.stats[node, role].n_edges > 1:
                        tree.edge[edges[role]].visits += 1
                        tree.edge[edges[role]].total += lanes.goals[role]
        unlock(tree.counts, LOCK)
    for lane in range(n):
        if over >> np.uint64(lane) & ONE == ZERO and expansion.copies[lane] > 0:
            descent, copies = expansion.descent[lane], expansion.copies[lane]
            at = _add_start(starts, lanes.counts, descents.missing, expansion.state, lane, descent, copies)
            for role in range(roles):
                edge = expansion.edge[lane, role]
                starts.edge[at, role] = edge if tree.stats[expansion.node[lane], role].n_edges > 1 else -1
    lanes.costs[PASS_TIME] += nanoseconds() - begin
    lanes.costs[PASSES] += 1.0


@step
def _expand(programs, tree, lanes, n, playouts, affordable, threshold, n_fluents):
    """Makes children of the leaves of the batch's first n descents; returns their number.

    Makes all children if there are at most `affordable` or it is due (`threshold` is that of `is_expansion_due`), else
    a sample. Queues about `playouts` playouts for each leaf, spread evenly over its children.
    """
    descents, expansion = lanes.descents, lanes.expansion
    roles = tree.stats.shape[1]
    total = 0
    i = 0
    k = 0
    leaf = np.int32(-1)
    descent, count, chooser, size, made, whole = 0, 0, 0, np.int64(0), np.int64(0), False
    shift = ZERO
    offset = 0.0
    each = 0.0
    while i < n:
        used = np.int64(0)
        while used < 64 and i < n:
            if k == 0:
                descent = np.int64(descents.batch[i])
                leaf = descents.node[descent, descents.depth[descent]]
                if leaf < 0 or tree.node[leaf].status != OPEN:
                    i += 1
                    continue
                count, chooser = choosers(tree.stats, leaf)
                size = tree.stats[leaf, chooser].n_edges
                for role in range(roles):
                    size = max(size, tree.stats[leaf, role].n_edges)
                # A leaf that is new on this path may be an old node: only unexpanded ones are affordable.
                whole = is_expansion_due(tree, leaf, threshold) or (
                    tree.node[leaf].expanded == 0 and size <= affordable
                )
                if whole:
                    tree.node[leaf].expanded = 1
                made = size if whole else min(size, playouts)
                shift = random32(lanes.rng)
                offset = shift / 4294967296.0
                each = playouts / made
            index = k if whole else min(size - 1, np.int64((k + offset) * size / made))
            for role in range(roles):
                n_edges = tree.stats[leaf, role].n_edges
                turn = index if role == chooser else index + np.int64(shift >> np.uint64(4 * role & 15))
                expansion.edge[used, role] = tree.stats[leaf, role].first_edge + turn % n_edges
            if count > 1 or tree.edge[expansion.edge[used, chooser]].proven < 0.0:
                expansion.descent[used] = descent
                expansion.node[used] = leaf
                expansion.copies[used] = np.int64((k + 1) * each + offset) - np.int64(k * each + offset)
                used += 1
            k += 1
            if k == made:
                i += 1
                k = 0
        if used > 0:
            _make_children(programs, tree, lanes, used, n_fluents)
            total += used
    return total


@step
def _playouts_per_descent(costs):
    """Playouts that are worth a descent, by recent costs of both."""
    if costs[DESCENTS_MADE] < 1.0 or costs[PLAYOUTS_MADE] < 1.0:
        return FIRST_PLAYOUTS
    descent = costs[TREE_TIME] / costs[DESCENTS_MADE]
    playout = costs[PLAYOUT_TIME] / costs[PLAYOUTS_MADE]
    return min(MAX_PLAYOUTS, max(1, np.int64(PLAYOUT_SHARE * descent / max(1.0, playout) + 0.5)))


@inner_kernel()
def grow(programs, tree, lanes, parameters, n_fluents):
    """Makes a batch of descents and queues their playouts; returns the number of results without playouts."""
    descents, costs = lanes.descents, lanes.costs
    playouts = _playouts_per_descent(costs)
    batch = 4
    affordable = 64
    threshold = 4.0
    if costs[BATCHES] >= 1.0:
        batch = max(MIN_BATCH, np.int64(64.0 * costs[DESCENTS_MADE] / max(1.0, costs[LANES_USED])))
        playout = max(1.0, costs[PLAYOUT_TIME] / max(1.0, costs[PLAYOUTS_MADE]))
        per_child = costs[PASS_TIME] / max(1.0, costs[PASSES]) / 64.0
        affordable = np.int64(EXPANSION_SHARE * playouts * playout / max(1.0, per_child))
        threshold = per_child / playout / LATE_EXPANSION_SHARE
    root_visits = tree.node[tree.counts[ROOT]].visits
    batch = min(batch, MAX_PENDING // playouts, 1 + root_visits // (4 * playouts), MAX_BATCH)
    n_new, n_old, exact = lead_down(tree, lanes, parameters, max(1, batch), playouts, threshold)
    if n_new > 0:
        _make_leaves(programs, tree, lanes, n_new, n_fluents)
    n = n_new + n_old
    children = 0
    if n > 0:
        children = _expand(programs, tree, lanes, n, playouts, affordable, threshold, n_fluents)
    costs[DESCENTS_MADE] += n + exact
    results = exact
    for i in range(n):
        descent = descents.batch[i]
        if descents.missing[descent] == 0:
            back_up(tree, descents, lanes.counts, lanes.goals, lanes.rng, descent, parameters)
            results += 1
    costs[LANES_USED] += children
    costs[BATCHES] += 1.0
    for i in range(len(costs)):
        costs[i] *= FADING
    return results


@inner_kernel()
def lock(counts):
    """Waits for the lock; `unlock(counts, LOCK)` releases it. `counts` is a `SearchTree`'s."""
    spins = 0
    while not try_lock(counts, LOCK):
        spins += 1
        if spins & 63 == 0:
            yield_core()
