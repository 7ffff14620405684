"""Monte-Carlo tree search with a solver, as one Numba kernel on flat arrays.

Selection is PUCT (Rosin 2011, as in AlphaZero); a leaf's value is a mix of `win_probability` and a random playout, as
in AlphaGo (Silver et al. 2016). Proven results are backed up as in MCTS-Solver (Winands, Björnsson, Saito 2008): a
winning move is taken at once, a lost move is never visited again.

Values and proofs of a node are those of the player who *moved into it*.

Several threads may grow one tree. Visits are counted on the way down, which sends the next thread elsewhere (virtual
loss); each thread takes new nodes from its own region; a node gets its children only when they are complete. Expanding
a node twice, or losing one of two concurrent sums, costs a little and breaks nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.blokbox.guiding.evaluation import N_FEATURES, take_features, value_logit
from agent.search.blokbox.guiding.network import (
    NetworkWorkspace,
    hidden_layer,
    network_priors,
    new_network_workspace,
    value_head,
)
from agent.search.blokbox.guiding.priors import move_priors
from games.bits.arrays import allocate, array
from games.bits.compiling import INNER, KERNEL
from games.native.blokbox.rules import (
    PlacementWorkspace,
    list_moves,
    new_placement_workspace,
    placements,
    play,
    playout,
)
from games.native.blokbox.variant import POSITION_WORDS, TURN, BlokboxVariant

LEAF = -1
"""`PuctTree.first` of a node that was not expanded."""
MOVED_IN_WINS = 1
MOVED_IN_LOSES = -1
"""Proofs of a node: the player who moved into it wins, or loses."""


class PuctTree(NamedTuple):
    """Nodes as parallel arrays; node 0 is the root, the children of a node are consecutive."""

    move: NDArray[np.int32]
    first: NDArray[np.int32]
    size: NDArray[np.int32]
    visits: NDArray[np.int32]
    wins: NDArray[np.float32]
    prior: NDArray[np.float32]
    proof: NDArray[np.int8]
    """`MOVED_IN_WINS` or `MOVED_IN_LOSES` where proven, else 0."""
    regions: NDArray[np.int64]
    """[threads, 2]: the next free node and the end of each thread's region."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.move) - int((self.regions[:, 1] - self.regions[:, 0]).sum())


class TreeWorkspace(NamedTuple):
    """Memory of one thread that grows a tree."""

    scratch: PlacementWorkspace
    """Four slots."""
    network: NetworkWorkspace
    everything: NDArray[np.int64]
    """[shapes]: all shapes."""
    seed: NDArray[np.uint64] = array(np.uint64, 1)
    """Seed of the playouts; see `rules.playout`."""
    live: NDArray[np.int64] = array(np.int64, 2, 2)
    """Number of live shapes of each player in the current position, and at the root."""
    moves: NDArray[np.int64] = array(np.int64, "moves")
    position: NDArray[np.uint64] = array(np.uint64, POSITION_WORDS)
    """Current position."""
    path: NDArray[np.int64] = array(np.int64, 130)
    """Nodes from the root to the current position."""
    features: NDArray[np.float64] = array(np.float64, 2, N_FEATURES)
    """See `evaluation.take_features`."""


def new_tree_workspace(variant: BlokboxVariant, seed: int) -> TreeWorkspace:
    """Memory for a thread, with a seed for its playouts."""
    given = {
        "scratch": new_placement_workspace(variant, 4),
        "network": new_network_workspace(len(variant.shapes)),
        "everything": np.arange(len(variant.shapes)),
    }
    workspace = allocate(TreeWorkspace, given, moves=len(variant.tables.effects))
    workspace.seed[0] = seed
    return workspace


