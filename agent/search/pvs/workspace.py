"""What one thread of the alpha-beta search works on, and what the search knows of the game."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.alphabeta.frames import new_frames
from agent.search.evaluation.features import Conjunctions
from agent.search.evaluation.pairs import Pairs
from games.bits.words import aligned_words
from games.gdl.running.kernels import ALL, WIDTHS
from games.gdl.running.layout import SLOT_TRUE, CircuitPrograms

WIDTH = WIDTHS[1]
"""Kernels' width: slots of one 64-bit word."""

PLIES = 96
"""Longest line of a search. Bounds memory; not tuned."""
MAX_CHILDREN = 512
"""A state with more moves is not searched further. Bounds memory; not tuned."""
CHUNKS = MAX_CHILDREN // 64
ROOT_CHILDREN, ROOT = PLIES, PLIES + 1
"""Rows of `PvsWorkspace` beside those of plies: the root's children, and the root itself (as child 0)."""

UNKNOWN = -(1 << 20)
"""In place of the score of a state that is not terminal."""
NOBODY, BOTH = 2, 3
"""Who chooses in a state, where it is not one of the roles 0 and 1."""

SIDE, DATE, BIAS, QUIET, PAIRED = range(5)
"""Indices into `PvsGame.settings`: the role whose view the scores of ply 0 are in, the transposition table's
generation, what is added to the evaluation for role 0, how many plies quiescence goes on at most, and whether pairs
have weights."""

FIRST, COUNT = range(2)
"""Indices into the last axis of `PvsWorkspace.batch` and `PvsWorkspace.family`: a range of children in a row."""

EXPANSIONS, JUDGED, REFUSED, CHANGES, CHANGED, STORED = range(6)
"""Indices into `PvsWorkspace.counts`: nodes whose children were made, leaves that the evaluation judged, nodes that
could not be searched (too many moves, or several roles with a choice); by how much moves have changed the evaluation,
and how many; entries that `PvsWorkspace.recent` has taken."""

SHARED_DEPTH, RECENT = 4, 2048
"""From which depth on entries of the transposition table are kept for helpers, and how many of the newest: a search
stores as many in a tenth of a second (see `sharing`). In a game of kings, with one helper, the depths from 3 and 4 on
made no difference. `RECENT` is a power of 2."""


class PvsWorkspace(NamedTuple):
    """One thread's memory. Rows are plies, then `ROOT_CHILDREN` and `ROOT`.

    Row p describes the children of ply p, or of all siblings of the node of ply p, as `home` says.
    """

    frames: NDArray[Any]
    """FRAME[PLIES]"""
    slots: NDArray[np.uint64]
    """(slots) a word of 64 lanes per signal of the circuit's legal and next programs."""
    goal_slots: NDArray[np.uint64]
    """(goal slots) the same for the goal program."""
    node: NDArray[np.uint64]
    """(fluents) the state that is expanded, 0 or all ones."""
    state: NDArray[np.uint64]
    """(rows, CHUNKS, fluents) the states of children: child i is bit i % 64 of the words of chunk i // 64."""
    place: NDArray[np.int32]
    """(PLIES, 2) the node of a ply: which row and child it is."""
    home: NDArray[np.int32]
    """(PLIES, 2) where the children of the node of a ply are: the row, and the first of them."""
    batch: NDArray[np.int32]
    """(rows, 2) the children of a row whose children were made in one pass, and are in the next row: see FIRST."""
    family: NDArray[np.int32]
    """(rows, MAX_CHILDREN, 2) for each of them, which of that row are its children: see FIRST."""
    single: NDArray[np.int32]
    """(64) scratch: the moves of those who have only one."""
    move: NDArray[np.int32]
    """(rows, MAX_CHILDREN) the move that leads to a child, numbered over all roles."""
    linear: NDArray[np.int32]
    """(rows, MAX_CHILDREN) what the facts that hold in a child, and pairs of them, add up to, for role 0."""
    evaluation: NDArray[np.int32]
    """(rows, MAX_CHILDREN) the same with what conjunctions add."""
    result: NDArray[np.int32]
    """(rows, MAX_CHILDREN) the score of a terminal child for role 0, else UNKNOWN."""
    mover: NDArray[np.int8]
    """(rows, MAX_CHILDREN) the role that chooses there, NOBODY or BOTH."""
    key: NDArray[np.uint64]
    """(rows, MAX_CHILDREN) Zobrist key of a child's state."""
    order: NDArray[np.int32]
    """(PLIES, MAX_CHILDREN) the children of the node of a ply, by place in the row, as they are to be searched."""
    urgency: NDArray[np.int32]
    """(PLIES, MAX_CHILDREN) by place in `order`: the highest comes first."""
    killer: NDArray[np.int32]
    """(PLIES, 2) moves that cut a node of that ply lately."""
    history: NDArray[np.int32]
    """(moves) how well a move did (history heuristic, Schaeffer 1989)."""
    goals: NDArray[np.float64]
    """(2) the goals of one lane, 0..100."""
    counts: NDArray[np.int64]
    """(6) see EXPANSIONS ff., never reset by the search."""
    recent: NDArray[np.uint64]
    """(RECENT, 2) the newest entries of `SHARED_DEPTH` or more, as in the table; a ring."""


