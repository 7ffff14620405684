"""Layouts: slots are written before they are read, runs have one shape each, wide gates become trees."""

from __future__ import annotations

import pytest

from games import rulesheets
from games.gdl.running.layout import (
    ARITY,
    COUNT,
    FIRST,
    FIRST_FLUENT,
    FLIP,
    MAX_ARITY,
    OUT,
    CircuitPrograms,
    GateProgram,
    lay_out,
)
from tests.circuits import circuit_of

CYCLIC = """
(role a) (init (at 1)) (init (on 2)) (init (on 3)) (init (on 4))
(step 1 2) (step 2 3) (step 3 4) (step 4 1)
(<= (legal a (flip ?x)) (step ?x ?y))
(<= (next (on ?x)) (true (on ?x)) (not (does a (flip ?x))))
(<= (next (on ?x)) (does a (flip ?x)) (not (true (on ?x))))
(<= (next (at ?x)) (true (at ?x)))
(<= (next (at ?x)) (reached ?x))
(<= (reached ?x) (true (at ?x)))
(<= (reached ?y) (reached ?x) (step ?x ?y) (true (on ?y)))
(<= terminal (reached 4)) (<= (goal a 100) (reached 4)) (<= (goal a 0) (not (reached 4)))
"""

WIDE = (
    "(role a) (<= (legal a (flip ?x)) (n ?x)) "
    + " ".join(f"(n {i}) (init (on {i}))" for i in range(100))
    + " ".join(f"(<= (next (on {i})) (true (on {i})) (not (does a (flip {i}))))" for i in range(100))
    + f"(<= all {' '.join(f'(true (on {i}))' for i in range(100))})"
    + "(<= any (true (on ?x)) (n ?x)) (<= terminal (not any)) (<= (goal a 100) all) (<= (goal a 0) (not all))"
)


def outputs_of(program: GateProgram) -> set[int]:
    """The slots that a program writes."""
    written: set[int] = set()
    for run in program.runs.tolist():
        if run[ARITY]:
            written |= set(range(run[OUT], run[OUT] + run[COUNT]))
        else:
            written |= set(program.inputs[run[FIRST] : run[FIRST] + 2 * run[COUNT] : 2].tolist())
    return written


def check_order(program: GateProgram, given: set[int]) -> set[int]:
    """Fails if a run reads a slot not yet written; returns all slots written afterwards."""
    there = set(given)
    for run in program.runs.tolist():
        if run[ARITY] == 0:
            pairs = program.inputs[run[FIRST] : run[FIRST] + 2 * run[COUNT]]
            there |= set(pairs[::2].tolist())
            continue
        assert 1 <= run[ARITY] <= MAX_ARITY
        assert run[FLIP] in (0, 1)
        read = program.inputs[run[FIRST] : run[FIRST] + run[ARITY] * run[COUNT]]
        assert len(read) == run[ARITY] * run[COUNT]
        assert set(read.tolist()) <= there
        out = set(range(run[OUT], run[OUT] + run[COUNT]))
        assert not out & there
        there |= out
    return there


def sheets() -> dict[str, str]:
    """Rulesheets of several shapes, by name."""
    return {"cyclic": CYCLIC, "wide": WIDE} | {
        name: rulesheets.text(name) for name in ("tic_tac_toe", "connect_four", "rock_paper_scissors", "eight_puzzle")
    }


@pytest.mark.parametrize("name", list(sheets()))
def test_every_slot_is_written_once_and_before_it_is_read(name: str) -> None:
    """From constants, fluents and move sets on; outputs are slots that are written."""
    circuit = circuit_of(sheets()[name])
    layout: CircuitPrograms = lay_out(circuit)
    given = {0, 1} | set(range(FIRST_FLUENT, FIRST_FLUENT + len(circuit.fluents)))
    now = check_order(layout.legal, given)
    assert set(layout.legal_slot.tolist()) <= now
    assert layout.terminal_slot in now
    sets = set(range(layout.first_set, layout.first_set + layout.n_sets))
    later = check_order(layout.next, now | sets)
    assert set(layout.next_slot.tolist()) <= later
    assert max(later) < layout.n_slots
    ends = check_order(layout.goal, given)
    assert set(layout.goal_slot.tolist()) <= ends
    assert max(ends) < layout.n_goal_slots


def test_wide_gates_become_trees() -> None:
    """An AND of a hundred facts is computed by gates of at most `MAX_ARITY` inputs each."""
    circuit = circuit_of(WIDE)
    assert circuit.pool.size.max() > MAX_ARITY
    layout = lay_out(circuit)
    assert layout.goal.runs[:, ARITY].max() <= MAX_ARITY
    assert len(layout.goal.inputs) < 2 * 100 * MAX_ARITY // (MAX_ARITY - 1)