def new_tree(capacity: int, threads: int = 1) -> PuctTree:
    """A tree with an unexpanded root and room for `capacity` nodes, to be grown by `threads` threads."""
    tree = PuctTree(
        move=np.zeros(capacity, np.int32),
        first=np.zeros(capacity, np.int32),
        size=np.zeros(capacity, np.int32),
        visits=np.zeros(capacity, np.int32),
        wins=np.zeros(capacity, np.float32),
        prior=np.zeros(capacity, np.float32),
        proof=np.zeros(capacity, np.int8),
        regions=np.zeros((threads, 2), np.int64),
    )
    clear(tree)
    return tree


def clear(tree: PuctTree) -> None:
    """Drop all nodes but an unexpanded root."""
    _divide(tree, 1)
    tree.first[0] = LEAF
    tree.visits[0] = 0
    tree.wins[0] = 0.0
    tree.proof[0] = 0


def _divide(tree: PuctTree, used: int) -> None:
    """Divide the nodes from `used` on among the threads."""
    borders = np.linspace(used, len(tree.move), len(tree.regions) + 1).astype(np.int64)
    tree.regions[:, 0] = borders[:-1]
    tree.regions[:, 1] = borders[1:]


@njit(inline="always")
def _choose(tree, node, tuning):
    """The child to visit next: one that wins, else the best by PUCT; -1 where all lose.

    `tree` is a PuctTree, `node` int64, `tuning` a Tuning.
    """
    first = tree.first[node]
    visits = tree.visits[node]
    root = tuning.exploration * np.sqrt(np.float64(visits))
    parent = 1.0 - tree.wins[node] / visits if visits else 0.5
    unvisited = parent - tuning.first_play
    best = -1
    best_score = -np.inf
    for child in range(first, first + tree.size[node]):
        proof = tree.proof[child]
        if proof == MOVED_IN_WINS:
            return child
        if proof == MOVED_IN_LOSES:
            continue
        count = tree.visits[child]
        value = tree.wins[child] / count if count else unvisited
        score = value + root * tree.prior[child] / (1 + count)
        if score > best_score:
            best_score = score
            best = child
        if count == 0:
            # The following ones have lower priors and no visits, but for those of other threads just now.
            break
    return best


@njit(**INNER)
def _sort(moves, priors, n):
    """Sort the first `n` of `moves` (int64[...]) and `priors` (float32[...]) by prior, highest first, then by move.

    Shell sort with Knuth's gaps: Numba's own sort costs seconds to compile.
    """
    gap = 1
    while gap < n:
        gap = 3 * gap + 1
    while gap > 1:
        gap = (gap - 1) // 3
        for index in range(gap, n):
            move, prior = moves[index], priors[index]
            place = index
            while place >= gap:
                other = priors[place - gap]
                if other > prior or (other == prior and moves[place - gap] < move):
                    break
                priors[place], moves[place] = other, moves[place - gap]
                place -= gap
            priors[place], moves[place] = prior, move


@njit(inline="always")
def _patience(tree, region, tuning):
    """Visits before a node is expanded: more as the memory runs out, to make it last.

    `tree` is a PuctTree, `region` int64, `tuning` a Tuning.
    """
    share = len(tree.move) // len(tree.regions)
    quarters = 4 * (tree.regions[region, 1] - tree.regions[region, 0]) // share
    if quarters >= 2:
        return tuning.patience
    return tuning.patience * (4 if quarters == 1 else 16)


@njit(inline="always")
def _examine(tables, workspace):
    """`take_features` of a TreeWorkspace's position, with `tables` the variant's."""
    live, scratch = workspace.live[0], workspace.scratch
    return take_features(
        tables, workspace.position, scratch.shapes[:2], live, scratch, np.int64(0), workspace.features, live
    )


