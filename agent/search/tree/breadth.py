"""Breadth-first search of a one-player game on lanes: every state once, 64 at a time.

Random play hardly ever solves a puzzle, but the states of many puzzles can be enumerated, with the shortest way to
each. A batch of 64 states is evaluated once; one evaluation of the next-state program makes a move in all of them.

Where a clock counts the moves, the same position at two times is two states. So a first pass keeps only the earliest
one; a second pass tells them apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.engine import StopFlag
from agent.search.tree.clock import clock_fluents
from agent.search.tree.store import find_state
from games.bits.arrays import allocate, array
from games.bits.compiling import KERNEL
from games.bits.inner import step
from games.bits.words import transpose
from games.gdl.running.batches import packed
from games.gdl.running.goals import read_goals
from games.gdl.running.kernels import ALL, FIRST_WORD, NARROW, ONE, ZERO, clear_sets, enter_move, evaluate
from games.gdl.running.layout import FIRST_FLUENT, SLOT_TRUE
from games.gdl.running.machine import CircuitMachine
from games.machine import State

_COUNT, _HEAD, _BEST, _DEPTH, _LAYER_END = range(5)
"""Indices into `_Found.counts`: states found, first unexpanded state, terminal state with the best goal (or -1), depth
of the states under expansion, first deeper state."""

_MOST_LAYERS = 4096
"""Depth at which the enumeration ends."""

CLOSING = 0.9
"""Share of the most open states below which the enumeration is closing (see `BreadthFirst.closing`)."""


class _Found(NamedTuple):
    """States in the order of discovery."""

    counts: NDArray[np.int64] = array(np.int64, 5)
    state: NDArray[np.uint64] = array(np.uint64, "states", "words")
    """Packed, without the fluents of `mask`."""
    mask: NDArray[np.uint64] = array(np.uint64, "words")
    """Fluents shared by all states of one depth."""
    layer: NDArray[np.uint64] = array(np.uint64, _MOST_LAYERS, "words")
    """Values of these fluents."""
    parent: NDArray[np.int32] = array(np.int32, "states")
    """Predecessor; -1 for the first state."""
    move: NDArray[np.int32] = array(np.int32, "states")
    """Move from the parent."""
    table: NDArray[np.int32] = array(np.int32, "table")
    """Open-addressing hash table of states, -1 where empty."""
    goal: NDArray[np.float64] = array(np.float64, 1)
    """Worth of the best match so far, -1 before there is one."""


class _Workspace(NamedTuple):
    """Memory of `_expand` for a batch of 64 states."""

    slots: NDArray[np.uint64] = array(np.uint64, "slots")
    """A word of 64 lanes per signal of the circuit's legal and next programs."""
    goal_slots: NDArray[np.uint64] = array(np.uint64, "goal_slots")
    """The same for the goal program."""
    children: NDArray[np.uint64] = array(np.uint64, 64, "words")
    """Packed successors of the states by one move."""
    written: NDArray[np.bool_] = array(np.bool_, "words")
    """Whether a word may differ from 0."""
    block: NDArray[np.uint64] = array(np.uint64, 64)
    """A bit matrix to transpose."""
    goals: NDArray[np.float64] = array(np.float64, 1)
    """The goal of one state."""


