"""A game's circuit as plain lists of gates, whose slots hold literals of a formula or one of three truth values."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from games.gdl.running.layout import ARITY, COUNT, FIRST, FIRST_FLUENT, FLIP, OUT, SLOT_FALSE, SLOT_TRUE, GateProgram
from games.gdl.running.machine import CircuitMachine


class Gate(NamedTuple):
    """An AND gate, or its negation."""

    out: int
    """Slot of the output."""
    flip: bool
    inputs: tuple[int, ...]
    """Slots."""


class Block(NamedTuple):
    """Gates in the order of evaluation; with loops, one cyclic component."""

    gates: list[Gate]
    loops: list[tuple[int, int]]
    """Slots of signals in positive cycles, each with the slot of its definition; their least solution holds."""


class GateLists(NamedTuple):
    """The three programs of a one-player game, and the slots of their inputs and outputs."""

    legal: list[Block]
    next: list[Block]
    goal: list[Block]
    n_slots: int
    n_goal_slots: int
    n_fluents: int
    """Fluents fill the slots from FIRST_FLUENT on, in both sets of slots."""
    n_moves: int
    legal_slot: list[int]
    terminal_slot: int
    next_slot: list[int]
    first_set: int
    n_sets: int
    sets_of: list[list[int]]
    """Per move, its move sets, numbered from 0."""
    goal_slot: list[int]
    goal_value: list[int]
    cyclic: bool
    """Whether there are loops."""


def read_circuit(machine: CircuitMachine) -> GateLists:
    """The circuit of a machine with one role."""
    programs = machine.programs
    start, slots = programs.set_start.tolist(), programs.set_slot.tolist()
    n_moves = len(programs.legal_slot)
    legal, following, goal = read_program(programs.legal), read_program(programs.next), read_program(programs.goal)
    return GateLists(
        legal,
        following,
        goal,
        n_slots=programs.n_slots,
        n_goal_slots=programs.n_goal_slots,
        n_fluents=len(machine.game.fluents),
        n_moves=n_moves,
        legal_slot=programs.legal_slot.tolist(),
        terminal_slot=int(programs.terminal_slot),
        next_slot=programs.next_slot.tolist(),
        first_set=programs.first_set,
        n_sets=programs.n_sets,
        sets_of=[[slot - programs.first_set for slot in slots[start[m] : start[m + 1]]] for m in range(n_moves)],
        goal_slot=programs.goal_slot.tolist(),
        goal_value=list(chain(*machine.game.goals)),
        cyclic=any(block.loops for block in (*legal, *following, *goal)),
    )


def read_program(program: GateProgram) -> list[Block]:
    """The gates of one program."""
    runs, inputs = program.runs.tolist(), program.inputs.tolist()
    blocks: list[Block] = []
    inner = 0
    """Runs left of the present cyclic component."""
    for run in runs:
        arity, flip, count, at, out = (run[i] for i in (ARITY, FLIP, COUNT, FIRST, OUT))
        if arity == 0:
            pairs = inputs[at : at + 2 * count]
            blocks.append(Block([], list(zip(pairs[::2], pairs[1::2], strict=True))))
            inner = flip
            continue
        if inner == 0 and (not blocks or blocks[-1].loops):
            blocks.append(Block([], []))
        blocks[-1].gates.extend(
            Gate(out + i, bool(flip), tuple(inputs[at + i * arity : at + (i + 1) * arity])) for i in range(count)
        )
        if inner:
            inner -= 1
            if inner == 0:
                blocks.append(Block([], []))
    return blocks


FALSE, TRUE, OPEN = 0, 1, 2
"""Truth values of `evaluate`; OPEN is either."""


def new_slots(n_slots: int, fluents: list[int]) -> list[int]:
    """Slots with constants and fluents in place, as truth values."""
    slots = [OPEN] * n_slots
    slots[SLOT_TRUE], slots[SLOT_FALSE] = TRUE, FALSE
    slots[FIRST_FLUENT : FIRST_FLUENT + len(fluents)] = fluents
    return slots


def evaluate(blocks: list[Block], slots: list[int]) -> None:
    """Fills the slots of a program with truth values, by Kleene's three-valued logic."""
    for block in blocks:
        for loop, _ in block.loops:
            slots[loop] = FALSE
        changed = True
        while changed:
            changed = False
            for out, flip, inputs in block.gates:
                value = TRUE
                for i in inputs:
                    if slots[i] == FALSE:
                        value = FALSE
                        break
                    if slots[i] == OPEN:
                        value = OPEN
                slots[out] = 1 - value if flip and value != OPEN else value
            for loop, definition in block.loops:
                # Upwards only: false, open, true.
                if slots[loop] != slots[definition] and slots[loop] != TRUE:
                    if slots[loop] == OPEN and slots[definition] == FALSE:
                        continue
                    slots[loop] = slots[definition]
                    changed = True
