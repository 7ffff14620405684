"""What one searching thread works on: 64 matches under way, their paths in the tree, and how to search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.words import aligned_words
from games.gdl.running.kernels import ALL, ZERO, reset
from games.gdl.running.layout import SLOT_TRUE, CircuitPrograms
from games.gdl.running.playouts import MoveWorkspace, new_move_workspace

WIDTH = (0,)
MAX_DEPTH = 512
"""Longest path in the tree; deeper nodes are only played out from."""
MAX_HORIZON = 32
"""Longest playout before a judgement (see `Parameters.horizon`)."""
MAX_PLIES = 4096
"""A playout longer than this is cut off; its goals count as they stand."""

ACTIVE, FORCED, FRESH, HELD = range(4)
"""Indices into `Lanes.mask`: lanes that play; that have a move to make from the tree; that just made it and may become
a node; whose finished match waits for its goals."""


class Lanes(NamedTuple):
    """What one thread works on: 64 matches under way, and 64 finished ones that wait for their goals to be evaluated.

    Paths are stored twice per lane: `side[lane]` says which belongs to the match under way, the other to the finished
    one.
    """

    slots: NDArray[np.uint64]
    goal_slots: NDArray[np.uint64]
    workspace: MoveWorkspace
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
    since: NDArray[np.uint64]
    """(MAX_HORIZON + 1) `since[n]`: the lanes that left the tree n plies ago."""
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
    horizon: NDArray[np.int64]
    """[1]: random plies after the tree before the state is judged; -1 where matches are played out instead."""
    judge_weights: NDArray[np.float32]
    """(fluents, roles): what a fluent adds to the goal to be expected (see `judge`)."""
    judge_bias: NDArray[np.float64]
    """(roles)"""


def new_lanes(programs: CircuitPrograms, seed: int) -> Lanes:
    """Lanes for a game, with a random generator of their own."""
    roles = len(programs.role_start) - 1
    moves = len(programs.legal_slot)
    trail = MAX_PLIES if roles == 1 else 0
    lanes = Lanes(
        slots=aligned_words(programs.n_slots),
        goal_slots=aligned_words(programs.n_goal_slots),
        workspace=new_move_workspace(programs),
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
        since=np.zeros(MAX_HORIZON + 1, np.uint64),
        played=np.zeros(moves, np.uint64),
        held_played=np.zeros(moves, np.uint64),
        trail=np.zeros((2, 64, trail), np.int32),
        trail_size=np.zeros((2, 64), np.int32),
        best_line=np.zeros(trail + MAX_DEPTH + 2, np.int32),
        best_goal=np.full(1, -1.0),
        work=np.array([1.0, 20.0]),
    )
    clear_lanes(programs, lanes)
    return lanes


@njit(cache=True, nogil=True)
def clear_lanes(programs, lanes):
    """Drops all matches under way."""
    reset(programs, lanes.slots, WIDTH)
    lanes.goal_slots[:] = ZERO
    lanes.goal_slots[SLOT_TRUE] = ALL
    lanes.mask[:] = ZERO
    lanes.since[:] = ZERO
    lanes.played[:] = ZERO
    lanes.held_played[:] = ZERO
