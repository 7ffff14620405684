"""What is the same in every reachable state."""

from __future__ import annotations

import pytest

from games.gdl.circuit.ternary import OPEN, reachable
from games.gdl.running.batches import facts_in
from tests.circuits import machine_of, own_machine

LAMP = """
(role r) (init (step 0)) (init whole) (succ 0 1) (succ 1 2)
(<= (legal r press) (true (step ?n)))
(<= (legal r smash) (not (true whole)))
(<= (next (step ?m)) (true (step ?n)) (succ ?n ?m))
(<= (next lit) (does r press))
(<= (next whole) (true whole) (not (does r smash)))
(<= terminal (true (step 2)))
(<= (goal r 100) (true lit)) (<= (goal r 0) (not (true lit)))
"""
"""Only what is broken can be smashed, and only smashing breaks."""


@pytest.mark.parametrize("name", ["hanoi", "peg_solitaire", "eight_puzzle"])
@pytest.mark.parametrize("legally", [True, False])
def test_holds_in_random_matches(name: str, legally: bool) -> None:
    """No position of a match contradicts it."""
    machine = own_machine(name)
    circuit, n = machine.game.circuit, len(machine.game.fluents)
    legal = [len(moves) for moves in circuit.moves] if legally else None
    value = reachable(circuit.pool, circuit.outputs, circuit.initial, legal)[1 : n + 1]
    seen = facts_in(machine.sample.states, n)
    assert ((seen == value) | (value == OPEN)).all()


def test_what_no_legal_move_changes_stays() -> None:
    """The lamp stays whole where moves are legal."""
    circuit = machine_of(LAMP).game.circuit
    whole, lit = (1 + circuit.fluents.index(fact) for fact in ("whole", "lit"))
    values = [reachable(circuit.pool, circuit.outputs, circuit.initial, legal) for legal in ([2], None)]
    assert [value[[whole, lit]].tolist() for value in values] == [[1, OPEN], [OPEN, OPEN]]
