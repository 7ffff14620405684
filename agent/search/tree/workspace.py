"""What one searching thread works on: 64 matches under way and their paths in the tree; and how to search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from games.bits.words import aligned_words
from games.gdl.running.batches import load_initial
from games.gdl.running.kernels import ALL, WIDTHS
from games.gdl.running.layout import SLOT_TRUE, CircuitPrograms
from games.gdl.running.playouts import MoveWorkspace, new_move_workspace

WIDTH = WIDTHS[1]
"""Kernels' width: slots of one 64-bit word."""
MAX_DEPTH = 512
"""Longest path in the tree; deeper nodes are only played out from. Bounds memory; not tuned."""
MAX_HORIZON = 32
"""Most random plies before a leaf is judged (see `Parameters.horizon`). Bounds memory; not tuned."""
MAX_PLIES = 4096
"""A playout longer than this is cut off; its goals count as they stand. Set by hand; not tuned."""

ACTIVE, FORCED, FRESH, HELD = range(4)
"""Indices into `SearchWorkspace.mask`: lanes that play; that have a move to make from the tree; that just made it, so
that their state may become a node; whose finished match waits for its goals."""


class Paths(NamedTuple):
    """What 64 matches did in the tree and after it, twice per lane: the match under way and the finished one."""

    depth: NDArray[np.int32]
    """(2, 64) number of edges on the path."""
    node: NDArray[np.int32]
    """(2, 64, MAX_DEPTH + 1) nodes on the path; one more than edges if it ends in a node."""
    edge: NDArray[np.int32]
    """(2, 64, MAX_DEPTH, roles) edges on the path."""
    proven_child: NDArray[np.int32]
    """(2, 64, MAX_DEPTH) the proven child that a node is worth where the path goes on only to look for more; or -1."""
    leaf: NDArray[np.int32]
    """(2, 64) the terminal node that the match ended in, if it is one of the tree; else -1."""
    trail: NDArray[np.int32]
    """(2, 64, n) moves of a one-player match after the tree; n = 0 with more players."""
    trail_size: NDArray[np.int32]
    """(2, 64) how many there are."""


class SearchWorkspace(NamedTuple):
    """One thread's memory: 64 matches under way, and 64 finished ones that wait for their goals to be evaluated.

    Kernels call it `lanes`: lane i is match i. `current[lane]` is the index of the path that belongs to the match under
    way, the other belongs to the finished one.
    """

    slots: NDArray[np.uint64]
    """(slots) a word of 64 lanes per signal of the circuit's legal and next programs."""
    goal_slots: NDArray[np.uint64]
    """(goal slots) the same for the goal program: final states of the finished matches."""
    move_workspace: MoveWorkspace
    """For drawing random moves."""
    rng: NDArray[np.uint64]
    """(1) state of the random generator."""
    mask: NDArray[np.uint64]
    """(4) sets of lanes: ACTIVE, FORCED, FRESH, HELD."""
    current: NDArray[np.int8]
    """(64) which of the two paths is that of the match under way: 0 or 1."""
    paths: Paths
    grow: NDArray[np.bool_]
    """(64) whether the state after the forced move is to become a node."""
    plies: NDArray[np.int32]
    """(64) plies played since the lane left the tree."""
    left_tree: NDArray[np.uint64]
    """(MAX_HORIZON + 1) `left_tree[n]`: the lanes that left the tree n plies ago."""
    played: NDArray[np.uint64]
    """(moves of all roles) the lanes in whose match under way the move was made: for all-moves-as-first."""
    held_played: NDArray[np.uint64]
    """(moves of all roles) the same for finished matches."""
    best_line: NDArray[np.int32]
    """(n + MAX_DEPTH + 2) the best match of a single player found so far, as moves from the root; [0] is its length."""
    best_goal: NDArray[np.float64]
    """(1) its goal (0..1), -1 before there is one."""
    playout_counts: NDArray[np.float64]
    """(2) [0] finished playouts, [1] plies played in them; they start as if one of 20 plies had been played."""
    state: NDArray[np.uint64]
    """(words) a packed state; this and what follows is overwritten at every use."""
    goals: NDArray[np.float64]
    """(roles) those of one match, 0..1."""
    sums: NDArray[np.float64]
    """(64, roles) the linear evaluation of each lane."""
    block: NDArray[np.uint64]
    """(64) a bit matrix to transpose."""
    keep: NDArray[np.uint64]
    """(1) all lanes: none begins again when states advance."""
    following: NDArray[np.uint64]
    """(fluents) the next state of all lanes."""


