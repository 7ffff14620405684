"""Memory of one searching thread (64 matches under way and their paths in the tree), and parameters of the search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.tree.decisive.kernels import DecisiveMoves, DecisiveWorkspace
from agent.search.tree.store import LegalMoves
from games.bits.arrays import allocate, array, group
from games.gdl.running.batches import load_initial
from games.gdl.running.kernels import ALL
from games.gdl.running.layout import SLOT_TRUE, CircuitPrograms
from games.gdl.running.playouts import MoveWorkspace, new_move_workspace

MAX_PLIES = 4096
"""Limit on the plies of a playout; the goals of one that is cut off count as they stand."""
MAX_DEPTH = 500
"""Longest path in the tree, which bounds memory. No power of 2: the same step of all paths would compete for the same
few cache lines."""

DESCENTS = 256
"""Most descents under way: of 64 matches under way, 64 finished ones, and a batch of new ones."""
MAX_BATCH = 64
"""Most descents of a batch: their leaves are made in one pass of the lanes."""
SIDE_BY_SIDE = 16
"""Descents that go down the tree side by side (see `descent`)."""
MAX_STARTS = 512
"""Most starts that wait for a lane."""

ACTIVE, HELD = range(2)
"""Indices into `SearchWorkspace.mask`: lanes that play; lanes whose finished match waits for its goals."""

N_FREE, FIRST_START, N_STARTS, WAITING = range(4)
"""Indices into `SearchWorkspace.counts`: free descents, first waiting start, end of the starts, playouts to start."""

TREE_TIME, DESCENTS_MADE, PLAYOUT_TIME, PLAYOUTS_MADE, PASS_TIME, PASSES, LANES_USED, BATCHES = range(8)
"""Indices into `SearchWorkspace.costs`: nanoseconds and number of descents (with leaves and children), of playouts, and
of passes of the lanes for children; lanes used in these passes; batches of descents. All fade (`expansion.FADING`)."""


class Descents(NamedTuple):
    """Paths from the root to leaves with playouts under way; a descent is a number below `DESCENTS`."""

    depth: NDArray[np.int32] = array(np.int32, DESCENTS)
    """Number of edges on the path."""
    node: NDArray[np.int32] = array(np.int32, DESCENTS, MAX_DEPTH + 1)
    """Nodes on the path; the last one is the leaf, -1 if it did not fit the tree."""
    edge: NDArray[np.int32] = array(np.int32, DESCENTS, MAX_DEPTH, "roles")
    """Edges on the path."""
    proven_child: NDArray[np.int32] = array(np.int32, DESCENTS, MAX_DEPTH)
    """Proven child that a node is worth although the path goes on; -1 for none; or
    `regret.EXPLORED`."""
    expected: NDArray[np.int32] = array(np.int32, DESCENTS)
    """Pending results of its nodes and edges."""
    missing: NDArray[np.int32] = array(np.int32, DESCENTS)
    """Unfinished playouts."""
    played: NDArray[np.int32] = array(np.int32, DESCENTS)
    """Finished playouts."""
    results: NDArray[np.int64] = array(np.int64, DESCENTS)
    """Results so far."""
    sums: NDArray[np.float64] = array(np.float64, DESCENTS, "roles")
    """Sums of their goals, 0..1."""
    lanes: NDArray[np.uint64] = array(np.uint64, DESCENTS)
    """Lanes whose goals are just read; 0 in between."""
    free: NDArray[np.int32] = array(np.int32, DESCENTS)
    """Unused descents first."""
    batch: NDArray[np.int32] = array(np.int32, MAX_BATCH)
    """Descents of a batch that have ended."""
    under_way: NDArray[np.int32] = array(np.int32, SIDE_BY_SIDE)
    """Descents that have not ended."""


class Starts(NamedTuple):
    """Queue of states for playouts to start from."""

    descent: NDArray[np.int32] = array(np.int32, MAX_STARTS)
    edge: NDArray[np.int32] = array(np.int32, MAX_STARTS, "roles")
    """Edges from the leaf to the state; -1 for a role without a choice, and if the state is the
    leaf's own."""
    state: NDArray[np.uint64] = array(np.uint64, MAX_STARTS, "words")
    """Packed."""
    copies: NDArray[np.int32] = array(np.int32, MAX_STARTS)
    """Playouts left to start here."""


