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

from agent.search.planning.gate_lists import FALSE, OPEN, TRUE, Gate, GateLists, evaluate, new_slots
from agent.search.tree.clock import clock_fluents
from games.gdl.running.batches import facts_in
from games.gdl.running.layout import FIRST_FLUENT, SLOT_FALSE, SLOT_TRUE
from games.gdl.running.machine import CircuitMachine

_REACHABILITY_GATES = 3_000_000
"""Most gates to evaluate in order to find what can change; beyond them everything may."""


@dataclass(frozen=True)
class Reachable:
    """Possible truth in the states reachable from one, over-estimated."""

    fluents: list[int]
    """Per fluent, its truth value in all of them, or OPEN."""
    moves: list[int]
    """Moves that may be legal in any of them."""


def reachable(circuit: GateLists, state: list[int]) -> Reachable:
    """The states reachable from a state (0 or 1 per fluent)."""
    values = list(state)
    gates = sum(len(block.gates) for block in circuit.legal + circuit.next)
    for _ in range(max(2, _REACHABILITY_GATES // max(gates, 1))):
        slots = new_slots(circuit.n_slots, values)
        evaluate(circuit.legal, slots)
        moves = [m for m in range(circuit.n_moves) if slots[circuit.legal_slot[m]] != FALSE]
        members = [0] * circuit.n_sets
        for m in moves:
            for s in circuit.sets_of[m]:
                members[s] += 1
        for s, count in enumerate(members):
            slots[circuit.first_set + s] = FALSE if count == 0 else TRUE if count == len(moves) else OPEN
        evaluate(circuit.next, slots)
        joined = [v if slots[s] == v else OPEN for v, s in zip(values, circuit.next_slot, strict=True)]
        if joined == values:
            return Reachable(values, moves)
        values = joined
    return Reachable([OPEN] * circuit.n_fluents, list(range(circuit.n_moves)))


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


def find_independence(machine: CircuitMachine, circuit: GateLists, within: Reachable) -> Independence | None:
    """The independence of moves in the reachable states; None where moves depend on the number of moves made."""
    return _Analysis(machine, circuit, within).result()


def bits(word: int) -> Iterator[int]:
    """The indices of the bits that are set."""
    while word:
        low = word & -word
        yield low.bit_length() - 1
        word ^= low


class _Analysis:
    def __init__(self, machine: CircuitMachine, circuit: GateLists, within: Reachable) -> None:
        self._circuit = circuit
        self._within = within
        self._gate: dict[int, Gate] = {gate.out: gate for block in circuit.legal + circuit.next for gate in block.gates}
        self._alive = self._implied(circuit.terminal_slot, FALSE)
        """Values of slots while the match is not over."""
        self._fluents, self._sets = self._supports()
        self._together = _together(machine)
        self._clock = clock_fluents(machine.programs)
        self._constant = new_slots(circuit.n_slots, within.fluents)
        evaluate(circuit.legal, self._constant)
        evaluate(circuit.next, self._constant)
        self._users: list[list[int]] = [[] for _ in range(circuit.n_sets)]
        """Per move set, the open fluents, without clocks, whose next value depends on it."""
        for f, slot in enumerate(circuit.next_slot):
            if within.fluents[f] == OPEN and not self._clock[f]:
                for s in bits(self._sets[slot]):
                    self._users[s].append(f)
        self._changing: dict[tuple[int, int, tuple[int, ...]], bool] = {}
        """Results of `_changes`, by fluent, true move sets, and values."""

    def result(self) -> Independence | None:
        circuit = self._circuit
        clock = (self._clock & np.array([value == OPEN for value in self._within.fluents])).tolist()
        clocks = sum(1 << f for f, is_clock in enumerate(clock) if is_clock)
        no_move = {circuit.first_set + s: FALSE for s in range(circuit.n_sets)}
        open_ones = [f for f, value in enumerate(self._within.fluents) if value == OPEN and not clock[f]]
        restless = [f for f in open_ones if self._changes(f, no_move, 0, 0, self._values(f))]
        """Fluents that change although no move names them."""
        affects: dict[int, int] = {}
        reads: dict[int, int] = {}
        for m in self._within.moves:
            affects[m], reads[m] = self._effects(m, restless)
            if reads[m] & clocks:
                return None
        return Independence(clock, affects, reads)

    def _supports(self) -> tuple[list[int], list[int]]:
        """Per slot, the open fluents and the move sets that it depends on while the match is not over."""
        circuit = self._circuit
        fluents, sets = [0] * circuit.n_slots, [0] * circuit.n_slots
        for f, value in enumerate(self._within.fluents):
            if value == OPEN:
                fluents[FIRST_FLUENT + f] = 1 << f
        for s in range(circuit.n_sets):
            sets[circuit.first_set + s] = 1 << s
        for block in circuit.legal + circuit.next:
            changed = True
            while changed:
                changed = False
                for out, _, inputs in block.gates:
                    for i in () if out in self._alive else inputs:
                        fluents[out] |= fluents[i]
                        sets[out] |= sets[i]
                for loop, definition in block.loops:
                    if fluents[loop] != fluents[definition] or sets[loop] != sets[definition]:
                        fluents[loop], sets[loop] = fluents[definition], sets[definition]
                        changed = True
        return fluents, sets

    def _effects(self, move: int, restless: Iterable[int]) -> tuple[int, int]:
        """Fluents that a move affects and reads; restless ones change unless the move names them."""
        circuit = self._circuit
        given = self._implied(circuit.legal_slot[move], TRUE)
        implied = {s - FIRST_FLUENT: v for s, v in given.items() if self._is_fluent(s)}
        needed = [f for f, v in implied.items() if v == TRUE]
        fluents = sum(1 << f for f in implied)
        sets = sum(1 << s for s in circuit.sets_of[move])
        for s in circuit.sets_of[move]:
            given[circuit.first_set + s] = TRUE
        inside = set(circuit.sets_of[move])
        possible: NDArray[np.bool_] | None = np.all(self._together[needed], axis=0) if needed else None
        affects, reads = 0, self._fluents[circuit.legal_slot[move]]
        named = {f for s in inside for f in self._users[s]}
        for f in restless:
            if f not in named:
                affects |= 1 << f
                reads |= self._fluents[circuit.next_slot[f]]
        for f in named:
            values = self._values(f)
            if FIRST_FLUENT + f in given:
                values = (given[FIRST_FLUENT + f],)
            elif possible is not None and not possible[f]:
                values = (FALSE,)
            if self._changes(f, given, fluents, sets, values):
                affects |= 1 << f
                reads |= self._fluents[circuit.next_slot[f]]
        return affects, reads | affects

    def _values(self, fluent: int) -> tuple[int, ...]:
        """A fluent's possible values while the match is not over."""
        value = self._alive.get(FIRST_FLUENT + fluent)
        return (FALSE, TRUE) if value is None else (value,)

    def _is_fluent(self, slot: int) -> bool:
        return FIRST_FLUENT <= slot < FIRST_FLUENT + self._circuit.n_fluents

    def _implied(self, slot: int, value: int) -> dict[int, int]:
        """Values of slots that follow from this slot's value, gate by gate."""
        values: dict[int, int] = {}
        stack = [(slot, value)]
        while stack:
            at, value = stack.pop()
            if at in values or at in (SLOT_TRUE, SLOT_FALSE):
                continue
            values[at] = value
            gate = self._gate.get(at)
            if gate is None:
                continue
            inner = 1 - value if gate.flip else value
            if inner == TRUE or len(gate.inputs) == 1:
                stack.extend((i, inner) for i in gate.inputs)
        return values

    def _changes(self, fluent: int, given: dict[int, int], fluents: int, sets: int, values: tuple[int, ...]) -> bool:
        """Whether a fluent with one of these values may have another one next.

        `given` are the known slots, `fluents` the fluents among them, `sets` the move's sets.
        """
        slot = self._circuit.next_slot[fluent]
        alone = not self._fluents[slot] & fluents & ~(1 << fluent)
        key = (fluent, self._sets[slot] & sets, values)
        if alone and key in self._changing:
            return self._changing[key]
        fluents |= 1 << fluent
        changing = False
        for value in values:
            known = dict(given)
            known[FIRST_FLUENT + fluent] = value
            if self._value(slot, known, fluents) != value:
                changing = True
                break
        if alone:
            self._changing[key] = changing
        return changing

    def _value(self, slot: int, known: dict[int, int], fluents: int) -> int:
        """The truth value of a slot, given the `known` slots, which include these fluents.

        Unknown move sets are false, cyclic components open.
        """
        value = known.get(slot, self._alive.get(slot))
        if value is not None:
            return value
        if not (self._sets[slot] or self._fluents[slot] & fluents):
            return self._constant[slot]
        value = self._constant[slot]
        first_set = self._circuit.first_set
        if first_set <= slot < first_set + self._circuit.n_sets:
            value = FALSE
        elif value == OPEN and (gate := self._gate.get(slot)) is not None:
            known[slot] = OPEN
            value = TRUE
            for i in gate.inputs:
                found = self._value(i, known, fluents)
                if found == FALSE:
                    value = FALSE
                    break
                if found == OPEN:
                    value = OPEN
            if gate.flip and value != OPEN:
                value = 1 - value
        known[slot] = value
        return value


def _together(machine: CircuitMachine) -> NDArray[np.bool_]:
    """(fluents, fluents): whether two fluents held at once in random matches."""
    n = len(machine.game.fluents)
    states = np.unique(machine.sample.states, axis=0)
    seen = facts_in(states, n).astype(np.float32)
    return np.asarray((seen.T @ seen) > 0)