class Parameters(NamedTuple):
    """How to search."""

    exploration: NDArray[np.float64]
    """(roles) weight of the exploration term."""
    best_goal: NDArray[np.float64]
    """(roles) the highest goal (0..1) the rules name."""
    worst_goal: NDArray[np.float64]
    """(roles) the lowest."""
    random_role: int
    """The role that moves at random, or -1."""
    rave_equivalence: float
    """RAVE's equivalence parameter k: visits at which the all-moves-as-first mean counts as much as the edge's own
    (Gelly & Silver 2007); 0 turns all-moves-as-first off."""
    horizon: NDArray[np.int64]
    """(1) random plies after the tree before the state is judged; -1 where matches are played out instead."""
    judge_weights: NDArray[np.float32]
    """(fluents, roles) the linear evaluation: what a fluent that holds adds to the expected goal, 0..1 (see
    `judge`)."""
    judge_bias: NDArray[np.float64]
    """(roles) its constant term."""


def make_workspace(programs: CircuitPrograms, seed: int) -> SearchWorkspace:
    """A workspace for a game, with a random generator of its own."""
    roles = len(programs.role_start) - 1
    moves = len(programs.legal_slot)
    trail = MAX_PLIES if roles == 1 else 0
    workspace = SearchWorkspace(
        slots=aligned_words(programs.n_slots),
        goal_slots=aligned_words(programs.n_goal_slots),
        move_workspace=new_move_workspace(programs),
        rng=np.array([seed], np.uint64),
        mask=np.zeros(4, np.uint64),
        current=np.zeros(64, np.int8),
        paths=Paths(
            depth=np.zeros((2, 64), np.int32),
            node=np.zeros((2, 64, MAX_DEPTH + 1), np.int32),
            edge=np.zeros((2, 64, MAX_DEPTH, roles), np.int32),
            proven_child=np.full((2, 64, MAX_DEPTH), -1, np.int32),
            leaf=np.full((2, 64), -1, np.int32),
            trail=np.zeros((2, 64, trail), np.int32),
            trail_size=np.zeros((2, 64), np.int32),
        ),
        grow=np.zeros(64, np.bool_),
        plies=np.zeros(64, np.int32),
        left_tree=np.zeros(MAX_HORIZON + 1, np.uint64),
        played=np.zeros(moves, np.uint64),
        held_played=np.zeros(moves, np.uint64),
        best_line=np.zeros(trail + MAX_DEPTH + 2, np.int32),
        best_goal=np.full(1, -1.0),
        playout_counts=np.array([1.0, 20.0]),
        state=np.zeros((len(programs.initial) + 63) // 64 or 1, np.uint64),
        goals=np.zeros(roles, np.float64),
        sums=np.zeros((64, roles), np.float64),
        block=np.zeros(64, np.uint64),
        keep=np.full(1, ALL),
        following=np.zeros(len(programs.next_slot), np.uint64),
    )
    clear_workspace(programs, workspace)
    return workspace


def clear_workspace(programs: CircuitPrograms, workspace: SearchWorkspace) -> None:
    """Drops all matches under way."""
    load_initial(programs, workspace.slots)
    workspace.goal_slots[:] = 0
    workspace.goal_slots[SLOT_TRUE] = ALL
    workspace.mask[:] = 0
    workspace.left_tree[:] = 0
    workspace.played[:] = 0
    workspace.held_played[:] = 0
