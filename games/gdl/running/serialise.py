"""Makes a game with turns of one in which two roles choose at once: one chooses, then the other one, who has seen it.

Its value is a bound for that of the game itself: the first role gets at least as much where its choice is not seen
(Saffidine, Finnsson and Buro, "Alpha-beta pruning for games with simultaneous moves", 2012).
"""

from __future__ import annotations

import numpy as np

from games.gdl.circuit.circuit import Circuit
from games.gdl.running.machine import CircuitMachine, compiled_game
from games.gdl.running.rebuilding import WAIT, CircuitBuilder, acyclic, is_cyclic, set_members
from games.machine import State, Term

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
        # What holds stays while the first role chooses.
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
    """A state of a game as one of the game that `serialise` has made of it, `machine`."""
    assert isinstance(state, bytes)
    return state.ljust(8 * machine.words, b"\0")
