"""From finished matches back to the root: goals and proofs along a descent's path, the best line of a single player.

In all kernels `programs` is a `CircuitPrograms`, `tree` a `SearchTree`, `lanes` a `SearchWorkspace`, `descents` its
`Descents`, `parameters` a `Parameters`; `descent` is an integer, `goals` float64[roles], 0..1.
"""

from __future__ import annotations

import numpy as np

from agent.search.tree.move_averages import note_moves
from agent.search.tree.proofs import note_proven_child, prove
from agent.search.tree.regret import EXPLORED, add_regrets
from agent.search.tree.store import MIXED, N_PLAYOUTS, OPEN, choosers
from agent.search.tree.workspace import HELD, MAX_DEPTH, N_FREE
from games.bits.inner import inner_kernel, step
from games.bits.locks import fence
from games.bits.words import lowest, popcount
from games.gdl.running.goals import read_goals
from games.gdl.running.kernels import NARROW, ONE, ZERO, evaluate

AMAF_VISITS = 200.0
"""Visits at which a node's all-moves-as-first values freeze, as a multiple of RAVE's equivalence parameter: by then
most moves are judged by their own results."""

NO_EDGE, NO_TRAIL = np.int32(-1), np.int32(0)
"""Arguments of `note_best_line` for a match that ended in the tree."""


@step
def _take_best_proven(tree, leaf, descents, descent, parameters):
    """Counts the goals of a leaf's proven child instead of its results, if they are better for the chooser."""
    count, chooser = choosers(tree.stats, leaf)
    if count != 1 or chooser == parameters.random_role or descents.results[descent] == 0:
        return
    best = np.int64(-1)
    best_goal = descents.sums[descent, chooser] / descents.results[descent]
    begin = tree.stats[leaf, chooser].first_edge
    for edge in range(begin, begin + tree.stats[leaf, chooser].n_edges):
        if tree.edge[edge].proven > best_goal:
            best = edge
            best_goal = tree.edge[edge].proven
    if best >= 0:
        fence()
        child = tree.edge[best].child
        for role in range(tree.stats.shape[1]):
            descents.sums[descent, role] = tree.stats[child, role].goal * descents.results[descent]


@inner_kernel()
def back_up(tree, descents, counts, goals, rng, descent, parameters):
    """Adds a descent's results along its path, proves nodes from leaf to root, and frees the descent.

    A proven leaf counts as all expected results. Above a node with a better proven child, that child's goals count;
    above a node where a role explored, the node's mean: poor moves on trial say nothing about its value.
    """
    roles = tree.stats.shape[1]
    depth = np.int64(descents.depth[descent])
    expected = descents.expected[descent]
    leaf = descents.node[descent, depth]
    proving = False
    if leaf >= 0:
        proving = prove(
            tree,
            leaf,
            parameters.best_goal,
            parameters.worst_goal,
            parameters.random_role,
            descents.edge[descent, min(depth, MAX_DEPTH - 1)],
            goals,
        )
        if proving:
            descents.results[descent] = expected
            for role in range(roles):
                descents.sums[descent, role] = tree.stats[leaf, role].goal * expected
        elif tree.node[leaf].status == OPEN:
            _take_best_proven(tree, leaf, descents, descent, parameters)
        tree.node[leaf].pending -= expected
        tree.node[leaf].visits += descents.results[descent]
        for role in range(roles):
            tree.stats[leaf, role].total += descents.sums[descent, role]
    if descents.played[descent] == 0:
        tree.counts[N_PLAYOUTS] += 1
    results = descents.results[descent]
    for d in range(depth - 1, -1, -1):
        node = descents.node[descent, d]
        proven_child = descents.proven_child[descent, d]
        if proving:
            note_proven_child(tree, node, descents.edge[descent, d], descents.node[descent, d + 1])
        if tree.node[node].expanded == MIXED and results > 0:
            edges = descents.edge[descent, d]
            add_regrets(tree, node, edges, descents.sums[descent], results, parameters.random_role, rng)
        tree.node[node].pending -= expected
        tree.node[node].visits += results
        for role in range(roles):
            total = descents.sums[descent, role]
            if tree.stats[node, role].n_edges > 1:
                edge = descents.edge[descent, d, role]
                tree.edge[edge].pending -= expected
                tree.edge[edge].visits += results
                tree.edge[edge].total += total
            if proven_child >= 0:
                total = tree.stats[proven_child, role].goal * results
                descents.sums[descent, role] = total
            elif proven_child == EXPLORED and tree.node[node].visits > results:
                total = tree.stats[node, role].total / (tree.node[node].visits - results) * results
                descents.sums[descent, role] = total
            tree.stats[node, role].total += total
        if proving:
            proving = prove(
                tree,
                node,
                parameters.best_goal,
                parameters.worst_goal,
                parameters.random_role,
                descents.edge[descent, d],
                goals,
            )
    descents.free[counts[N_FREE]] = descent
    counts[N_FREE] += 1


@step
def _add_amaf(tree, lanes, descent, which, played, parameters):
    """Credits the moves played in the lanes of `which` (a word) at every node of the descent's path.

    All moves as first (RAVE, Gelly & Silver 2007). `played` is uint64[moves]; the goals are `lanes.lane_goals`.
    """
    descents = lanes.descents
    settled = AMAF_VISITS * parameters.rave_equivalence
    for d in range(descents.depth[descent] + 1):
        node = descents.node[descent, d]
        if node < 0:
            break
        if tree.node[node].visits > settled or tree.node[node].expanded == MIXED:
            continue
        for role in range(tree.stats.shape[1]):
            size = tree.stats[node, role].n_edges
            if size <= 1 or role == parameters.random_role:
                continue
            # Unsigned indices: Numba checks signed ones for counting from the end.
            begin = np.uint64(tree.stats[node, role].first_edge)
            n_goals = lanes.n_goals[role]
            value, of_value = lanes.goal_value[role, 0], lanes.goal_word[role, 0]
            for edge in range(begin, begin + np.uint64(size)):
                word = played[np.uint64(tree.edge[edge].move)] & which
                if word != ZERO:
                    total = value * popcount(word & of_value)
                    for i in range(1, n_goals):
                        total += lanes.goal_value[role, i] * popcount(word & lanes.goal_word[role, i])
                    tree.amaf[edge].visits += np.float32(popcount(word))
                    tree.amaf[edge].total += np.float32(total)