class Expansion(NamedTuple):
    """Up to 64 states made at once: leaves from their parents, or children from leaves."""

    slots: NDArray[np.uint64] = array(np.uint64, "slots")
    """A word of 64 lanes per signal of the circuit's legal and next programs."""
    descent: NDArray[np.int32] = array(np.int32, 64)
    """Descent of each lane."""
    node: NDArray[np.int32] = array(np.int32, 64)
    """Node before the move."""
    edge: NDArray[np.int32] = array(np.int32, 64, "roles")
    """Joint move made there."""
    copies: NDArray[np.int32] = array(np.int32, 64)
    """Playouts to start from the child."""
    state: NDArray[np.uint64] = array(np.uint64, 64, "words")
    """Packed states."""
    legal_moves: LegalMoves = group(LegalMoves)
    """Moves legal in these states."""


class SearchWorkspace(NamedTuple):
    """One thread's memory: 64 matches under way, and 64 finished ones that wait for their goals.

    Kernels call it `lanes`: lane i is match i. Some arrays have two entries per lane: `current[lane]` is the index of
    the match under way, the other one is the finished match.
    """

    move_workspace: MoveWorkspace
    """Memory for drawing moves, with the worths of `move_averages`."""
    slots: NDArray[np.uint64] = array(np.uint64, "slots")
    """A word of 64 lanes per signal of the circuit's legal and next programs."""
    goal_slots: NDArray[np.uint64] = array(np.uint64, "goal_slots")
    """The same for the goal program: final states."""
    expansion_goal_slots: NDArray[np.uint64] = array(np.uint64, "goal_slots")
    """The same for the states of the `expansion`."""
    rng: NDArray[np.uint64] = array(np.uint64, 1)
    """State of the random generator."""
    mask: NDArray[np.uint64] = array(np.uint64, 2)
    """Sets of lanes: ACTIVE, HELD."""
    counts: NDArray[np.int64] = array(np.int64, 4)
    """See `N_FREE` and what follows it."""
    costs: NDArray[np.float64] = array(np.float64, 8)
    """See `TREE_TIME` and what follows it."""
    current: NDArray[np.int8] = array(np.int8, 64)
    """0 or 1."""
    descent: NDArray[np.int32] = array(np.int32, 2, 64)
    """Descent of a match."""
    edge: NDArray[np.int32] = array(np.int32, 2, 64, "roles")
    """Edges by which it left the tree, see `Starts.edge`."""
    trail: NDArray[np.int32] = array(np.int32, 2, 64, "trail")
    """Moves of a one-player match after the tree; n = 0 with more players."""
    trail_size: NDArray[np.int32] = array(np.int32, 2, 64)
    """Number of these moves."""
    descents: Descents = group(Descents)
    starts: Starts = group(Starts)
    expansion: Expansion = group(Expansion)
    source: NDArray[np.int32] = array(np.int32, 64)
    """Each lane's last start (see `Starts`)."""
    plies: NDArray[np.int32] = array(np.int32, 64)
    """Plies played since the lane left the tree."""
    decisive: DecisiveWorkspace = group(DecisiveWorkspace)
    """Memory for the decisive moves of playouts."""
    played: NDArray[np.uint64] = array(np.uint64, "moves")
    """Lanes whose match under way has the move, for all-moves-as-first."""
    held_played: NDArray[np.uint64] = array(np.uint64, "moves")
    """The same for finished matches."""
    made: NDArray[np.float32] = array(np.float32, "moves")
    """Matches with the move, as `move_averages` counts them."""
    best_line: NDArray[np.int32] = array(np.int32, "line")
    """Best match of a single player so far, as moves from the root; [0] is its length."""
    best_goal: NDArray[np.float64] = array(np.float64, 1, fill=-1)
    """Its goal (0..1), -1 before there is one."""
    playout_counts: NDArray[np.float64] = array(np.float64, 2)
    """Finished playouts and their plies; they start with one of 20 plies."""
    moments: NDArray[np.float64] = array(np.float64, 3, "roles")
    """Number of finished playouts, sum of their goals (0..1), and of the squares."""
    goals: NDArray[np.float64] = array(np.float64, "roles")
    """Goals of one match, 0..1; this and all below are overwritten at every use."""
    lane_goals: NDArray[np.float64] = array(np.float64, 64, "roles")
    """Goals of each lane, 0..1."""
    n_goals: NDArray[np.int64] = array(np.int64, "roles")
    """Number of different goals above 0 in the lanes."""
    goal_value: NDArray[np.float64] = array(np.float64, "roles", 64)
    """These goals, 0..1."""
    goal_word: NDArray[np.uint64] = array(np.uint64, "roles", 64)
    """Lanes with each of them."""
    block: NDArray[np.uint64] = array(np.uint64, 64)
    """Bit matrix to transpose."""
    keep: NDArray[np.uint64] = array(np.uint64, 1)
    """(1) all lanes: none restarts when states advance."""
    following: NDArray[np.uint64] = array(np.uint64, "fluents")
    """The next state of all lanes."""


