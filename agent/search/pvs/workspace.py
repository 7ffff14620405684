"""Memory of one thread of the alpha-beta search, and the game as the search sees it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.alphabeta.frames import new_frames
from agent.search.evaluation.features import Conjunctions
from agent.search.evaluation.pairs import Pairs
from games.bits.short_rows import aligned_rows
from games.bits.words import aligned_words
from games.gdl.running.kernels import ALL
from games.gdl.running.layout import SLOT_TRUE, CircuitPrograms

PLIES = 96
"""Longest line of a search; bounds memory."""
MAX_CHILDREN = 512
"""Limit on moves of a state that is searched further; bounds memory."""
CHUNKS = MAX_CHILDREN // 64
ROOT_CHILDREN, ROOT = PLIES, PLIES + 1
"""Rows of `PvsWorkspace` after those of plies: the root's children, and the root itself (as child 0)."""

UNKNOWN = -(1 << 20)
"""Result of a state that is not terminal."""
NOBODY, BOTH = 2, 3
"""Movers other than the roles 0 and 1."""

SIDE, DATE, QUIET, PAIRED, WIDE = range(5)
"""Indices into `PvsGame.settings`: the role whose view the scores of ply 0 take, the transposition table's generation,
the limit on plies of quiescence, whether pairs have weights, and whether the evaluation has hidden units."""

FIRST, COUNT = range(2)
"""Indices into the last axis of `PvsWorkspace.batch` and `PvsWorkspace.family`: a range of children in a row."""

EXPANSIONS, JUDGED, REFUSED, CHANGES, CHANGED, STORED = range(6)
"""Indices into `PvsWorkspace.counts`: nodes expanded, leaves evaluated, nodes that could not be searched (too many
moves, or several roles with a choice); sum and number of changes of the evaluation by moves; entries written to
`PvsWorkspace.recent`."""

SHARED_DEPTH, RECENT = 4, 2048
"""Least depth of entries kept for helpers, and number of the newest kept, a power of 2: a tenth of a second of search
(see `sharing`)."""


class PvsWorkspace(NamedTuple):
    """One thread's memory. Rows are plies, then `ROOT_CHILDREN` and `ROOT`.

    Row p describes the children of ply p, or of all siblings of the node of ply p, according to `home`.
    """

    frames: NDArray[Any]
    """FRAME[PLIES]"""
    slots: NDArray[np.uint64]
    """(slots) a word of 64 lanes per signal of the circuit's legal and next programs."""
    goal_slots: NDArray[np.uint64]
    """(goal slots) the same for the goal program."""
    node: NDArray[np.uint64]
    """(fluents) the state being expanded, 0 or all ones."""
    state: NDArray[np.uint64]
    """(rows, CHUNKS, fluents) the states of children: child i is bit i % 64 of the words of chunk i // 64."""
    place: NDArray[np.int32]
    """(PLIES, 2) row and child of the node of a ply."""
    home: NDArray[np.int32]
    """(PLIES, 2) row and first index of the children of the node of a ply."""
    batch: NDArray[np.int32]
    """(rows, 2) range of the row's children whose own children were made in one pass, in the next row: see FIRST."""
    family: NDArray[np.int32]
    """(rows, MAX_CHILDREN, 2) range of each one's children in that row: see FIRST."""
    single: NDArray[np.int32]
    """(64) scratch: moves of roles without a choice."""
    move: NDArray[np.int32]
    """(rows, MAX_CHILDREN) the move that leads to a child, numbered over all roles."""
    sums: NDArray[np.int32]
    """(rows * MAX_CHILDREN rows) the sums of a child's facts and pairs for the evaluation; see `short_rows`."""
    whole: NDArray[np.int32]
    """(64 rows) scratch: the same with conjunctions."""
    evaluation: NDArray[np.int32]
    """(rows, MAX_CHILDREN) the evaluation for role 0."""
    result: NDArray[np.int32]
    """(rows, MAX_CHILDREN) the score of a terminal child for role 0, else UNKNOWN."""
    mover: NDArray[np.int8]
    """(rows, MAX_CHILDREN) the role that chooses there, NOBODY or BOTH."""
    key: NDArray[np.uint64]
    """(rows, MAX_CHILDREN) Zobrist key of a child's state."""
    order: NDArray[np.int32]
    """(PLIES, MAX_CHILDREN) the children of the node of a ply, by place in the row, in search order."""
    urgency: NDArray[np.int32]
    """(PLIES, MAX_CHILDREN) by place in `order`: the highest comes first."""
    killer: NDArray[np.int32]
    """(PLIES, 2) moves that recently cut a node of that ply."""
    history: NDArray[np.int32]
    """(moves) success of a move (history heuristic, Schaeffer 1989)."""
    goals: NDArray[np.float64]
    """(2) the goals of one lane, 0..100."""
    counts: NDArray[np.int64]
    """(6) see EXPANSIONS ff., never reset by the search."""
    recent: NDArray[np.uint64]
    """(RECENT, 2) the newest entries of `SHARED_DEPTH` or more, as in the table; a ring."""


class PvsGame(NamedTuple):
    """The game, as the steps of the search take it."""

    programs: CircuitPrograms
    work: PvsWorkspace
    table: NDArray[np.uint64]
    """A table of `alphabeta.table`, shared by threads."""
    weights: NDArray[np.int32]
    """(fluents and other features rows) added to the sums by a feature; see `short_rows`."""
    outputs: NDArray[np.int32]
    """(MOVERS rows, and one of sums without features) from sums to the evaluation for role 0; see `network`."""
    conjunctions: Conjunctions
    pairs: Pairs
    """Further terms of the evaluation, beside `conjunctions`."""
    zobrist: NDArray[np.uint64]
    """(fluents) random words for keys."""
    best_goal: NDArray[np.float64]
    """(2) per role, 0..100; a terminal state with it is a win."""
    settings: NDArray[np.int64]
    """(4) see SIDE ff."""


def new_workspace(programs: CircuitPrograms) -> PvsWorkspace:
    """Returns memory for one thread and game."""
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
        sums=aligned_rows(rows * MAX_CHILDREN),
        whole=aligned_rows(64),
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