class BreadthFirst:
    """Enumeration of the states of a one-player game reachable from one, as far as memory goes."""

    def __init__(self, machine: CircuitMachine, memory_bytes: int) -> None:
        self._machine = machine
        size = max(1024, min(1 << 24, memory_bytes // (8 * machine.words + 24)))
        self._clock = packed(clock_fluents(machine.programs))
        self._root = np.zeros(machine.words, np.uint64)
        self._kept: tuple[float | None, list[int]] = None, []
        """Best goal and line of the first pass, which ignores the clock."""
        self._most_open = 1
        """Most states that were open at a time."""
        words, slots, goal_slots = machine.words, machine.programs.n_slots, machine.programs.n_goal_slots
        self._found = allocate(_Found, states=size, words=words, table=1 << (2 * size - 1).bit_length())
        self._workspace = allocate(_Workspace, words=words, slots=slots, goal_slots=goal_slots)
        self._workspace.slots[SLOT_TRUE] = ALL
        self._workspace.goal_slots[SLOT_TRUE] = ALL

    def begin(self, state: State) -> None:
        """Restarts from this state."""
        self._root = self._machine.pack(state)
        self._kept = None, []
        self._begin(self._clock)

    def _begin(self, mask: NDArray[np.uint64]) -> None:
        found = self._found
        self._most_open = 1
        found.table.fill(-1)
        found.goal[0] = -1
        found.counts[:] = (1, 0, -1, 0, 1)
        found.mask[:] = mask
        found.layer[0] = self._root & mask
        found.state[0] = self._root & ~mask
        found.parent[0] = -1
        found.move[0] = -1
        found.table[find_state(found.table, found.state, found.state[0])[1]] = 0

    def run(self, stop: StopFlag, states: int) -> int:
        """Expands about `states` more states, fewer if `stop[0]` is set; returns their number."""
        expanded = self._expand(stop, states)
        self._most_open = max(self._most_open, self._open)
        if self._seen_all and not self.complete:
            self._kept = self.best_goal, self.best_line()
            self._begin(np.zeros_like(self._clock))
            expanded += self._expand(stop, states - expanded)
        return expanded

    def _expand(self, stop: StopFlag, states: int) -> int:
        head = int(self._found.counts[_HEAD])
        _expand(self._machine.programs, self._found, self._workspace, stop, states)
        return int(self._found.counts[_HEAD]) - head

    @property
    def states(self) -> int:
        """Number of states found."""
        return int(self._found.counts[_COUNT])

    @property
    def closing(self) -> bool:
        """Whether open states are getting fewer: most states have been found then."""
        return self._open < CLOSING * self._most_open

    @property
    def complete(self) -> bool:
        """Whether every reachable state has been seen."""
        return self._seen_all and not self._found.mask.any()

    @property
    def _open(self) -> int:
        """Number of states found and not yet expanded."""
        return int(self._found.counts[_COUNT] - self._found.counts[_HEAD])

    @property
    def _seen_all(self) -> bool:
        return self._open == 0

    @property
    def full(self) -> bool:
        """Whether memory or depth is used up: nothing more will be found."""
        return self.states == len(self._found.state) or int(self._found.counts[_DEPTH]) == _MOST_LAYERS - 1

    @property
    def best_goal(self) -> float | None:
        """Worth of the best match found, 0..100; None before there is one."""
        kept, _ = self._kept
        return kept if self._found.goal[0] < 0 or (kept or 0) > self._found.goal[0] else float(self._found.goal[0])

    def best_line(self) -> list[int]:
        """Indices of the moves of the shortest match with the best goal."""
        kept, kept_line = self._kept
        if kept is not None and kept >= self._found.goal[0]:
            return kept_line
        line = []
        at = int(self._found.counts[_BEST])
        while at > 0:
            line.append(int(self._found.move[at]))
            at = int(self._found.parent[at])
        return line[::-1]


@step
def _insert(found, state, parent, move):
    """Adds a state (uint64[words]) to a `_Found` if it is new; returns False if it is full."""
    known, slot = find_state(found.table, found.state, state)
    if known >= 0:
        return True
    n = found.counts[_COUNT]
    if n == len(found.state):
        return False
    found.table[slot] = n
    for word in range(len(state)):
        found.state[n, word] = state[word]
    found.parent[n] = parent
    found.move[n] = move
    found.counts[_COUNT] = n + 1
    return True


@step
def _load(states, shared, slots, block, begin, n, n_fluents):
    """Puts `n` packed states (uint64[states, words]), from `begin` on, into lanes 0, 1, ... of `slots`.

    `shared` (uint64[words]) is true in all of them, too. `slots` is uint64[slots]; `block` (uint64[64]) is overwritten.
    """
    for word in range(states.shape[1]):
        for lane in range(64):
            block[lane] = states[begin + lane, word] | shared[word] if lane < n else ZERO
        transpose(block)
        for f in range(64 * word, min(64 * word + 64, n_fluents)):
            slots[FIRST_FLUENT + f] = block[f - 64 * word]


@step
def _note_goals(programs, found, workspace, begin, over):
    """Evaluates the goals of the terminal states in the goal slots, and keeps the best in a `_Found`.

    `programs` is a `CircuitPrograms`, `workspace` a `_Workspace` whose lane 0 holds state `begin`; `over` (a word) is
    the set of terminal lanes.
    """
    goal_slots, goals = workspace.goal_slots, workspace.goals
    goal_slot, goal_role, goal_value = programs.goal_slot, programs.goal_role, programs.goal_value
    evaluate(programs.goal, goal_slots, NARROW)
    for lane in range(64):
        if (over >> np.uint64(lane)) & ONE == ZERO:
            continue
        read_goals(goal_slot, goal_role, goal_value, goal_slots, lane, goals)
        if goals[0] > found.goal[0]:
            found.goal[0] = goals[0]
            found.counts[_BEST] = begin + lane


@njit(**KERNEL)
def _expand(programs, found, workspace, stop, states):
    """Expands up to `states` more states of a `_Found`, in the order of discovery; see `BreadthFirst.run`.

    `programs` is a `CircuitPrograms`, `workspace` a `_Workspace`, `stop` is uint8[1].
    """
    n_fluents = len(programs.next_slot)
    words = found.state.shape[1]
    slots, goal_slots = workspace.slots, workspace.goal_slots
    children, block, written = workspace.children, workspace.block, workspace.written
    last = found.counts[_HEAD] + states
    counts = found.counts
    while stop[0] == 0 and counts[_HEAD] < min(last, counts[_COUNT]) and counts[_COUNT] < len(found.state):
        begin = counts[_HEAD]
        if begin == counts[_LAYER_END]:
            if counts[_DEPTH] == _MOST_LAYERS - 1:
                return
            counts[_DEPTH] += 1
            counts[_LAYER_END] = counts[_COUNT]
        depth = counts[_DEPTH]
        n = min(64, counts[_LAYER_END] - begin)
        lanes = ALL if n == 64 else (ONE << np.uint64(n)) - ONE
        _load(found.state, found.layer[depth], slots, block, begin, n, n_fluents)
        evaluate(programs.legal, slots, NARROW)
        over = slots[programs.terminal_slot] & lanes
        if over != ZERO:
            for f in range(FIRST_FLUENT, FIRST_FLUENT + n_fluents):
                goal_slots[f] = slots[f]
            _note_goals(programs, found, workspace, begin, over)
        for move in range(len(programs.legal_slot)):
            able = slots[programs.legal_slot[move]] & lanes & ~over
            if able == ZERO:
                continue
            clear_sets(programs.first_set, programs.n_sets, slots, NARROW)
            enter_move(programs.set_start, programs.set_slot, slots, NARROW, FIRST_WORD, move, able)
            evaluate(programs.next, slots, NARROW)
            for word in range(words):
                some = ZERO
                for i in range(64):
                    f = 64 * word + i
                    block[i] = slots[programs.next_slot[f]] if f < n_fluents else ZERO
                    some |= block[i]
                # With many fluents most words are 0, as after the last move.
                if some != ZERO or written[word]:
                    written[word] = some != ZERO
                    transpose(block)
                    # All lanes: leftovers must not reappear in a later, fuller batch.
                    for lane in range(64):
                        children[lane, word] = block[lane] & ~found.mask[word]
                if depth + 1 < _MOST_LAYERS:
                    found.layer[depth + 1, word] = block[0] & found.mask[word]
            for lane in range(n):
                if (able >> np.uint64(lane)) & ONE != ZERO and not _insert(found, children[lane], begin + lane, move):
                    return
        counts[_HEAD] = begin + n
