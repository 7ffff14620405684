"""Circuits compute the meaning of the ground program, however simplified."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from games.gdl.circuit.circuit import build_circuit
from games.gdl.grounding.ground import ALWAYS, NEVER, GroundProgram
from games.gdl.running.machine import CircuitMachine, compiled_game

FLUENTS = 8
MOVES = (1, 3, 6)


@dataclass
class Program:
    """A random stratified program: `true` and `does` atoms, then strata of derived atoms with cycles inside.

    Only the upper two of the four strata depend on `does`; legal moves, end and goals are taken from below.
    """

    rng: random.Random
    strata: list[list[int]] = field(default_factory=list)
    rules: list[tuple[int, list[int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        below = list(range(1, FLUENTS + 1))
        does = list(range(FLUENTS + 1, FLUENTS + sum(MOVES) + 1))
        for level in range(4):
            if level == 2:
                self.steady = [*below, NEVER, ALWAYS]
                below += does
            first = FLUENTS + sum(MOVES) + 1 + 8 * level
            stratum = list(range(first, first + 8))
            self.strata.append(stratum)
            for atom in stratum:
                for _ in range(self.rng.choice((1, 2, 3, 12))):
                    negative = [-other for other in self.rng.sample(below, self.rng.choice((0, 1, 2)))]
                    positive = self.rng.sample(below + stratum, self.rng.choice((1, 2, 3, 14)))
                    self.rules.append((atom, positive + negative))
            below += stratum
        self.n_atoms = len(below)
        self.rules.append((self.strata[1][0], []))
        self.rng.shuffle(self.rules)
        self.all = [*below, NEVER, ALWAYS]

    def model(self, inputs: set[int]) -> set[int]:
        """The atoms that hold, stratum by stratum, each up to its least fixpoint."""
        true = set(inputs)
        for stratum in self.strata:
            rules = [rule for rule in self.rules if rule[0] in stratum]
            size = -1
            while size != len(true):
                size = len(true)
                true |= {h for h, body in rules if all((abs(atom) in true) == (atom > 0) for atom in body)}
        return true


def ground_program(program: Program) -> GroundProgram:
    """The program as a game with three roles, its outputs drawn at random."""
    does = np.split(np.arange(FLUENTS + 1, FLUENTS + sum(MOVES) + 1, dtype=np.int32), np.cumsum(MOVES)[:-1])
    bodies = [body for _, body in program.rules]
    rng = program.rng

    def some(atoms: list[int], n: int) -> np.ndarray:
        return np.array(rng.choices(atoms, k=n), np.int32)

    return GroundProgram(
        roles=("a", "b", "c"),
        fluents=[f"f{i}" for i in range(FLUENTS)],
        initial=np.array(sorted(rng.sample(range(FLUENTS), 3)), np.int32),
        moves=[[f"m{i}" for i in range(n)] for n in MOVES],
        goals=[[(value, rng.choice(program.steady)) for value in (0, 50, 100)] for _ in MOVES],
        true_atom=np.arange(1, FLUENTS + 1, dtype=np.int32),
        next_atom=some(program.all, FLUENTS),
        does_atom=does,
        legal_atom=[some(program.steady, n) for n in MOVES],
        terminal_atom=rng.choice(program.steady),
        n_atoms=program.n_atoms,
        rule_head=np.array([head for head, _ in program.rules], np.int32),
        body_start=np.concatenate(([0], np.cumsum([len(body) for body in bodies]))).astype(np.int64),
        body=np.array([atom for body in bodies for atom in body], np.int32),
        warnings=(),
    )


class Reference:
    """The meaning of a ground program, without a circuit."""

    def __init__(self, program: Program, ground: GroundProgram) -> None:
        self.program = program
        self.ground = ground

    def model(self, state: set[int], moves: Iterable[tuple[int, int]] = ()) -> set[int]:
        """The atoms that hold in a state, with moves of some roles if given."""
        does = {int(self.ground.does_atom[role][move]) for role, move in moves}
        return self.program.model({int(self.ground.true_atom[i]) for i in state} | does) | {ALWAYS}

    def next(self, state: set[int], joint: Sequence[int]) -> set[int]:
        """The fluents after a joint move, in which roles without a legal move do nothing."""
        legal = self.model(state)
        moves = [(role, move) for role, move in enumerate(joint) if not legal.isdisjoint(self.ground.legal_atom[role])]
        true = self.model(state, moves)
        return {i for i, atom in enumerate(self.ground.next_atom) if atom in true}


@pytest.mark.parametrize("seed", range(25))
def test_circuits_of_random_programs_mean_what_the_programs_mean(seed: int) -> None:
    """Legal moves, goals and next facts over a random walk: wide bodies, positive cycles, constants, shared parts."""
    program = Program(random.Random(seed))
    ground = ground_program(program)
    reference = Reference(program, ground)
    machine = CircuitMachine(compiled_game(build_circuit(ground)))
    index = {fact: i for i, fact in enumerate(ground.fluents)}
    mine, theirs = machine.initial(), set(ground.initial.tolist())
    for _ in range(12):
        assert {index[str(fact)] for fact in machine.facts(mine)} == theirs
        true = reference.model(theirs)
        assert machine.terminal(mine) == (ground.terminal_atom in true)
        for role, atoms in enumerate(ground.legal_atom):
            expected = [move for move, atom in zip(ground.moves[role], atoms, strict=True) if atom in true]
            assert machine.legal(mine, role) == expected
            values = [value for value, atom in ground.goals[role] if atom in true]
            assert machine.goal_values(mine, role) == values
        joint = [program.rng.randrange(n) for n in MOVES]
        mine = machine.next(mine, [f"m{move}" for move in joint])
        theirs = reference.next(theirs, joint)


def chain(rules: list[tuple[int, list[int]]], n_atoms: int, **changes: object) -> GroundProgram:
    """A one-role, two-move game over given rules: atoms 1..4 are fluents, 5 and 6 the moves."""
    bodies = [body for _, body in rules]
    parts: dict[str, object] = {
        "roles": ("a",),
        "fluents": ["p", "q", "r", "s"],
        "initial": np.array([0], np.int32),
        "moves": [["x", "y"]],
        "goals": [[]],
        "true_atom": np.arange(1, 5, dtype=np.int32),
        "next_atom": np.zeros(4, np.int32),
        "does_atom": [np.array([5, 6], np.int32)],
        "legal_atom": [np.array([ALWAYS, ALWAYS], np.int32)],
        "terminal_atom": NEVER,
        "n_atoms": n_atoms,
        "rule_head": np.array([head for head, _ in rules], np.int32),
        "body_start": np.concatenate(([0], np.cumsum([len(body) for body in bodies]))).astype(np.int64),
        "body": np.array([atom for body in bodies for atom in body], np.int32),
        "warnings": (),
    }
    return GroundProgram(**(parts | changes))  # type: ignore[arg-type]


def test_facts_that_never_change_are_no_fluents() -> None:
    """A fact that keeps itself becomes a constant, and so do its consequences; true ones are kept apart."""
    # p, q: kept as they are (p true, q false); r: next if q or p; s: next after the move x.
    program = chain(
        [(7, [1]), (8, [2]), (9, [2]), (9, [1]), (10, [5])],
        10,
        initial=np.array([0, 2], np.int32),
        next_atom=np.array([7, 8, 9, 10], np.int32),
    )
    circuit = build_circuit(program)
    assert circuit.fluents == ["s"]
    assert sorted(circuit.always) == ["p", "r"]
    assert compiled_game(circuit).edges == 0


def test_facts_that_change_later_stay_fluents() -> None:
    """A change that takes several steps to arrive is found, and nothing that some match could change is folded."""
    program = chain([(7, [2]), (8, [3]), (9, [5])], 9, next_atom=np.array([7, 8, 9, NEVER], np.int32))
    circuit = build_circuit(program)
    assert circuit.fluents == ["p", "q", "r"]


def test_what_holds_after_any_move_is_constant() -> None:
    """A role makes exactly one move, so "x or y" is true if it has no third one."""
    program = chain([(7, [5]), (7, [6]), (8, [5, 6])], 8, next_atom=np.array([7, 8, NEVER, NEVER], np.int32))
    circuit = build_circuit(program)
    assert circuit.fluents == []
    assert circuit.always == ["p"]


def test_an_atom_that_supports_only_itself_is_false() -> None:
    """Least models: neither a self-loop nor a cycle of two holds without support from outside."""
    program = chain(
        [(7, [7]), (8, [9]), (9, [8]), (10, [11]), (11, [10]), (11, [5])],
        11,
        next_atom=np.array([7, 8, 10, NEVER], np.int32),
    )
    machine = CircuitMachine(compiled_game(build_circuit(program)))
    state = machine.initial()
    assert machine.facts(machine.next(state, ["x"])) == {"r"}
    assert machine.facts(machine.next(state, ["y"])) == set()


def test_shared_parts_are_factored_out() -> None:
    """Gates that read the same literals read one gate for them instead."""
    fluents = 40
    shared = list(range(1, 9))
    rules = [(fluents + 2 + i, [*shared, 9 + i]) for i in range(30)] + [(80, [41])]
    program = chain(
        rules,
        80,
        fluents=[f"f{i}" for i in range(fluents)],
        initial=np.arange(fluents, dtype=np.int32),
        true_atom=np.arange(1, fluents + 1, dtype=np.int32),
        does_atom=[np.array([41, NEVER], np.int32)],
        next_atom=np.concatenate((np.full(10, 80), np.arange(fluents + 2, fluents + 32))).astype(np.int32),
    )
    circuit = build_circuit(program)
    machine = CircuitMachine(compiled_game(circuit))
    assert machine.game.edges < 30 * 9 // 2
    state = machine.next(machine.initial(), ["x"])
    assert machine.facts(state) == set(program.fluents)
    state = machine.next(machine.next(state, ["y"]), ["x"])
    assert machine.facts(state) == {f"f{i}" for i in range(10)}


def test_parts_that_a_cycle_has_too_are_shared_only_with_what_comes_after_it() -> None:
    """A gate inside a cycle does not serve signals that the cycle waits for."""
    # 20..25: p and q and one more; the cycle of 30 and 31 reads them, and starts from "p and q" itself.
    rules = [(20 + i, [1, 2, 3 + i]) for i in range(6)]
    rules += [(30, [1, 2]), *((30, [31, 20 + i]) for i in range(6)), (31, [30, 9])]
    rules += [(40, [31]), (41, [10])]
    program = chain(
        rules,
        41,
        fluents=list("pqabcdefg"),
        initial=np.arange(9, dtype=np.int32),
        true_atom=np.arange(1, 10, dtype=np.int32),
        does_atom=[np.array([10, NEVER], np.int32)],
        next_atom=np.array([41, 40, 20, 21, 22, 23, 24, 25, 41], np.int32),
    )
    machine = CircuitMachine(compiled_game(build_circuit(program)))
    state = machine.next(machine.initial(), ["x"])
    assert machine.facts(state) == set("pqabcdefg")
    assert machine.facts(machine.next(state, ["y"])) == set("qabcdef")
    assert machine.facts(machine.next(machine.next(state, ["y"]), ["x"])) == {"p", "g"}
