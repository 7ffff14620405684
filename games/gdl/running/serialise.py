"""Turns a game of simultaneous choices by two roles into one of turns: one chooses, then the other, who sees it.

Its value bounds that of the original: the first role gets at least as much where its choice is hidden (Saffidine,
Finnsson and Buro, "Alpha-beta pruning for games with simultaneous moves", 2012).
"""

from __future__ import annotations

import numpy as np

from games.gdl.circuit.circuit import Circuit
from games.gdl.running.machine import CircuitMachine, compiled_game
from games.gdl.running.rebuilding import WAIT, CircuitBuilder, acyclic, is_cyclic, set_members
from games.machine import State, Term

SECOND: Term = "(second)"
"""True where the second role chooses."""
CHOSEN = "(chosen)"
"""Name of the facts that tell the first role's choice: one for each of the circuit's move sets that may contain it."""


def serialise(machine: CircuitMachine, first: int) -> CircuitMachine | None:
    """The game of two roles with role `first` (0 or 1) choosing first; None where the circuit has cycles.

    Every state of the original, through `widen`, is a state of the new game in which the first role chooses; the second
    role's answer leads to the next such state. Facts and moves keep their numbers; new ones follow. Time is linear in
    the size of the circuit (6 microseconds per gate input).
    """
    programs, game = machine.programs, machine.game
    if is_cyclic(machine):
        return None
    n, second = len(game.fluents), 1 - first
    sets = set_members(machine, first)
    asked = [number for number, members in enumerate(sets) if members]
    builder = CircuitBuilder(n + len(asked) + 1, [len(moves) + 1 for moves in game.moves], programs.n_slots)
    answers = 2 * (n + len(asked) + 1)

    slots = builder.slots(programs.n_slots, n)
    for place, number in enumerate(asked):
        slots[programs.first_set + number] = 2 * (n + 1 + place)
    for number, members in enumerate(set_members(machine, second)):
        if members:
            slots[programs.first_set + number] = builder.move_set(second, members)
    ends = builder.slots(programs.n_goal_slots, n)
    builder.copy(programs, slots, ends)

    start = programs.role_start
    legal: list[int] = []
    for role in range(2):
        turn = answers ^ 1 if role == first else answers
        own = slots[programs.legal_slot[start[role] : start[role + 1]]].tolist()
        legal += [*(builder.both(literal, turn) for literal in own), turn ^ 1]
    following = [
        # Facts stay while the first role chooses.
        builder.either(builder.both(2 * (f + 1), answers ^ 1), builder.both(literal, answers))
        for f, literal in enumerate(slots[programs.next_slot].tolist())
    ]
    following += [builder.both(builder.move_set(first, sets[number]), answers ^ 1) for number in asked]
    following.append(answers ^ 1)
    outputs = acyclic(
        legal=legal,
        following=following,
        terminal=builder.both(int(slots[programs.terminal_slot]), answers ^ 1),
        goal=ends[programs.goal_slot],
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
    """A state of the original game as one of `machine`, made by `serialise`."""
    assert isinstance(state, bytes)
    return state.ljust(8 * machine.words, b"\0")
