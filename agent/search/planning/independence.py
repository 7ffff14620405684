"""Finds independent moves of a one-player game: a plan may make them in any order, or all at once.

A move *affects* the fluents that it may change, and *reads* those on which its legality and effects depend. Two moves
are independent if neither affects what the other reads; in fill-in puzzles most pairs are. Effects are over-estimated.
Which fluents exclude each other is concluded from random matches, so plans have to be tried out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.search.planning.gate_lists import GateLists, needed
from agent.search.tree.clock import clock_fluents
from games.gdl.circuit.pool import GATE
from games.gdl.circuit.ternary import OPEN, Values, of_literals, reachable, simulate
from games.gdl.running.batches import facts_in
from games.gdl.running.machine import CircuitMachine


@dataclass(frozen=True)
class Independence:
    """Fluents that moves affect and read, as bit sets, without constant ones and clocks."""

    clock: list[bool]
    """Per fluent, whether its value depends only on the number of moves made."""
    affects: dict[int, int]
    """Per move that may be legal."""
    reads: dict[int, int]
    """Per move; includes the fluents that it affects."""

    def independent_pairs(self) -> int:
        """Number of independent pairs of moves."""
        moves = list(self.affects)
        return sum(
            not (self.affects[a] & self.reads[b] or self.affects[b] & self.reads[a])
            for i, a in enumerate(moves)
            for b in moves[:i]
        )


def find_independence(machine: CircuitMachine, lists: GateLists, state: NDArray[np.bool_]) -> Independence | None:
    """The independence of moves from a state (bool[fluents]) on; None where some depend on the number of moves made."""
    return _Analysis(
        machine, lists, reachable(lists.circuit.pool, lists.circuit.outputs, state, [lists.n_moves])
    ).result()


def bits(word: int) -> Iterator[int]:
    """The indices of the bits that are set."""
    while word:
        low = word & -word
        yield low.bit_length() - 1
        word ^= low


class _Analysis:
    def __init__(self, machine: CircuitMachine, lists: GateLists, within: Values) -> None:
        """`within` are the signals' values in reachable states."""
        self._lists = lists
        outputs = lists.circuit.outputs
        self._pool = lists.circuit.pool
        self._inputs = {gate.out >> 1: gate.inputs for program in (lists.legal, lists.next) for gate in program.gates}
        """By gate."""
        self._moves = np.flatnonzero(of_literals(outputs.legal, within) != 0).tolist()
        """Moves that may be legal."""
        self._open = (within[1 : lists.n_fluents + 1] == OPEN).tolist()
        """Per fluent, whether it may change."""
        self._alive = self._implied(lists.terminal, 0)
        """Values of signals while the match is not over."""
        self._fluents, self._sets = self._supports()
        self._together = _together(machine)
        self._clock = clock_fluents(machine.programs)
        self._without = within.copy()
        """Values while the match is not over, in a step without a move."""
        self._without[list(self._alive)] = list(self._alive.values())
        self._without[[literal >> 1 for literal in lists.sets]] = 0
        open_gates = (self._pool.kind[: len(within)] == GATE) & (self._without == OPEN)
        self._open_gates = [
            np.flatnonzero(needed(lists.circuit, np.array([following])) & open_gates) for following in outputs.next
        ]
        """Per fluent, the open gates that its next value depends on."""
        self._users: list[list[int]] = [[] for _ in lists.sets]
        """Per move set, the open fluents, without clocks, whose next value depends on it."""
        for f, literal in enumerate(lists.fluent_next):
            if self._open[f] and not self._clock[f]:
                for s in bits(self._sets[literal >> 1]):
                    self._users[s].append(f)
        self._changing: dict[tuple[int, int, tuple[int, ...]], bool] = {}
        """Results of `_changes`, by fluent, true move sets, and values."""

    def result(self) -> Independence | None:
        clock = [is_open and bool(is_clock) for is_open, is_clock in zip(self._open, self._clock, strict=True)]
        clocks = sum(1 << f for f, is_clock in enumerate(clock) if is_clock)
        open_ones = [f for f, is_open in enumerate(self._open) if is_open and not clock[f]]
        restless = [f for f in open_ones if self._changes(f, {}, 0, 0, self._values(f))]
        """Fluents that change although no move names them."""
        affects: dict[int, int] = {}
        reads: dict[int, int] = {}
        for m in self._moves:
            affects[m], reads[m] = self._effects(m, restless)
            if reads[m] & clocks:
                return None
        return Independence(clock, affects, reads)

    def _supports(self) -> tuple[list[int], list[int]]:
        """Per signal, the open fluents and the move sets that it depends on while the match is not over."""
        lists = self._lists
        fluents, sets = [0] * (lists.n_literals // 2), [0] * (lists.n_literals // 2)
        for f, is_open in enumerate(self._open):
            if is_open:
                fluents[f + 1] = 1 << f
        for s, literal in enumerate(lists.sets):
            sets[literal >> 1] = 1 << s
        changed = True
        while changed:
            changed = False
            for signal, inputs in self._inputs.items():
                for i in () if signal in self._alive else inputs:
                    fluents[signal] |= fluents[i >> 1]
                    sets[signal] |= sets[i >> 1]
            for loop, definition in (*lists.legal.loops, *lists.next.loops):
                found = fluents[definition >> 1], sets[definition >> 1]
                if (fluents[loop >> 1], sets[loop >> 1]) != found:
                    fluents[loop >> 1], sets[loop >> 1] = found
                    changed = True
        return fluents, sets

    def _effects(self, move: int, restless: Iterable[int]) -> tuple[int, int]:
        """Fluents that a move affects and reads; restless ones change unless the move names them."""
        lists = self._lists
        legal = lists.move_legal[move]
        given = self._implied(legal, 1)
        implied = {signal - 1: v for signal, v in given.items() if 1 <= signal <= lists.n_fluents}
        needed = [f for f, v in implied.items() if v]
        fluents = sum(1 << f for f in implied)
        sets = sum(1 << s for s in lists.sets_of[move])
        given |= {lists.sets[s] >> 1: 1 for s in lists.sets_of[move]}
        possible: NDArray[np.bool_] | None = np.all(self._together[needed], axis=0) if needed else None
        affects, reads = 0, self._fluents[legal >> 1]
        named = {f for s in lists.sets_of[move] for f in self._users[s]}
        for f in restless:
            if f not in named:
                affects |= 1 << f
                reads |= self._fluents[lists.fluent_next[f] >> 1]
        for f in named:
            values = self._values(f)
            if f in implied:
                values = (implied[f],)
            elif possible is not None and not possible[f]:
                values = (0,)
            if self._changes(f, given, fluents, sets, values):
                affects |= 1 << f
                reads |= self._fluents[lists.fluent_next[f] >> 1]
        return affects, reads | affects

    def _values(self, fluent: int) -> tuple[int, ...]:
        """A fluent's possible values while the match is not over."""
        value = self._alive.get(fluent + 1)
        return (0, 1) if value is None else (value,)

    def _implied(self, literal: int, value: int) -> dict[int, int]:
        """Values of signals that follow from this literal's value, gate by gate."""
        values: dict[int, int] = {}
        stack = [(literal, value)]
        while stack:
            at, value = stack.pop()
            signal, value = at >> 1, value ^ (at & 1)
            if signal in values or signal == 0:
                continue
            values[signal] = value
            if value:
                stack.extend((i, 1) for i in self._inputs.get(signal, ()))
        return values

    def _changes(self, fluent: int, given: dict[int, int], fluents: int, sets: int, values: tuple[int, ...]) -> bool:
        """Whether a fluent with one of these values may have another one next.

        `given` are the known signals, `fluents` the fluents among them, `sets` the move's sets.
        """
        following = self._lists.fluent_next[fluent]
        alone = not self._fluents[following >> 1] & fluents & ~(1 << fluent)
        key = (fluent, self._sets[following >> 1] & sets, values)
        if alone and key in self._changing:
            return self._changing[key]
        gates = self._open_gates[fluent]
        known = self._without.copy()
        known[list(given)] = list(given.values())
        changing = False
        for value in values:
            found = known.copy()
            found[fluent + 1] = value
            simulate(self._pool.start, self._pool.size, self._pool.items, gates[known[gates] == OPEN], found)
            result = found[following >> 1]
            if result == OPEN or result ^ (following & 1) != value:
                changing = True
                break
        if alone:
            self._changing[key] = changing
        return changing


def _together(machine: CircuitMachine) -> NDArray[np.bool_]:
    """(fluents, fluents): whether two fluents held at once in random matches."""
    n = len(machine.game.fluents)
    states = np.unique(machine.sample.states, axis=0)
    seen = facts_in(states, n).astype(np.float32)
    return np.asarray((seen.T @ seen) > 0)
