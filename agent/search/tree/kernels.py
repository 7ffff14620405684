"""Monte-Carlo tree search on a stream of lanes (Numba).

Each of 64 lanes descends the tree on its own, takes over the state it arrives at, makes the chosen move there, and
plays on at random; the new state becomes a node on the way. Goals come back when the lane's match is over, whatever
the others do: no batch waits for its slowest lane. UCT (Kocsis & Szepesvari 2006) per role (decoupled where roles move
at once: Shafiei et al. 2009), virtual loss (Chaslot et al. 2008), all-moves-as-first values (RAVE, Gelly & Silver
2007), proven values (MCTS-Solver, Winands et al. 2008, for any number of roles), transpositions.

Several threads may search one tree, each with its own `Lanes`: what touches the tree is under a spin lock, the circuit
is not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from agent.search.tree.store import (
    FIRST,
    GOAL,
    LOCK,
    N_EDGES,
    N_NODES,
    N_PLAYOUTS,
    OPEN,
    PROVEN,
    ROOT,
    SIZE,
    STATUS,
    TERMINAL,
    TOTAL,
    VISITS,
    add_node,
    choosers,
    get_child,
    prove,
    set_child,
)
from games.bits import aligned_words, lowest, popcount, transpose
from games.gdl.kernels import (
    ALL,
    ONE,
    ZERO,
    Chooser,
    Net,
    advance,
    choose_random,
    clear_sets,
    enter_move,
    evaluate,
    load_state,
    make_chooser,
    random32,
    reset,
    store_state,
)
from games.gdl.layout import FIRST_FLUENT, SLOT_TRUE

WIDTH = (0,)
MAX_DEPTH = 512
"""Longest path in the tree; deeper nodes are only played out from."""
MAX_PLIES = 4096
"""A playout longer than this is cut off; its goals count as they stand."""

_ACTIVE, _FORCED, _FRESH, _HELD = range(4)
"""Indices into `Lanes.mask`: lanes that play; that have a move to make from the tree; that just made it and may become
a node; whose finished match waits for its goals."""


class Lanes(NamedTuple):
    """What one thread works on: 64 matches under way, and 64 finished ones that wait for their goals to be evaluated.

    Paths are stored twice per lane: `side[lane]` says which belongs to the match under way, the other to the finished
    one.
    """

    slots: NDArray[np.uint64]
    goal_slots: NDArray[np.uint64]
    chooser: Chooser
    rng: NDArray[np.uint64]
    mask: NDArray[np.uint64]
    side: NDArray[np.int8]
    depth: NDArray[np.int32]
    """(2, 64) number of edges on the path."""
    node: NDArray[np.int32]
    """(2, 64, MAX_DEPTH + 1) nodes on the path; one more than edges if it ends in a node."""
    edge: NDArray[np.int32]
    """(2, 64, MAX_DEPTH, roles)."""
    settled: NDArray[np.int32]
    """(2, 64, MAX_DEPTH) the proven child that a node is worth where the path goes on only to look for more; or -1."""
    leaf: NDArray[np.int32]
    """(2, 64) the terminal node that the match ended in, if it is one of the tree; else -1."""
    grow: NDArray[np.bool_]
    """(64) whether the state after the forced move is to become a node."""
    plies: NDArray[np.int32]
    """(64) plies played since the lane left the tree."""
    played: NDArray[np.uint64]
    """Per move (all roles), the lanes in whose match it was made."""
    held_played: NDArray[np.uint64]
    trail: NDArray[np.int32]
    """(2, 64, n) moves of a one-player match after the tree; n = 0 with more players."""
    trail_size: NDArray[np.int32]
    best_line: NDArray[np.int32]
    """The best match of a single player found so far, as moves from the root; [0] is its length."""
    best_goal: NDArray[np.float64]
    """Its goal, -1 before there is one."""
    work: NDArray[np.float64]
    """Running figures: [0] finished playouts, [1] plies played in them."""


class Parameters(NamedTuple):
    """How to search."""

    exploration: NDArray[np.float64]
    """Per role, the weight of the exploration term."""
    best_goal: NDArray[np.float64]
    """Per role, the highest goal (0..1) the rules name."""
    worst_goal: NDArray[np.float64]
    """Per role, the lowest."""
    random_role: int
    """The role that moves at random, or -1."""
    like_weight: float
    """Playouts that the all-moves-as-first value of a move is worth (k in RAVE's schedule); 0 turns it off."""


def new_lanes(net: Net, seed: int) -> Lanes:
    """Lanes for a game, with a random generator of their own."""
    roles = len(net.role_start) - 1
    moves = len(net.legal_slot)
    trail = MAX_PLIES if roles == 1 else 0
    lanes = Lanes(
        slots=aligned_words(net.n_slots),
        goal_slots=aligned_words(net.n_goal_slots),
        chooser=make_chooser(net),
        rng=np.array([seed], np.uint64),
        mask=np.zeros(4, np.uint64),
        side=np.zeros(64, np.int8),
        depth=np.zeros((2, 64), np.int32),
        node=np.zeros((2, 64, MAX_DEPTH + 1), np.int32),
        edge=np.zeros((2, 64, MAX_DEPTH, roles), np.int32),
        settled=np.full((2, 64, MAX_DEPTH), -1, np.int32),
        leaf=np.full((2, 64), -1, np.int32),
        grow=np.zeros(64, np.bool_),
        plies=np.zeros(64, np.int32),
        played=np.zeros(moves, np.uint64),
        held_played=np.zeros(moves, np.uint64),
        trail=np.zeros((2, 64, trail), np.int32),
        trail_size=np.zeros((2, 64), np.int32),
        best_line=np.zeros(trail + MAX_DEPTH + 2, np.int32),
        best_goal=np.full(1, -1.0),
        work=np.array([1.0, 20.0]),
    )
    clear_lanes(net, lanes)
    return lanes


@njit(cache=True, nogil=True)
def clear_lanes(net, lanes):
    """Drops all matches under way."""
    reset(net, lanes.slots, WIDTH)
    lanes.goal_slots[:] = ZERO
    lanes.goal_slots[SLOT_TRUE] = ALL
    lanes.mask[:] = ZERO
    lanes.played[:] = ZERO
    lanes.held_played[:] = ZERO


# -- the lock ---------------------------------------------------------------------------------------------------------


def _try_lock(typing_context: Any, array: Any, index: Any) -> Any:
    """`try_lock(array: int64[:], index) -> bool`: atomically turns a 0 into a 1."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        word = ir.IntType(64)
        pointer = builder.gep(data, [arguments[1]])
        result = builder.cmpxchg(pointer, ir.Constant(word, 0), ir.Constant(word, 1), "acquire", "monotonic")
        return builder.extract_value(result, 1)

    return types.boolean(array, types.int64), generate


def _unlock(typing_context: Any, array: Any, index: Any) -> Any:
    """`unlock(array: int64[:], index)`: sets the lock back to 0."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.gep(data, [arguments[1]])
        builder.store_atomic(ir.Constant(ir.IntType(64), 0), pointer, "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


def _give_way(typing_context: Any) -> Any:
    """`give_way()`: lets another thread have the core (POSIX sched_yield)."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), "sched_yield")
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


try_lock: Any = intrinsic(_try_lock)
unlock: Any = intrinsic(_unlock)
give_way: Any = intrinsic(_give_way)


@njit(cache=True, nogil=True)
def _lock(tree):
    spins = 0
    while not try_lock(tree.counts, LOCK):
        spins += 1
        if spins & 63 == 0:
            give_way()


# -- descending -------------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, inline="always")
def _select(tree, node, role, lone, parameters, rng):
    """The edge to follow for a role, by the highest upper confidence bound, and the proven child that is better.

    Following a proven child tells nothing new: where one is best, the most promising open edge is followed instead, and
    the second result is the proven child that the node is worth (else -1).
    """
    begin = tree.node[node, FIRST + 4 * role]
    size = tree.node[node, SIZE + 4 * role]
    if size == 1:
        return begin, np.int32(-1)
    start = np.int64((random32(rng) * np.uint64(size)) >> np.uint64(32))
    if role == parameters.random_role:
        return begin + start, np.int32(-1)
    visits = max(1, tree.node[node, VISITS])
    log_visits = np.log(visits + 1.0)
    c = parameters.exploration[role]
    like = parameters.like_weight
    mean = tree.value[node, TOTAL + 4 * role] / visits
    best = np.int64(-1)
    best_score = -1e30
    exact = np.int64(-1)
    exact_score = parameters.worst_goal[role]
    for k in range(size):
        edge = begin + start + k
        if edge >= begin + size:
            edge -= size
        if lone:
            child = tree.edge[edge].child
            if child >= 0 and tree.node[child, STATUS] == PROVEN:
                score = tree.value[child, GOAL + 4 * role] - 1e-3
                if score > exact_score:
                    exact_score = score
                    exact = edge
                continue
        tried = tree.edge[edge].tried
        value = tree.edge[edge].won / tried if tried > 0 else mean
        if like > 0.0 and tree.edge[edge].like_tried > 0.0:
            n = tree.edge[edge].like_tried
            beta = n / (n + tried + tried * n / like)
            value += beta * (tree.edge[edge].like_won / n - value)
        score = value + c * np.sqrt(log_visits / (tried + 0.25))
        if score > best_score:
            best_score = score
            best = edge
    if best < 0:
        return exact if exact >= 0 else begin + start, np.int32(-1)
    return best, tree.edge[exact].child if exact >= 0 and exact_score >= best_score else np.int32(-1)


_LEAF, _EXACT = 0, 1


@njit(cache=True, nogil=True, inline="always")
def _descend(net, tree, lanes, lane, parameters, threshold):
    """Leads a lane from the root to where the tree ends (_LEAF), or to a node whose value is proven (_EXACT)."""
    side = lanes.side[lane]
    roles = len(net.role_start) - 1
    node = np.int32(tree.counts[ROOT])
    depth = 0
    bit = ONE << np.uint64(lane)
    lanes.leaf[side, lane] = -1
    lanes.grow[lane] = False
    lanes.trail_size[side, lane] = 0
    while True:
        tree.node[node, VISITS] += 1
        lanes.node[side, lane, depth] = node
        lanes.depth[side, lane] = depth
        if tree.node[node, STATUS] != OPEN or depth == MAX_DEPTH:
            if tree.node[node, STATUS] == PROVEN:
                return _EXACT
            if tree.node[node, STATUS] == TERMINAL:
                lanes.leaf[side, lane] = node
            lanes.mask[_FORCED] &= ~bit
            return _LEAF
        count, _ = choosers(tree, node)
        edges = lanes.edge[side, lane, depth]
        lanes.settled[side, lane, depth] = -1
        for role in range(roles):
            edge, settled = _select(tree, node, role, count <= 1, parameters, lanes.rng)
            if settled >= 0:
                lanes.settled[side, lane, depth] = settled
            edges[role] = edge
            tree.edge[edge].tried += 1
            lanes.played[tree.edge[edge].move] |= bit
        child = get_child(tree, node, edges)
        if child < 0:
            lanes.mask[_FORCED] |= bit
            lanes.depth[side, lane] = depth + 1
            least = tree.edge[edges[0]].tried
            for role in range(roles):
                least = min(least, tree.edge[edges[role]].tried)
            lanes.grow[lane] = least >= threshold
            return _LEAF
        node = child
        depth += 1


@njit(cache=True, nogil=True, inline="always")
def _back_up(tree, lanes, lane, side, goals, bit, played, parameters):
    """Adds a finished match's goals (0..1 per role) along its path, and proves what can be proven, leaf to root.

    `bit` is the lane's bit in the words of `played`, or 0 where the path ended in a proven node and nothing was played
    out. Above a node that a proven child settles, that child's goals count (`goals` is overwritten).
    """
    roles = len(goals)
    depth = lanes.depth[side, lane]
    leaf = lanes.leaf[side, lane]
    if leaf >= 0 and tree.node[leaf, STATUS] != PROVEN:
        for role in range(roles):
            tree.value[leaf, GOAL + 4 * role] = goals[role]
        tree.node[leaf, STATUS] = PROVEN
    like = parameters.like_weight > 0.0 and bit != ZERO
    proving = leaf >= 0 or bit == ZERO
    for d in range(depth - 1, -1, -1):
        node = lanes.node[side, lane, d]
        settled = lanes.settled[side, lane, d]
        for role in range(roles):
            if tree.node[node, SIZE + 4 * role] > 1:
                tree.edge[lanes.edge[side, lane, d, role]].won += goals[role]
                if like:
                    begin = tree.node[node, FIRST + 4 * role]
                    for edge in range(begin, begin + tree.node[node, SIZE + 4 * role]):
                        if played[tree.edge[edge].move] & bit != ZERO:
                            tree.edge[edge].like_tried += np.float32(1.0)
                            tree.edge[edge].like_won += np.float32(goals[role])
        for role in range(roles):
            if settled >= 0:
                goals[role] = tree.value[settled, GOAL + 4 * role]
            tree.value[node, TOTAL + 4 * role] += goals[role]
        if proving:
            proving = prove(tree, node, parameters.best_goal, parameters.random_role)
    tree.counts[N_PLAYOUTS] += 1


@njit(cache=True, nogil=True)
def _note_best_line(tree, lanes, lane, side, goal):
    """Keeps the whole match of a single player if it is the best so far."""
    if goal <= lanes.best_goal[0]:
        return
    # Another thread may read the line at any time: it is empty while it is written.
    lanes.best_line[0] = 0
    n = 0
    for d in range(lanes.depth[side, lane]):
        lanes.best_line[n + 1] = tree.edge[lanes.edge[side, lane, d, 0]].move
        n += 1
    for i in range(lanes.trail_size[side, lane]):
        lanes.best_line[n + 1] = lanes.trail[side, lane, i]
        n += 1
    lanes.best_goal[0] = goal
    lanes.best_line[0] = n


@njit(cache=True, nogil=True, inline="always")
def _collect(net, tree, lanes, parameters, goals):
    """Evaluates the goals of all held matches and backs them up."""
    held = lanes.mask[_HELD]
    if held == ZERO:
        return
    evaluate(net.goal, lanes.goal_slots, WIDTH)
    roles = len(net.role_start) - 1
    _lock(tree)
    rest = held
    while rest != ZERO:
        lane = lowest(rest)
        bit = ONE << np.uint64(lane)
        rest &= ~bit
        goals[:] = -1.0
        for i in range(len(net.goal_slot)):
            if lanes.goal_slots[net.goal_slot[i]] & bit != ZERO:
                role = net.goal_role[i]
                # Two values at once are no value.
                goals[role] = net.goal_value[i] / 100.0 if goals[role] == -1.0 else -2.0
        for role in range(roles):
            goals[role] = max(goals[role], 0.0)
        side = 1 - lanes.side[lane]
        if lanes.trail.shape[2] > 0:
            _note_best_line(tree, lanes, lane, side, goals[0])
        _back_up(tree, lanes, lane, side, goals, bit, lanes.held_played, parameters)
    unlock(tree.counts, LOCK)
    lanes.mask[_HELD] = ZERO


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
            if lanes.mask[_FORCED] >> np.uint64(lane) & ONE:
                last -= 1
            block[lane] = tree.state[lanes.node[side, lane, last], word]
        transpose(block)
        for f in range(64 * word, min(64 * word + 64, n_fluents)):
            at = FIRST_FLUENT + f
            lanes.slots[at] = (lanes.slots[at] & ~which) | block[f - 64 * word]


@njit(cache=True, nogil=True, inline="always")
def _restart(net, tree, lanes, parameters, goals, n_fluents):
    """Sends every idle lane down the tree again; returns how many descents ended in proven nodes, done with at once."""
    idle = ~lanes.mask[_ACTIVE]
    started = ZERO
    exact = 0
    filled = max(tree.counts[N_NODES] / len(tree.node), tree.counts[N_EDGES] / len(tree.edge))
    threshold = 1
    if filled > 0.125:
        threshold = 4 if filled < 0.25 else (16 if filled < 0.5 else (64 if filled < 0.75 else 256))
    _lock(tree)
    rest = idle
    while rest != ZERO and tree.node[tree.counts[ROOT], STATUS] == OPEN:
        lane = lowest(rest)
        bit = ONE << np.uint64(lane)
        rest &= ~bit
        for _ in range(4):
            if tree.node[tree.counts[ROOT], STATUS] != OPEN:
                break
            if _descend(net, tree, lanes, lane, parameters, threshold) == _LEAF:
                started |= bit
                break
            side = lanes.side[lane]
            node = lanes.node[side, lane, lanes.depth[side, lane]]
            for role in range(len(goals)):
                goals[role] = tree.value[node, GOAL + 4 * role]
            _back_up(tree, lanes, lane, side, goals, ZERO, lanes.played, parameters)
            exact += 1
            for i in range(len(lanes.played)):
                lanes.played[i] &= ~bit
    unlock(tree.counts, LOCK)
    if started != ZERO:
        _load_lanes(tree, lanes, started, n_fluents)
        lanes.mask[_ACTIVE] |= started
        rest = started
        while rest != ZERO:
            lanes.plies[lowest(rest)] = 0
            rest &= rest - ONE
    return exact


@njit(cache=True, nogil=True, inline="always")
def _grow_tree(net, tree, lanes, over, state):
    """Makes nodes of the states that fresh lanes have reached by their first move out of the tree."""
    rest = lanes.mask[_FRESH]
    lanes.mask[_FRESH] = ZERO
    locked = False
    while rest != ZERO:
        lane = lowest(rest)
        bit = ONE << np.uint64(lane)
        rest &= ~bit
        if not lanes.grow[lane]:
            continue
        if not locked:
            _lock(tree)
            locked = True
        side = lanes.side[lane]
        last = lanes.depth[side, lane] - 1
        parent = lanes.node[side, lane, last]
        edges = lanes.edge[side, lane, last]
        child = get_child(tree, parent, edges)
        if child < 0:
            store_state(net, lanes.slots, WIDTH, lane, state)
            child = add_node(net, tree, state, lanes.slots, lane, over & bit != ZERO)
            if child >= 0:
                set_child(tree, parent, edges, child)
        if child >= 0 and tree.node[child, STATUS] == TERMINAL:
            lanes.leaf[side, lane] = child
    if locked:
        unlock(tree.counts, LOCK)


@njit(cache=True, nogil=True, inline="always")
def _enter_moves(net, tree, lanes, over):
    """Enters the moves of all active lanes that are not over: from the tree where there is one, random ones elsewhere.

    Returns the lanes in which some role has no legal move.
    """
    roles = len(net.role_start) - 1
    clear_sets(net, lanes.slots, WIDTH)
    forced = lanes.mask[_FORCED] & lanes.mask[_ACTIVE]
    rest = forced
    while rest != ZERO:
        lane = lowest(rest)
        bit = ONE << np.uint64(lane)
        rest &= ~bit
        side = lanes.side[lane]
        for role in range(roles):
            enter_move(
                net,
                lanes.slots,
                WIDTH,
                0,
                tree.edge[lanes.edge[side, lane, lanes.depth[side, lane] - 1, role]].move,
                bit,
            )
    playing = lanes.mask[_ACTIVE] & ~over & ~forced
    stuck = ZERO
    chooser = lanes.chooser
    if playing != ZERO:
        for role in range(roles):
            n, dead = choose_random(net, lanes.slots, WIDTH, 0, role, playing, lanes.rng, chooser)
            stuck |= dead
            for i in range(n):
                chosen = chooser.chosen[i]
                if chosen != ZERO:
                    enter_move(net, lanes.slots, WIDTH, 0, chooser.move[i], chosen)
                    lanes.played[chooser.move[i]] |= chosen
                    if lanes.trail.shape[2] > 0:
                        while chosen != ZERO:
                            lane = lowest(chosen)
                            chosen &= chosen - ONE
                            side = lanes.side[lane]
                            n_trail = lanes.trail_size[side, lane]
                            if n_trail < lanes.trail.shape[2]:
                                lanes.trail[side, lane, n_trail] = chooser.move[i]
                                lanes.trail_size[side, lane] = n_trail + 1
    lanes.mask[_FORCED] &= ~forced
    lanes.mask[_FRESH] = forced
    return stuck


@njit(cache=True, nogil=True, inline="always")
def _hold(net, tree, lanes, over, parameters, goals, n_fluents):
    """Puts finished matches aside until their goals are evaluated; their lanes are idle afterwards."""
    if over & lanes.mask[_HELD] != ZERO:
        _collect(net, tree, lanes, parameters, goals)
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
    lanes.mask[_HELD] |= over
    lanes.mask[_ACTIVE] &= ~over


@njit(cache=True, nogil=True)
def search(net, tree, lanes, parameters, stop, playouts):
    """Searches until `stop[0]` is not 0, the root is proven, or these lanes have finished about so many more playouts.

    Matches under way stay in the lanes for the next call. Returns the number of playouts finished.
    """
    n_fluents = len(net.next_slot)
    state = np.zeros(tree.state.shape[1], np.uint64)
    goals = np.zeros(len(net.role_start) - 1, np.float64)
    keep = np.full(1, ALL)
    done = 0
    ply = 0
    step_work = len(net.legal.inputs) + len(net.next.inputs) + 500
    while stop[0] == 0 and done < playouts and tree.node[tree.counts[ROOT], STATUS] == OPEN:
        if popcount(lanes.mask[_ACTIVE]) <= 60:
            done += _restart(net, tree, lanes, parameters, goals, n_fluents)
            if lanes.mask[_ACTIVE] == ZERO:
                if lanes.mask[_HELD] != ZERO:
                    done += popcount(lanes.mask[_HELD])
                    _collect(net, tree, lanes, parameters, goals)
                continue
        evaluate(net.legal, lanes.slots, WIDTH)
        over = lanes.slots[net.terminal_slot] & lanes.mask[_ACTIVE]
        if lanes.mask[_FRESH] != ZERO:
            _grow_tree(net, tree, lanes, over, state)
        over &= ~lanes.mask[_FORCED]
        over |= _enter_moves(net, tree, lanes, over)
        rest = lanes.mask[_ACTIVE]
        lanes.work[1] += popcount(rest)
        ply += 1
        if ply & 63 == 0:
            while rest != ZERO:
                lane = lowest(rest)
                rest &= rest - ONE
                lanes.plies[lane] += 64
                if lanes.plies[lane] > MAX_PLIES and not lanes.mask[_FRESH] >> np.uint64(lane) & ONE:
                    over |= ONE << np.uint64(lane)
        if over != ZERO:
            _hold(net, tree, lanes, over, parameters, goals, n_fluents)
            done += popcount(over)
            # A small goal net is evaluated at once; a large one when enough matches share it.
            playout_work = lanes.work[1] / lanes.work[0] * step_work / 64.0
            share = 4.0 * len(net.goal.inputs) / playout_work
            if popcount(lanes.mask[_HELD]) >= min(48.0, max(1.0, share)):
                _collect(net, tree, lanes, parameters, goals)
        evaluate(net.next, lanes.slots, WIDTH)
        advance(net, lanes.slots, WIDTH, keep)
    return done


@njit(cache=True, nogil=True)
def finish(net, tree, lanes, parameters):
    """Backs up what is finished, and takes back the virtual losses of matches under way, which are dropped."""
    goals = np.zeros(len(net.role_start) - 1, np.float64)
    _collect(net, tree, lanes, parameters, goals)
    _lock(tree)
    rest = lanes.mask[_ACTIVE]
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
    clear_lanes(net, lanes)


@njit(cache=True, nogil=True)
def root_node(net, tree, lanes, state):
    """The node of a state, made if it is not in the tree (lanes must be clear); -1 if it does not fit."""
    load_state(net, lanes.slots, WIDTH, 0, state)
    evaluate(net.legal, lanes.slots, WIDTH)
    over = lanes.slots[net.terminal_slot] & ONE != ZERO
    return add_node(net, tree, state, lanes.slots, 0, over)