@njit(inline="always")
def _expand(tables, tree, node, region, tuning, workspace):
    """Give a node its children, or prove it if it has none; returns False where memory is full.

    `tables` are the variant's, `tree` is a PuctTree, `node` and `region` are int64, `tuning` is a Tuning, `workspace` a
    TreeWorkspace with the node's position and live shapes.
    """
    scratch, position, live, moves = workspace.scratch, workspace.position, workspace.live[0], workspace.moves
    player = np.int64(position[TURN])
    total0, total1 = _examine(tables, workspace)
    total = total0 if player == 0 else total1
    if total == 0:
        tree.proof[node] = MOVED_IN_WINS
        return True
    first = tree.regions[region, 0]
    if first + total > tree.regions[region, 1]:
        return False
    tree.regions[region, 0] += total
    n = list_moves(scratch, player, live[player], moves)
    priors = tree.prior[first:]
    priors_of_moves(tables, position, tuning, scratch, live, moves, n, workspace.network, priors)
    _sort(moves, priors, n)
    for index in range(n):
        child = first + index
        tree.move[child] = moves[index]
        tree.first[child] = LEAF
        tree.visits[child] = 0
        tree.wins[child] = 0.0
        tree.proof[child] = 0
    tree.size[node] = n
    tree.first[node] = first
    return True


@njit(inline="always")
def _evaluate_leaf(tables, tuning, workspace):
    """The value (0..1) of a position for the player who moved into it, and its proof if easily seen, else 0.

    Arguments as of `_expand`.
    """
    scratch, position, live = workspace.scratch, workspace.position, workspace.live[0]
    player = np.int64(position[TURN])
    total0, total1 = _examine(tables, workspace)
    own, other = (total0, total1) if player == 0 else (total1, total0)
    if own == 0:
        return 1.0, MOVED_IN_WINS
    if other == 0:
        return 0.0, MOVED_IN_LOSES
    value = 0.0
    if tuning.playout_share < 1.0:
        own_probability = win_probability(
            tables, position, tuning, scratch, live, workspace.features, workspace.network
        )
        value += (1.0 - tuning.playout_share) * (1.0 - own_probability)
    if tuning.playout_share > 0.0:
        loser, _ = playout(tables, position, scratch, live, workspace.seed)
        if loser == player:
            value += tuning.playout_share
    return value, 0


@njit(**KERNEL)
def grow(tables, root, tree, region, tuning, n, stop, workspace):
    """Make up to `n` visits from the position `root`, until its result is proven or `stop[0]` is set.

    `tables` are the variant's, `root` is uint64[POSITION_WORDS], `tree` a PuctTree, `tuning` a Tuning, `stop` uint8[1],
    `workspace` a TreeWorkspace; `region` is the number of the thread. Returns the number of visits.
    """
    scratch, position, path, live = workspace.scratch, workspace.position, workspace.path, workspace.live
    for player in range(2):
        live[1, player], _ = placements(
            tables, root, player, workspace.everything, len(tables.piece), scratch, 2 + player
        )
    done = 0
    while done < n and stop[0] == 0 and tree.proof[0] == 0:
        for word in range(POSITION_WORDS):
            position[word] = root[word]
        for player in range(2):
            live[0, player] = live[1, player]
            for index in range(live[1, player]):
                scratch.shapes[player, index] = scratch.shapes[2 + player, index]
        node = 0
        depth = 0
        path[0] = 0
        tree.visits[0] += 1
        winner = -1
        while True:
            if tree.first[node] == LEAF:
                if node != 0 and tree.visits[node] <= _patience(tree, region, tuning):
                    break
                if not _expand(tables, tree, node, region, tuning, workspace):
                    break
                if tree.proof[node] == MOVED_IN_WINS:
                    winner = 1 - np.int64(position[TURN])
                    break
            child = _choose(tree, node, tuning)
            if child < 0:
                tree.proof[node] = MOVED_IN_WINS
                winner = 1 - np.int64(position[TURN])
                break
            if tree.proof[child] == MOVED_IN_WINS:
                tree.proof[node] = MOVED_IN_LOSES
                winner = np.int64(position[TURN])
                break
            play(tables, position, np.int64(tree.move[child]))
            node = child
            depth += 1
            path[depth] = node
            tree.visits[node] += 1
        # The leaf's value is of the player not to move there; up the path they alternate.
        leaf_turn = np.int64(position[TURN])
        if winner < 0:
            value, tree.proof[node] = _evaluate_leaf(tables, tuning, workspace)
        else:
            value = 1.0 if winner != leaf_turn else 0.0
        for level in range(depth, -1, -1):
            node = path[level]
            tree.wins[node] += value
            value = 1.0 - value
            if level > 0 and tree.proof[node] == MOVED_IN_WINS:
                tree.proof[path[level - 1]] = MOVED_IN_LOSES
        done += 1
    return done


