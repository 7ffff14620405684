"""Moves that are several choices made at once."""

from __future__ import annotations

from itertools import product

import numpy as np

from agent.search.planning.gate_lists import read_circuit
from agent.search.planning.move_choices import MoveChoices, find_choices
from games.gdl.circuit.pool import GATE, N_SIGNALS
from games.gdl.circuit.ternary import OPEN, of_literals, simulate
from games.gdl.running.machine import CircuitMachine
from tests.circuits import machine_of

PAIR = """
(role r) (init (at one 2)) (init (at two 3)) (init (step 0))
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (piece one) (piece two)
(<= (way ?p left) (true (at ?p ?y)) (succ ?x ?y))
(<= (way ?p right) (true (at ?p ?x)) (succ ?x ?y))
(<= (way ?p stay) (piece ?p))
(<= (legal r (move ?v ?w)) (way one ?v) (way two ?w) {condition})
(<= (moved one ?v) (does r (move ?v ?w)))
(<= (moved two ?w) (does r (move ?v ?w)))
(<= (next (at ?p ?y)) (true (at ?p ?x)) (moved ?p right) (succ ?x ?y) (not met))
(<= (next (at ?p ?x)) (true (at ?p ?y)) (moved ?p left) (succ ?x ?y) (not met))
(<= (next (at ?p ?x)) (true (at ?p ?x)) (moved ?p stay) (not met))
(<= (next (at ?p 0)) (piece ?p) met)
(<= met (true (at one ?x)) (true (at two ?x)))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= terminal (true (step 5)))
(<= (goal r 100) met)
(<= (goal r 0) (not met))
"""
"""Two pieces move at once on one line; where they meet, both begin again."""


def _choices(machine: CircuitMachine) -> MoveChoices:
    return find_choices(read_circuit(machine.game.circuit))


def test_each_piece_is_a_choice() -> None:
    """Legal in each state are all combinations of the legal options, also where pieces meet."""
    machine = machine_of(PAIR.format(condition=""))
    circuit, found = machine.game.circuit, _choices(machine)
    pool = circuit.pool
    assert [len(choice) for choice in found.choices] == [3, 3]
    for one, two in product(range(6), repeat=2):
        facts = [("at", "one", str(one)), ("at", "two", str(two)), ("step", "0")]
        value = np.full(pool.counts[N_SIGNALS], OPEN, np.int8)
        value[0] = 1
        value[1 : len(circuit.fluents) + 1] = [fact in facts for fact in circuit.fluents]
        simulate(pool.start, pool.size, pool.items, np.flatnonzero(pool.kind[: len(value)] == GATE), value)
        legal = [
            [o for o in choice if (of_literals(np.array(found.options[o].conditions, np.int32), value) == 1).all()]
            for choice in found.choices
        ]
        moves = {machine.game.moves[0][found.move_of(list(taken))[0]] for taken in product(*legal)}
        assert moves == set(machine.legal(machine.state(facts), 0))


def test_too_few_options_make_no_move() -> None:
    """After the end of a match, a plan may hold any of them."""
    found = _choices(machine_of(PAIR.format(condition="")))
    assert [found.move_of([option]) for choice in found.choices for option in choice] == [[]] * 6


def test_moves_without_some_combinations_are_one_choice() -> None:
    """Pieces that must not go the same way do not choose apart."""
    found = _choices(machine_of(PAIR.format(condition="(distinct ?v ?w)")))
    assert [len(choice) for choice in found.choices] == [6]
