"""Breadth-first search of a one-player game on lanes: every state once, 64 at a time.

Random play hardly ever solves a puzzle, but the states of many puzzles can simply be enumerated, with the shortest way
to each. A batch of 64 states is evaluated once; then each move is made in all states of the batch in which it is
legal, by one evaluation of the next-state program.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.engine import StopFlag
from agent.search.tree.store import find_state
from games.bits.words import aligned_words, transpose
from games.gdl.running.goals import evaluate_goals, read_goals
from games.gdl.running.kernels import ALL, ONE, ZERO, clear_sets, enter_move, evaluate
from games.gdl.running.layout import FIRST_FLUENT, SLOT_TRUE
from games.gdl.running.machine import CircuitMachine
from games.machine import State

_WIDTH = (0,)

_COUNT, _HEAD, _BEST = range(3)
"""Indices into `_Found.counts`: states found, the first one not expanded yet, the terminal one with the best goal (or
-1)."""


class _Found(NamedTuple):
    """States in the order in which they were found."""

    counts: NDArray[np.int64]
    state: NDArray[np.uint64]
    """(n, words) packed."""
    parent: NDArray[np.int32]
    move: NDArray[np.int32]
    """The move that led here from the parent."""
    table: NDArray[np.int32]
    """Open-addressing hash table of states."""
    goal: NDArray[np.int32]
    """(1) the best goal so far, -1 before there is one."""


class BreadthFirst:
    """The states of a one-player game that can be reached from one of them, as far as memory goes."""

    def __init__(self, machine: CircuitMachine, memory_bytes: int) -> None:
        self._machine = machine
        size = max(1024, min(1 << 24, memory_bytes // (8 * machine.words + 24)))
        self._found = _Found(
            counts=np.zeros(4, np.int64),
            state=np.zeros((size, machine.words), np.uint64),
            parent=np.zeros(size, np.int32),
            move=np.zeros(size, np.int32),
            table=np.full(1 << (2 * size - 1).bit_length(), -1, np.int32),
            goal=np.full(1, -1, np.int32),
        )
        self._slots = aligned_words(machine.programs.n_slots)
        self._goal_slots = aligned_words(machine.programs.n_goal_slots)
        self._slots[SLOT_TRUE] = ALL
        self._goal_slots[SLOT_TRUE] = ALL

    def begin(self, state: State) -> None:
        """Starts again, from this state."""
        found = self._found
        found.table.fill(-1)
        found.goal[0] = -1
        found.counts[:] = (0, 0, -1, 0)
        _insert(found, self._machine.pack(state), -1, -1)

    def run(self, stop: StopFlag, states: int) -> None:
        """Expands up to about so many more states, until `stop[0]` is not 0."""
        _expand(self._machine.programs, self._found, self._slots, self._goal_slots, stop, states)

    @property
    def states(self) -> int:
        """How many states were found."""
        return int(self._found.counts[_COUNT])

    @property
    def complete(self) -> bool:
        """Whether every reachable state has been seen."""
        return bool(self._found.counts[_HEAD] == self._found.counts[_COUNT])

    @property
    def full(self) -> bool:
        """Whether the memory is used up; there is nothing more to find then."""
        return self.states == len(self._found.state)

    @property
    def best_goal(self) -> int | None:
        """The best goal of a match that was found; None before there is one."""
        return int(self._found.goal[0]) if self._found.goal[0] >= 0 else None

    def best_line(self) -> list[int]:
        """The moves (by index) of that match: the shortest one with this goal."""
        line = []
        at = int(self._found.counts[_BEST])
        while at > 0:
            line.append(int(self._found.move[at]))
            at = int(self._found.parent[at])
        return line[::-1]


@njit(cache=True, nogil=True)
def _insert(found, state, parent, move):
    """Adds a state if it is new; returns False if there is no room."""
    known, slot = find_state(found.table, found.state, state)
    if known >= 0:
        return True
    n = found.counts[_COUNT]
    if n == len(found.state):
        return False
    found.table[slot] = n
    found.state[n] = state
    found.parent[n] = parent
    found.move[n] = move
    found.counts[_COUNT] = n + 1
    return True


@njit(cache=True, nogil=True)
def _load(found, slots, begin, n, n_fluents):
    """Puts `n` states from `begin` on into lanes 0, 1, ..."""
    block = np.empty(64, np.uint64)
    for word in range(found.state.shape[1]):
        for lane in range(64):
            block[lane] = found.state[begin + lane, word] if lane < n else ZERO
        transpose(block)
        for f in range(64 * word, min(64 * word + 64, n_fluents)):
            slots[FIRST_FLUENT + f] = block[f - 64 * word]


@njit(cache=True, nogil=True)
def _note_goals(programs, found, goal_slots, begin, over):
    """Evaluates the goals of the terminal states among 64 that are loaded, and keeps the best."""
    evaluate_goals(programs, goal_slots, _WIDTH)
    goals = np.empty(1, np.int32)
    for lane in range(64):
        if (over >> np.uint64(lane)) & ONE == ZERO:
            continue
        read_goals(programs, goal_slots, lane, 0, goals)
        if goals[0] > found.goal[0]:
            found.goal[0] = goals[0]
            found.counts[_BEST] = begin + lane


@njit(cache=True, nogil=True)
def _expand(programs, found, slots, goal_slots, stop, states):
    n_fluents = len(programs.next_slot)
    words = found.state.shape[1]
    children = np.zeros((64, words), np.uint64)
    block = np.empty(64, np.uint64)
    last = found.counts[_HEAD] + states
    counts = found.counts
    while stop[0] == 0 and counts[_HEAD] < min(last, counts[_COUNT]) and counts[_COUNT] < len(found.state):
        begin = counts[_HEAD]
        n = min(64, counts[_COUNT] - begin)
        lanes = ALL if n == 64 else (ONE << np.uint64(n)) - ONE
        _load(found, slots, begin, n, n_fluents)
        evaluate(programs.legal, slots, _WIDTH)
        over = slots[programs.terminal_slot] & lanes
        if over != ZERO:
            goal_slots[FIRST_FLUENT : FIRST_FLUENT + n_fluents] = slots[FIRST_FLUENT : FIRST_FLUENT + n_fluents]
            _note_goals(programs, found, goal_slots, begin, over)
        for move in range(len(programs.legal_slot)):
            able = slots[programs.legal_slot[move]] & lanes & ~over
            if able == ZERO:
                continue
            clear_sets(programs, slots, _WIDTH)
            enter_move(programs, slots, _WIDTH, 0, move, able)
            evaluate(programs.next, slots, _WIDTH)
            for word in range(words):
                for i in range(64):
                    f = 64 * word + i
                    block[i] = slots[programs.next_slot[f]] if f < n_fluents else ZERO
                transpose(block)
                for lane in range(n):
                    children[lane, word] = block[lane]
            for lane in range(n):
                if (able >> np.uint64(lane)) & ONE != ZERO and not _insert(found, children[lane], begin + lane, move):
                    return
        counts[_HEAD] = begin + n