def best_child(tree: PuctTree) -> int:
    """The child of the root to play: a winning one, else the most visited open one, else the most visited one.

    -1 if the root has no children.
    """
    first, size = int(tree.first[0]), int(tree.size[0])
    if first == LEAF or size == 0:
        return -1
    proofs, visits = tree.proof[first : first + size], tree.visits[first : first + size]
    # A proof decides before any number of visits; of equals, the first is taken.
    rank = visits + (np.int64(1) << 40) * (1 + proofs.astype(np.int64))
    return first + int(np.argmax(np.where(proofs == MOVED_IN_WINS, np.int64(1) << 50, rank)))


@njit(**KERNEL)
def _copy_subtree(tree, node, target, origin):
    """Copy the subtree below `node` of a PuctTree to another, breadth first; return its number of nodes.

    `origin` (int32[nodes]) is overwritten.
    """
    origin[0] = node
    used = 1
    index = 0
    while index < used:
        source = origin[index]
        target.move[index] = tree.move[source]
        target.visits[index] = tree.visits[source]
        target.wins[index] = tree.wins[source]
        target.prior[index] = tree.prior[source]
        target.proof[index] = tree.proof[source]
        target.size[index] = tree.size[source]
        target.first[index] = LEAF
        first = tree.first[source]
        if first != LEAF:
            target.first[index] = used
            for child in range(first, first + tree.size[source]):
                origin[used] = child
                used += 1
        index += 1
    return used


def keep_subtree(tree: PuctTree, node: int, target: PuctTree) -> None:
    """Copy the subtree below `node` into `target`, with `node` as the root; both have the same capacity."""
    _divide(target, int(_copy_subtree(tree, node, target, np.empty(len(tree.move), np.int32))))


@njit(**INNER)
def win_probability(tables, position, tuning, scratch, live, features, workspace):
    """The probability (float64, 0..1) that the player to move wins.

    `evaluation.take_features` must have filled slots 0 and 1 of `scratch`, `live` (int64[2]) and `features`
    (float64[2, N_FEATURES]). `tables` are the variant's, `position` is uint64[POSITION_WORDS], `tuning` a Tuning,
    `workspace` a NetworkWorkspace.
    """
    if len(tuning.network.rows) > 0:
        hidden_layer(tuning.network, position, scratch, np.int64(0), live, len(tables.piece), workspace)
        logit = np.float64(value_head(tuning.network, workspace.hidden, workspace.second))
    else:
        logit = value_logit(position, features, tuning.evaluation, tuning.room)
    return 1.0 / (1.0 + np.exp(-logit))


@njit(**INNER)
def priors_of_moves(tables, position, tuning, scratch, live, moves, n, workspace, priors):
    """Write the prior probabilities of the first `n` of `moves` (int64[...]) to `priors` (float32[...]).

    For the other arguments see `win_probability`.
    """
    if len(tuning.network.rows) > 0:
        hidden_layer(tuning.network, position, scratch, np.int64(0), live, len(tables.piece), workspace)
        network_priors(tables, tuning.network, position, scratch, np.int64(0), live, moves, n, workspace, priors)
    else:
        move_priors(tables, position, moves, n, tuning.prior_weights, workspace.boards, workspace.move_features, priors)
