"""Symmetries and independent parts of small games, and of some from the corpus."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agent.checking.symmetries.finding import Symmetry, find_symmetries
from agent.checking.symmetries.wording import describe, permutation_text
from agent.search.subgames.parts import Parts, find_parts
from games import rulesheets
from games.gdl.circuit.circuit import Circuit
from games.machine import Term
from tests import circuits
from tests.matches import interpreter_of


def circuit_of(source: str) -> Circuit:
    return circuits.circuit_of(source, variant="plain", idle=False)


def texts(circuit: Circuit) -> set[str]:
    return {"; ".join(describe(one, circuit)) for one in find_symmetries(circuit).generators}


LAMPS = """
(role a)
(init (off 1)) (init (off 2)) (init (off 3)) (init (step 0)) (after 0 1) (after 1 2) (after 2 3)
(lamp 1) (lamp 2) (lamp 3)
(<= (legal a (press ?x)) (lamp ?x))
(<= (next (on ?x)) (does a (press ?x)))
(<= (next (on ?x)) (true (on ?x)))
(<= (next (off ?x)) (true (off ?x)) (not (does a (press ?x))))
(<= (next (step ?n)) (true (step ?m)) (after ?m ?n))
(<= terminal (true (step 3)))
(<= (goal a 100) {goal})
(<= (goal a 0) (true (off 3)))
"""


def test_symmetries_of_a_board() -> None:
    """Those of a square, and the exchange of roles, which the first position does not have."""
    circuit = circuit_of(rulesheets.text("tic_tac_toe"))
    found = find_symmetries(circuit)
    assert found.complete
    assert found.order == 16
    assert {"; ".join(describe(one, circuit)): one.keeps(circuit.initial) for one in found.generators} == {
        "cell, mark: first and second argument exchanged": True,
        "second of cell, second of mark: 1..3 mirrored": True,
        "roles, third of cell, first of control: o and x exchanged": False,
    }


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        ("connect_four", "first of cell, first of drop: 1..7 mirrored"),
        ("rock_paper_scissors", "roles, first of points: left and right exchanged"),
        (
            "breakthrough",
            "roles, third of cell, first of control: black and white exchanged; "
            "second of cell, second of move, fourth of move: 1..8 mirrored",
        ),
    ],
)
def test_symmetries_are_worded(game: str, expected: str) -> None:
    """By the arguments of facts and moves that change; equal changes stand together."""
    assert expected in texts(circuit_of(rulesheets.text(game)))


def test_a_goal_breaks_symmetries() -> None:
    """Lamps are alike unless a goal names one of them."""
    alike = circuit_of(LAMPS.format(goal="(true (on 1)) (true (on 2))"))
    assert texts(alike) == {"first of on, first of press: 1 and 2 exchanged"}
    other = circuit_of(LAMPS.format(goal="(true (on 1))"))
    found = find_symmetries(other)
    assert (found.generators, found.order, found.complete) == ([], 1, True)


def states_agree(circuit: Circuit, one: Symmetry, source: str) -> None:
    """A match at random, and its image, go the same way."""

    machine = interpreter_of(source)
    moves: list[tuple[int, Term]] = [(role, move) for role, some in enumerate(circuit.moves) for move in some]
    image_of = {circuit.fluents[i]: circuit.fluents[j] for i, j in enumerate(one.fluents)}
    move_of = {moves[i]: moves[j] for i, j in enumerate(one.moves)}
    roles = range(len(circuit.roles))
    chance = np.random.default_rng(5)

    def image(facts: frozenset[Term]) -> frozenset[Term]:
        return frozenset(image_of.get(fact, fact) for fact in facts)

    state = machine.initial()
    while not machine.terminal(state):
        other = machine.state(image(machine.facts(state)))
        joint: list[Term] = []
        for role in roles:
            legal = machine.legal(state, role)
            there = [move_of[role, move] for move in legal]
            assert {move for _, move in there} == set(machine.legal(other, int(one.roles[role])))
            joint.append(legal[int(chance.integers(len(legal)))])
        joint_there: list[Term] = ["" for _ in roles]
        for role in roles:
            role_there, move = move_of[role, joint[role]]
            joint_there[role_there] = move
        state = machine.next(state, joint)
        assert machine.facts(machine.next(other, joint_there)) == image(machine.facts(state))
    other = machine.state(image(machine.facts(state)))
    assert machine.terminal(other)
    for role in roles:
        assert machine.goal(state, role) == machine.goal(other, int(one.roles[role]))


@pytest.mark.parametrize("game", ["tic_tac_toe", "breakthrough", "three_way_line", "connect_four"])
def test_symmetries_hold_in_matches(game: str) -> None:
    """By the interpreter: legal moves, next facts, end and goals of images are images."""
    source = rulesheets.text(game)
    circuit = circuit_of(source)
    found = find_symmetries(circuit)
    assert found.generators
    for one in found.generators:
        states_agree(circuit, one, source)


def test_search_is_bounded() -> None:
    """Without time nothing is claimed."""
    found = find_symmetries(circuit_of(rulesheets.text("tic_tac_toe")), seconds=-1.0)
    assert (found.generators, found.order, found.complete) == ([], 1, False)


def test_permutations_in_words() -> None:
    """Mirrored, moved on, exchanged, in cycles."""
    numbers = [str(number) for number in range(1, 12)]
    assert permutation_text(dict(zip(numbers, reversed(numbers), strict=True))) == "1..11 mirrored"
    assert permutation_text(dict(zip(numbers, numbers[1:] + numbers[:1], strict=True))).startswith(
        "1..11 moved on by 1"
    )
    assert permutation_text({"a": "b", "b": "a", "c": "c"}) == "a and b exchanged"
    assert permutation_text({"a": "b", "b": "c", "c": "a", "d": "d"}) == "a to b to c to a"
    assert permutation_text({"a": "a"}) == ""


TWO_BOARDS = """
(role x) (role o)
(init (control x))
(index 1) (index 2) (index 3) (board left) (board right)
(<= (init (cell ?b ?m b)) (board ?b) (index ?m))
(<= (legal ?r (mark ?b ?m)) (true (control ?r)) (true (cell ?b ?m b)) (not (won ?b)))
(<= (legal ?r noop) (role ?r) (true (control ?s)) (distinct ?r ?s))
(<= (next (cell ?b ?m ?r)) (does ?r (mark ?b ?m)))
(<= (next (cell ?b ?m ?p)) (true (cell ?b ?m ?p)) (distinct ?p b))
(<= (next (cell ?b ?m b)) (true (cell ?b ?m b)) (true (control ?r)) (not (does ?r (mark ?b ?m))))
(<= (next (control x)) (true (control o)))
(<= (next (control o)) (true (control x)))
(<= (row ?b ?r) (true (cell ?b 1 ?r)) (true (cell ?b 2 ?r)) (true (cell ?b 3 ?r)) (role ?r))
(<= (won ?b) (row ?b ?r))
(<= terminal (won left) (won right))
(<= terminal (not open))
(<= open (true (cell ?b ?m b)) (not (won ?b)))
(<= (goal ?r 100) (row left ?r) (row right ?r))
(<= (goal ?r 0) (role ?r) (not (row left ?r)))
(<= (goal ?r 0) (role ?r) (not (row right ?r)))
"""

BOTH_AT_ONCE = """
(role a)
(init (at one 0)) (init (at two 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(size 0) (size 1)
(<= (legal a (go ?m ?n)) (size ?m) (size ?n))
(<= (next (at one ?y)) (does a (go 1 ?n)) (true (at one ?x)) (succ ?x ?y))
(<= (next (at one ?x)) (does a (go 0 ?n)) (true (at one ?x)))
(<= (next (at two ?y)) (does a (go ?m 1)) (true (at two ?x)) (succ ?x ?y))
(<= (next (at two ?x)) (does a (go ?m 0)) (true (at two ?x)))
(<= terminal (true (at one 3)))
(<= terminal (true (at two 3)))
(<= (goal a 100) (true (at one 3)) (true (at two 3)))
(<= (goal a 0) (not (true (at one 3))))
"""


def summary(found: Parts) -> list[tuple[set[str], list[int]]]:
    """Per part, the second word of its facts, and the roles' numbers of moves."""
    return [
        ({str(fact[1]) for fact in part.facts}, [len(moves) for _, moves in sorted(part.moves.items())])
        for part in found.parts
    ]


def test_parts_that_a_role_chooses_from() -> None:
    """Two boards side by side, one played on in each step; whose turn it is belongs to neither."""
    found = find_parts(circuit_of(TWO_BOARDS))
    assert sorted(summary(found), key=str) == [({"left"}, [3, 3]), ({"right"}, [3, 3])]
    assert found.manner == ["choice", "choice"]
    assert {str(fact[0]) for fact in found.time} == {"control"}


def test_parts_that_are_played_at_once() -> None:
    """Each move combines one for either part."""
    found = find_parts(circuit_of(BOTH_AT_ONCE))
    assert {frozenset(names) for names, _ in summary(found)} == {frozenset({"one"}), frozenset({"two"})}
    assert found.manner == ["all"]
    # With half of the combinations, the choice in one part tells that in the other.
    limited = BOTH_AT_ONCE.replace("(size ?m) (size ?n))", "(size ?m) (size ?n) (allowed ?m ?n))")
    limited += "(allowed 0 0) (allowed 1 1)"
    assert len(find_parts(circuit_of(limited)).parts) == 1


@pytest.mark.parametrize("game", ["tic_tac_toe", "connect_four", "breakthrough"])
def test_one_board_is_one_part(game: str) -> None:
    """Squares that lines or moves connect stay together."""
    assert len(find_parts(circuit_of(rulesheets.text(game))).parts) == 1


@pytest.mark.parametrize(
    ("game", "parts", "manner"),
    [
        ("dualConnect4", 2, ["choice", "choice"]),
        ("double_tictactoe_dengji", 2, ["choice", "choice"]),
        ("nim4", 4, ["choice", "choice"]),
        ("asteroidsParallel", 2, ["all"]),
        ("hanoi", 1, ["one"]),
        ("ticTacToe", 1, ["one", "one"]),
    ],
)
def test_parts_of_other_games(corpus: Path, game: str, parts: int, manner: list[str]) -> None:
    """Corpus rulesheets divide as their names say."""
    found = find_parts(circuit_of((corpus / f"{game}.kif").read_text()))
    assert (len(found.parts), found.manner) == (parts, manner)


def test_facts_that_nothing_asks_for_do_not_matter(corpus: Path) -> None:
    """Unused squares could be exchanged freely; such symmetries are left out."""
    found = find_symmetries(circuit_of((corpus / "checkersTiny.kif").read_text()))
    assert found.order == 2