@step
def _sort_goals(lanes, which, roles):
    """Lists each role's goals above 0 in the lanes of `which` (a word), with their lanes."""
    for role in range(roles):
        n = 0
        rest = which
        while rest != ZERO:
            goal = lanes.lane_goals[lowest(rest), role]
            same = ZERO
            others = rest
            while others != ZERO:
                lane = lowest(others)
                others &= others - ONE
                if lanes.lane_goals[lane, role] == goal:
                    same |= ONE << np.uint64(lane)
            rest &= ~same
            if goal != 0.0:
                lanes.goal_value[role, n] = goal
                lanes.goal_word[role, n] = same
                n += 1
        if n == 0:
            # The first one is read unconditionally.
            lanes.goal_word[role, 0] = ZERO
        lanes.n_goals[role] = n


@inner_kernel()
def add_results(role_start, tree, lanes, which, parameters):
    """Counts the finished matches of the lanes in `which` (a word), with goals `lanes.lane_goals`.

    They count at the edges by which they left the tree, and at their descents, which are backed up once complete.
    `role_start` is that of `CircuitPrograms`.
    """
    descents, descent_of, played = lanes.descents, lanes.descent, lanes.held_played
    amaf = parameters.rave_equivalence > 0.0
    rest = which
    while rest != ZERO:
        lane = lowest(rest)
        rest &= rest - ONE
        match = 1 - np.int64(lanes.current[lane])
        descent = descent_of[match, lane]
        descents.lanes[descent] |= ONE << np.uint64(lane)
        descents.missing[descent] -= 1
        descents.played[descent] += 1
        descents.results[descent] += 1
        for role in range(tree.stats.shape[1]):
            goal = lanes.lane_goals[lane, role]
            descents.sums[descent, role] += goal
            lanes.moments[0, role] += 1.0
            lanes.moments[1, role] += goal
            lanes.moments[2, role] += goal * goal
            edge = lanes.edge[match, lane, role]
            if edge >= 0:
                tree.edge[edge].visits += 1
                tree.edge[edge].total += goal
        tree.counts[N_PLAYOUTS] += 1
    _sort_goals(lanes, which, tree.stats.shape[1])
    made, worth, draws = lanes.made, lanes.move_workspace.worth, parameters.draws
    note_moves(role_start, made, worth, lanes.n_goals, lanes.goal_value, lanes.goal_word, which, played, draws)
    rest = which
    while rest != ZERO:
        lane = lowest(rest)
        descent = descent_of[1 - np.int64(lanes.current[lane]), lane]
        together = descents.lanes[descent]
        descents.lanes[descent] = ZERO
        rest &= ~together
        if amaf:
            _add_amaf(tree, lanes, descent, together, played, parameters)
        if descents.missing[descent] == 0:
            back_up(tree, descents, lanes.counts, lanes.goals, lanes.rng, descent, parameters)


@inner_kernel()
def note_best_line(edges, descents, best_line, best_goal, descent, edge, trail, trail_size, goal):
    """Keeps a single player's match with goal `goal` (0..1) if it is the best so far.

    It consists of the descent's path, the edge by which it left the tree (-1 for none), and the first `trail_size`
    moves of `trail` (int32[n]). `edges` are those of the tree; `best_line` and `best_goal` are the workspace's.
    """
    if goal <= best_goal[0]:
        return
    # Another thread may read the line at any time: it is empty while it is written.
    best_line[0] = 0
    n = 0
    for d in range(descents.depth[descent]):
        best_line[n + 1] = edges[descents.edge[descent, d, 0]].move
        n += 1
    if edge >= 0:
        best_line[n + 1] = edges[edge].move
        n += 1
    for i in range(trail_size):
        best_line[n + 1] = trail[i]
        n += 1
    best_goal[0] = goal
    best_line[0] = n


@inner_kernel()
def collect(programs, tree, lanes, parameters):
    """Evaluates the goals of all held matches and backs them up."""
    held = lanes.mask[HELD]
    if held == ZERO:
        return
    goal_slot, goal_role, goal_value = programs.goal_slot, programs.goal_role, programs.goal_value
    evaluate(programs.goal, lanes.goal_slots, NARROW)
    roles = tree.stats.shape[1]
    rest = held
    while rest != ZERO:
        lane = lowest(rest)
        rest &= rest - ONE
        read_goals(goal_slot, goal_role, goal_value, lanes.goal_slots, lane, lanes.goals)
        for role in range(roles):
            lanes.lane_goals[lane, role] = lanes.goals[role] / 100.0
        if lanes.trail.shape[2] > 0:
            match = 1 - np.int64(lanes.current[lane])
            descent, edge, goal = lanes.descent[match, lane], lanes.edge[match, lane, 0], lanes.lane_goals[lane, 0]
            trail, size = lanes.trail[match, lane], lanes.trail_size[match, lane]
            line, best_goal = lanes.best_line, lanes.best_goal
            note_best_line(tree.edge, lanes.descents, line, best_goal, descent, edge, trail, size, goal)
    add_results(programs.role_start, tree, lanes, held, parameters)
    lanes.mask[HELD] = ZERO
