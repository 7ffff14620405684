"""Connection of two sets of cells, as gates."""

from __future__ import annotations

import random

import numpy as np

from games.gdl.circuit.builder import CircuitBuilder
from games.gdl.circuit.circuit import Circuit
from games.gdl.circuit.outputs import Outputs
from games.gdl.circuit.pool import FALSE
from games.gdl.lean.connection import connect
from games.gdl.running.machine import CircuitMachine, compiled_game


def connected(neighbours: list[set[int]], inside: set[int], one: set[int], other: set[int]) -> bool:
    """Whether a path through cells `inside` leads from one set to the other."""
    reached = list(one & inside)
    for cell in reached:
        reached += [near for near in neighbours[cell] & inside if near not in reached]
    return not other.isdisjoint(reached)


def test_connection_agrees_with_a_search_for_paths() -> None:
    """In random graphs, dense and sparse, with sides that may overlap or be empty."""
    rng = random.Random(1)
    for trial in range(20):
        n = rng.randint(1, 14)
        neighbours: list[set[int]] = [set() for _ in range(n)]
        for _ in range(rng.randint(0, 3 * n)):
            a, b = rng.randrange(n), rng.randrange(n)
            if a != b:
                neighbours[a].add(b)
                neighbours[b].add(a)
        one, other = ({cell for cell in range(n) if rng.random() < 0.3} for _ in range(2))
        builder = CircuitBuilder(n, [1], 100)
        literal = connect(builder, [2 * (cell + 1) for cell in range(n)], neighbours, one, other, 1000)
        assert literal is not None
        legal, following, terminal = (np.array(some, np.int32) for some in ([FALSE], [FALSE] * n, [literal]))
        none = np.zeros(0, np.int32)
        outputs = Outputs(legal, following, terminal, none, none, none)
        facts = [str(cell) for cell in range(n)]
        initial = np.zeros(n, np.bool_)
        circuit = Circuit(("r",), list(facts), [], initial, [["m"]], [[]], builder.pool, outputs)
        machine = CircuitMachine(compiled_game(circuit))
        for _ in range(40):
            inside = {cell for cell in range(n) if rng.random() < 0.6}
            state = machine.state(facts[cell] for cell in inside)
            assert machine.terminal(state) == connected(neighbours, inside, one, other), trial


def test_a_connection_that_is_too_large_is_given_up() -> None:
    """Gates are counted while they are made."""
    n = 12
    neighbours = [{b for b in range(n) if b != a and (a + b) % 3} for a in range(n)]
    builder = CircuitBuilder(n, [1], 100)
    assert connect(builder, [2 * (cell + 1) for cell in range(n)], neighbours, {0}, {1}, 2) is None
