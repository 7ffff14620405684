"""Memory of one thread of the alpha-beta search, and the game as the search sees it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.alphabeta.frames import FRAME
from agent.search.evaluation.features import Conjunctions
from agent.search.evaluation.pairs import Pairs
from games.bits.arrays import allocate, array
from games.bits.short_rows import COLUMNS
from games.gdl.running.kernels import ALL
from games.gdl.running.layout import SLOT_TRUE, CircuitPrograms

PLIES = 96
"""Longest line of a search; bounds memory."""
MAX_CHILDREN = 512
"""Limit on moves of a state that is searched further; bounds memory."""
CHUNKS = MAX_CHILDREN // 64
ROOT_CHILDREN, ROOT, ROWS = PLIES, PLIES + 1, PLIES + 2
"""Rows of `PvsWorkspace` after those of plies: the root's children, and the root itself (as child 0); their number."""

UNKNOWN = -(1 << 20)
"""Result of a state that is not terminal."""
NOBODY, BOTH = 2, 3
"""Movers other than the roles 0 and 1."""

SIDE, DATE, QUIET, PAIRED, WIDE = range(5)
"""Indices into `PvsGame.settings`: the role whose view the scores of ply 0 take, the transposition table's generation,
the limit on plies of quiescence, whether pairs have weights, and whether the evaluation has hidden units."""

FIRST, COUNT = range(2)
"""Indices into the last axis of `PvsWorkspace.batch` and `PvsWorkspace.children`: a range of children in a row."""

EXPANSIONS, EVALUATED, REFUSED, CHANGES, CHANGED, STORED = range(6)
"""Indices into `PvsWorkspace.counts`: nodes expanded, leaves evaluated, nodes that could not be searched (too many
moves, or several roles with a choice); sum and number of changes of the evaluation by moves; entries written to
`PvsWorkspace.recent`."""

SHARED_DEPTH, RECENT = 4, 2048
"""Least depth of entries kept for helpers, and number of the newest kept, a power of 2: a tenth of a second of search
(see `splitting`)."""


class PvsWorkspace(NamedTuple):
    """One thread's memory. Rows are plies, then `ROOT_CHILDREN` and `ROOT`.

    Row p describes the children of ply p, or of all siblings of the node of ply p, according to `home`.
    """

    frames: NDArray[Any] = array(FRAME, PLIES)
    slots: NDArray[np.uint64] = array(np.uint64, "slots")
    """A word of 64 lanes per signal of the circuit's legal and next programs."""
    goal_slots: NDArray[np.uint64] = array(np.uint64, "goal_slots")
    """The same for the goal program."""
    node: NDArray[np.uint64] = array(np.uint64, "fluents")
    """The state being expanded, 0 or all ones."""
    state: NDArray[np.uint64] = array(np.uint64, ROWS, CHUNKS, "fluents")
    """The states of children: child i is bit i % 64 of the words of chunk i // 64."""
    place: NDArray[np.int32] = array(np.int32, PLIES, 2)
    """Row and child of the node of a ply."""
    home: NDArray[np.int32] = array(np.int32, PLIES, 2)
    """Row and first index of the children of the node of a ply."""
    batch: NDArray[np.int32] = array(np.int32, ROWS, 2)
    """Range of the row's children whose own children were made in one pass, in the next row: see FIRST."""
    children: NDArray[np.int32] = array(np.int32, ROWS, MAX_CHILDREN, 2)
    """Range of each one's children in that row: see FIRST."""
    single: NDArray[np.int32] = array(np.int32, 64)
    """Scratch: moves of roles without a choice."""
    move: NDArray[np.int32] = array(np.int32, ROWS, MAX_CHILDREN)
    """The move that leads to a child, numbered over all roles."""
    sums: NDArray[np.int32] = array(np.int32, ROWS * MAX_CHILDREN * COLUMNS)
    """A row for each child: the sums of its facts and pairs for the evaluation; see `short_rows`."""
    whole: NDArray[np.int32] = array(np.int32, 64 * COLUMNS)
    """Scratch: the same with conjunctions."""
    evaluation: NDArray[np.int32] = array(np.int32, ROWS, MAX_CHILDREN)
    """The evaluation for role 0."""
    result: NDArray[np.int32] = array(np.int32, ROWS, MAX_CHILDREN, fill=UNKNOWN)
    """The score of a terminal child for role 0, else UNKNOWN."""
    mover: NDArray[np.int8] = array(np.int8, ROWS, MAX_CHILDREN)
    """The role that chooses there, NOBODY or BOTH."""
    key: NDArray[np.uint64] = array(np.uint64, ROWS, MAX_CHILDREN)
    """Zobrist key of a child's state."""
    order: NDArray[np.int32] = array(np.int32, PLIES, MAX_CHILDREN)
    """The children of the node of a ply, by place in the row, in search order."""
    urgency: NDArray[np.int32] = array(np.int32, PLIES, MAX_CHILDREN)
    """By place in `order`: the highest comes first."""
    killer: NDArray[np.int32] = array(np.int32, PLIES, 2, fill=-1)
    """Moves that recently cut a node of that ply."""
    history: NDArray[np.int32] = array(np.int32, "moves")
    """Success of a move (history heuristic, Schaeffer 1989)."""
    goals: NDArray[np.float64] = array(np.float64, 2)
    """The goals of one lane, 0..100."""
    counts: NDArray[np.int64] = array(np.int64, 6)
    """See EXPANSIONS ff., never reset by the search."""
    recent: NDArray[np.uint64] = array(np.uint64, RECENT, 2)
    """The newest entries of `SHARED_DEPTH` or more, as in the table; a ring."""


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
    workspace = allocate(
        PvsWorkspace,
        slots=programs.n_slots,
        goal_slots=programs.n_goal_slots,
        fluents=len(programs.next_slot),
        moves=len(programs.legal_slot),
    )
    workspace.slots[SLOT_TRUE] = workspace.goal_slots[SLOT_TRUE] = ALL
    return workspace
