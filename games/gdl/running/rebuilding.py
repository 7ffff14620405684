"""From a machine's programs back to a circuit, to make other games of a compiled one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy

import numpy as np
from numpy.typing import NDArray

from games.gdl.circuit.circuit import Circuit
from games.gdl.circuit.outputs import Outputs
from games.gdl.circuit.pool import FALSE, NO_ROOM, TRUE, Pool, conjoin, grow, move_set, new_pool
from games.gdl.running.layout import ARITY, FIRST_FLUENT, SLOT_FALSE, SLOT_TRUE, CircuitPrograms, GateProgram, gates_of
from games.gdl.running.machine import CircuitMachine
from games.machine import Term

WAIT: Term = "(wait)"
"""A move that changes nothing, in derived games. No rulesheet can spell it."""


def is_cyclic(machine: CircuitMachine) -> bool:
    """Whether the circuit has cycles, as recursive rules may; these cannot be read back as gates."""
    programs = machine.programs
    return any(bool((one.runs[:, ARITY] == 0).any()) for one in (programs.legal, programs.next, programs.goal))


def circuit_of(machine: CircuitMachine) -> Circuit:
    """The circuit of an acyclic machine, in linear time (6 microseconds per gate input)."""
    programs, game = machine.programs, machine.game
    n = len(game.fluents)
    builder = CircuitBuilder(n, [len(moves) for moves in game.moves], programs.n_slots)
    slots, ends = builder.slots(programs.n_slots, n), builder.slots(programs.n_goal_slots, n)
    for role in range(len(game.roles)):
        for number, members in enumerate(set_members(machine, role)):
            if members:
                slots[programs.first_set + number] = builder.move_set(role, members)
    builder.copy(programs, slots, ends)
    outputs = acyclic(
        legal=slots[programs.legal_slot],
        following=slots[programs.next_slot],
        terminal=int(slots[programs.terminal_slot]),
        goal=ends[programs.goal_slot],
    )
    initial = programs.initial != 0
    return Circuit(game.roles, game.fluents, game.always, initial, game.moves, game.goals, builder.pool, outputs)


def acyclic(
    *,
    legal: Sequence[int] | NDArray[np.int32],
    following: Sequence[int] | NDArray[np.int32],
    terminal: int,
    goal: NDArray[np.int32],
) -> Outputs:
    """The outputs of an acyclic circuit, by their literals."""
    none = np.zeros(0, np.int32)
    return Outputs(
        np.array(legal, np.int32), np.array(following, np.int32), np.array([terminal], np.int32), goal, none, none
    )


def set_members(machine: CircuitMachine, role: int) -> list[list[int]]:
    """Per move set, the ascending indices of a role's moves in it; empty for another role's set."""
    programs = machine.programs
    found: list[list[int]] = [[] for _ in range(programs.n_sets)]
    begin, end = programs.role_start[role : role + 2].tolist()
    for move in range(begin, end):
        for slot in programs.set_slot[programs.set_start[move] : programs.set_start[move + 1]].tolist():
            found[slot - programs.first_set].append(move - begin)
    return found


class CircuitBuilder:
    """A pool that grows with its gates. Literals are the pool's."""

    def __init__(self, n_fluents: int, moves: Sequence[int], signals: int) -> None:
        """`moves` are numbers of moves by role, `signals` is a rough number of gates."""
        self.pool = new_pool(n_fluents, np.array(moves, np.int32), 2 * signals + 4 * n_fluents, 8 * signals)

    @classmethod
    def extending(cls, pool: Pool) -> CircuitBuilder:
        """A builder that adds gates to a copy of a pool."""
        builder = cls(0, (), 0)
        builder.pool = deepcopy(pool)
        return builder

    @staticmethod
    def slots(n: int, n_fluents: int) -> NDArray[np.int32]:
        """The literal of each slot (n), for constants and fluents; -1 for others."""
        literals = np.full(n, -1, np.int32)
        literals[[SLOT_TRUE, SLOT_FALSE]] = TRUE, FALSE
        literals[FIRST_FLUENT : FIRST_FLUENT + n_fluents] = 2 * np.arange(1, n_fluents + 1)
        return literals

    def copy(self, programs: CircuitPrograms, slots: NDArray[np.int32], ends: NDArray[np.int32]) -> None:
        """Copies all gates of a machine; enters their literals in `slots`, and in `ends` for goals."""
        self._copy(programs.legal, slots)
        self._copy(programs.next, slots)
        self._copy(programs.goal, ends)

    def _copy(self, program: GateProgram, slots: NDArray[np.int32]) -> None:
        for out, flip, inputs in gates_of(program):
            slots[out] = self._conjoin(slots[inputs]) ^ flip

    def both(self, *literals: int) -> int:
        """The conjunction of some literals."""
        return self._conjoin(literals)

    def either(self, *literals: int) -> int:
        """The disjunction of some literals."""
        return self._conjoin([literal ^ 1 for literal in literals]) ^ 1

    def move_set(self, role: int, members: Sequence[int]) -> int:
        """The literal of "the role's move is one of these"; `members` ascend."""
        values = np.array(members, np.int32)
        while (literal := int(move_set(self.pool, role, values, len(members)))) == NO_ROOM:
            self.pool = grow(self.pool)
        return literal

    def _conjoin(self, literals: Iterable[int]) -> int:
        values = np.array(literals, np.int32)
        # `conjoin` sorts its argument in place, so each attempt gets a copy.
        while (literal := int(conjoin(self.pool, values.copy(), len(values)))) == NO_ROOM:
            self.pool = grow(self.pool)
        return literal