class Parameters(NamedTuple):
    """Parameters of the search, shared by all threads."""

    exploration: NDArray[np.float64]
    """(roles) weight of the exploration term."""
    best_goal: NDArray[np.float64]
    """(roles) highest goal (0..1) in the rules."""
    worst_goal: NDArray[np.float64]
    """(roles) lowest goal."""
    random_role: int
    """Role that moves at random, or -1."""
    rave_equivalence: float
    """RAVE's equivalence parameter k: visits at which the all-moves-as-first mean counts as much as the edge's own
    (Gelly & Silver 2007); 0 turns all-moves-as-first off."""
    draws: NDArray[np.int64]
    """(roles) moves that playouts draw to play the best of (see `move_averages`)."""
    decisive: DecisiveMoves
    """Decisive moves of playouts."""


def make_workspace(programs: CircuitPrograms, seed: int, threats: int = 0) -> SearchWorkspace:
    """A workspace for a game, with a random generator of its own, and room for `threats` (see `DecisiveMoves`)."""
    roles = len(programs.role_start) - 1
    trail = MAX_PLIES if roles == 1 else 0
    workspace = allocate(
        SearchWorkspace,
        {"move_workspace": new_move_workspace(programs, 1, seed)},
        slots=programs.n_slots,
        goal_slots=programs.n_goal_slots,
        fluents=len(programs.next_slot),
        roles=roles,
        starts=roles + 1,
        moves=len(programs.legal_slot),
        words=(len(programs.initial) + 63) // 64 or 1,
        trail=trail,
        line=trail + MAX_DEPTH + 2,
        threats=threats,
    )
    workspace.rng[0] = seed
    workspace.keep[0] = ALL
    workspace.playout_counts[:] = 1, 20
    clear_workspace(programs, workspace)
    return workspace


def ignore_time(workspace: SearchWorkspace) -> None:
    """Has the search make one playout a descent and the least batches, instead of what measured times suggest."""
    workspace.costs[[DESCENTS_MADE, PLAYOUTS_MADE]] = np.inf
    workspace.costs[BATCHES] = -np.inf


def clear_workspace(programs: CircuitPrograms, workspace: SearchWorkspace) -> None:
    """Drops all matches under way."""
    load_initial(programs, workspace.slots)
    load_initial(programs, workspace.expansion.slots)
    for goal_slots in (workspace.goal_slots, workspace.expansion_goal_slots):
        goal_slots[:] = 0
        goal_slots[SLOT_TRUE] = ALL
    workspace.mask[:] = 0
    workspace.counts[:] = 0
    workspace.counts[N_FREE] = DESCENTS
    workspace.descents.free[:] = np.arange(DESCENTS)
    workspace.descents.lanes[:] = 0
    workspace.played[:] = 0
    workspace.held_played[:] = 0
