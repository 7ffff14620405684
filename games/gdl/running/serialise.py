"""Makes a game with turns of one in which two roles choose at once: one chooses, then the other one, who has seen it.

Its value is a bound for that of the game itself: the first role gets at least as much where its choice is not seen
(Saffidine, Finnsson and Buro, "Alpha-beta pruning for games with simultaneous moves", 2012).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from games.gdl.circuit.circuit import Circuit
from games.gdl.circuit.outputs import Outputs
from games.gdl.circuit.pool import FALSE, NO_ROOM, TRUE, conjoin, grow, move_set, new_pool
from games.gdl.running.layout import ARITY, FIRST_FLUENT, SLOT_FALSE, SLOT_TRUE, GateProgram, gates_of
from games.gdl.running.machine import CircuitMachine, compiled_game
from games.machine import State, Term

WAIT: Term = "(wait)"
"""The only move of the role that does not choose. No rulesheet can spell it."""
SECOND: Term = "(second)"
"""Holds where the second role chooses."""
CHOSEN = "(chosen)"
"""Facts with this name say what the first role has chosen, as far as it matters: one for each of the circuit's move
sets that the choice may be in."""


def serialise(machine: CircuitMachine, first: int) -> CircuitMachine | None:
    """The game of two roles in which role `first` (0 or 1) chooses first; None where the circuit has cycles.

    Every state of the game, as `widen` gives it, is one of the new one: there the first role chooses, and after the
    second one has answered comes the next of them. Facts and moves keep their numbers; new ones follow. Time is linear
    in the size of the circuit (6 microseconds a gate input).
    """
    programs, game = machine.programs, machine.game
    if any((program.runs[:, ARITY] == 0).any() for program in (programs.legal, programs.next, programs.goal)):
        return None
    n, second = len(game.fluents), 1 - first
    sets = [[move for move in members if move >= 0] for members in _members(machine, first)]
    asked = [number for number, members in enumerate(sets) if members]
    builder = _Builder(n + len(asked) + 1, [len(moves) + 1 for moves in game.moves], programs.n_slots)
    answers = 2 * (n + len(asked) + 1)

    slots = builder.slots(programs.n_slots, n)
    for place, number in enumerate(asked):
        slots[programs.first_set + number] = 2 * (n + 1 + place)
    for number, members in enumerate(_members(machine, second)):
        if members:
            slots[programs.first_set + number] = builder.move_set(second, members)
    builder.copy(programs.legal, slots)
    builder.copy(programs.next, slots)
    ends = builder.slots(programs.n_goal_slots, n)
    builder.copy(programs.goal, ends)

    start = programs.role_start
    legal: list[int] = []
    for role in range(2):
        turn = answers ^ 1 if role == first else answers
        own = slots[programs.legal_slot[start[role] : start[role + 1]]].tolist()
        legal += [*(builder.both(literal, turn) for literal in own), turn ^ 1]
    following = [
        # What holds stays while the first role chooses.
        builder.either(builder.both(2 * (f + 1), answers ^ 1), builder.both(literal, answers))
        for f, literal in enumerate(slots[programs.next_slot].tolist())
    ]
    following += [builder.both(builder.move_set(first, sets[number]), answers ^ 1) for number in asked]
    following.append(answers ^ 1)
    outputs = Outputs(
        legal=np.array(legal, np.int32),
        next=np.array(following, np.int32),
        terminal=np.array([builder.both(int(slots[programs.terminal_slot]), answers ^ 1)], np.int32),
        goal=ends[programs.goal_slot],
        loop_signal=np.zeros(0, np.int32),
        loop_definition=np.zeros(0, np.int32),
    )
    circuit = Circuit(
        roles=game.roles,
        fluents=[*game.fluents, *((CHOSEN, str(number)) for number in asked), SECOND],
        always=game.always,
        initial=np.append(programs.initial != 0, np.zeros(len(asked) + 1, np.bool_)),
        moves=[[*moves, WAIT] for moves in game.moves],
        goals=game.goals,
        pool=builder.pool,
        outputs=outputs,
    )
    return CircuitMachine(compiled_game(circuit))


def widen(machine: CircuitMachine, state: State) -> State:
    """A state of a game as one of the game that `serialise` has made of it, `machine`."""
    assert isinstance(state, bytes)
    return state.ljust(8 * machine.words, b"\0")


def _members(machine: CircuitMachine, role: int) -> list[list[int]]:
    """Per move set the indices of the moves of a role that are in it, ascending; none where it is another role's."""
    programs = machine.programs
    found: list[list[int]] = [[] for _ in range(programs.n_sets)]
    begin, end = programs.role_start[role : role + 2].tolist()
    for move in range(begin, end):
        for slot in programs.set_slot[programs.set_start[move] : programs.set_start[move + 1]].tolist():
            found[slot - programs.first_set].append(move - begin)
    return found


class _Builder:
    """A pool that grows as gates come in."""

    def __init__(self, n_fluents: int, moves: Sequence[int], signals: int) -> None:
        self.pool = new_pool(n_fluents, np.array(moves, np.int32), 2 * signals + 4 * n_fluents, 8 * signals)

    @staticmethod
    def slots(n: int, n_fluents: int) -> NDArray[np.int32]:
        """The literal of each slot (n), as far as it is known: constants and fluents."""
        literals = np.full(n, -1, np.int32)
        literals[[SLOT_TRUE, SLOT_FALSE]] = TRUE, FALSE
        literals[FIRST_FLUENT : FIRST_FLUENT + n_fluents] = 2 * np.arange(1, n_fluents + 1)
        return literals

    def copy(self, program: GateProgram, slots: NDArray[np.int32]) -> None:
        """Makes the gates of a program, and enters their literals in `slots`."""
        for out, flip, inputs in gates_of(program):
            slots[out] = self._conjoin(slots[inputs]) ^ flip

    def both(self, *literals: int) -> int:
        return self._conjoin(literals)

    def either(self, *literals: int) -> int:
        return self._conjoin([literal ^ 1 for literal in literals]) ^ 1

    def move_set(self, role: int, members: Sequence[int]) -> int:
        """The literal "the role's move is one of these", which ascend."""
        values = np.array(members, np.int32)
        while (literal := int(move_set(self.pool, role, values, len(members)))) == NO_ROOM:
            self.pool = grow(self.pool)
        return literal

    def _conjoin(self, literals: Iterable[int]) -> int:
        values = np.array(literals, np.int32)
        # It sorts them in place, so that it is given others the next time.
        while (literal := int(conjoin(self.pool, values.copy(), len(values)))) == NO_ROOM:
            self.pool = grow(self.pool)
        return literal