class PvsGame(NamedTuple):
    """What the search's steps work with."""

    programs: CircuitPrograms
    work: PvsWorkspace
    table: NDArray[np.uint64]
    """Of `table.new_table`; threads share it."""
    weights: NDArray[np.int32]
    """(fluents) what a fact adds to the evaluation for role 0."""
    conjunctions: Conjunctions
    pairs: Pairs
    """What else counts."""
    zobrist: NDArray[np.uint64]
    """(fluents) random words."""
    best_goal: NDArray[np.float64]
    """(2) per role, 0..100: a terminal state with it is a win."""
    settings: NDArray[np.int64]
    """(5) see SIDE ff."""


def new_workspace(programs: CircuitPrograms) -> PvsWorkspace:
    """Memory for one thread and game."""
    n, rows = len(programs.next_slot), PLIES + 2
    slots, goal_slots = aligned_words(programs.n_slots), aligned_words(programs.n_goal_slots)
    slots[SLOT_TRUE] = goal_slots[SLOT_TRUE] = ALL
    return PvsWorkspace(
        frames=new_frames(PLIES),
        slots=slots,
        goal_slots=goal_slots,
        node=np.zeros(n, np.uint64),
        state=np.zeros((rows, CHUNKS, n), np.uint64),
        place=np.zeros((PLIES, 2), np.int32),
        home=np.zeros((PLIES, 2), np.int32),
        batch=np.zeros((rows, 2), np.int32),
        family=np.zeros((rows, MAX_CHILDREN, 2), np.int32),
        single=np.zeros(64, np.int32),
        move=np.zeros((rows, MAX_CHILDREN), np.int32),
        linear=np.zeros((rows, MAX_CHILDREN), np.int32),
        evaluation=np.zeros((rows, MAX_CHILDREN), np.int32),
        result=np.full((rows, MAX_CHILDREN), UNKNOWN, np.int32),
        mover=np.zeros((rows, MAX_CHILDREN), np.int8),
        key=np.zeros((rows, MAX_CHILDREN), np.uint64),
        order=np.zeros((PLIES, MAX_CHILDREN), np.int32),
        urgency=np.zeros((PLIES, MAX_CHILDREN), np.int32),
        killer=np.full((PLIES, 2), -1, np.int32),
        history=np.zeros(len(programs.legal_slot), np.int32),
        goals=np.zeros(2),
        counts=np.zeros(6, np.int64),
        recent=np.zeros((RECENT, 2), np.uint64),
    )
