"""The interpreter's memory from state to state: indices of facts, tables, and relations computed as a whole."""

from __future__ import annotations

import random

import pytest

from games.gdl.interpreter.extents import MIN_CALLS
from games.gdl.interpreter.facts import ITSELF, make_update
from games.machine import Interrupted, Term
from tests.matches import interpreter_of

HEAD = "(role a) (init s) (<= (next s) (true s)) (<= terminal (true never)) (<= (legal a noop) (true s)) "

WATCHED = HEAD + (
    "(<= (legal a (first ?x)) (true (on ?x ?y)))"
    "(<= (legal a (row ?y)) (true (on 1 ?y)))"
    "(<= (legal a (same ?x)) (true (on ?x ?x)))"
    "(<= (legal a (lone ?x)) (true (on ?x ?y)) (not (other ?x ?y)))"
    "(<= (other ?x ?y) (true (on ?x ?y)) (true (on ?x ?z)) (distinct ?y ?z))"
    "(<= (legal a (fact ?f)) (true ?f))"
    "(<= (legal a (step ?n)) (true (step ?n)))"
    "(<= (legal a (path ?x ?y)) (path ?x ?y))"
    "(<= (path ?x ?y) (true (on ?x ?y))) (<= (path ?x ?z) (path ?x ?y) (true (on ?y ?z)))"
    "(<= (next (on ?x ?y)) (true (on ?x ?y)) (does a (keep ?x)))"
    "(<= (next (on ?x 1)) (true (on ?x 1)))"
)

GRID_SIDE = 7

RAYS = HEAD + (
    " ".join(f"(succ {i} {i + 1})" for i in range(GRID_SIDE - 1))
    + " ".join(f"(cell {x} {y})" for x in range(GRID_SIDE) for y in range(GRID_SIDE))
    + "(<= (ray ?p ?x ?z) (true (piece ?p ?x ?y)) (succ ?y ?z))"
    "(<= (ray ?p ?x ?z) (ray ?p ?x ?y) (not (taken ?x ?y)) (succ ?y ?z))"
    "(<= (taken ?x ?y) (true (piece ?p ?x ?y)))"
    "(<= (hit ?x ?y) (ray ?p ?x ?y))"
    "(<= (legal a (quiet ?x ?y)) (cell ?x ?y) (not (hit ?x ?y)))"
    "(<= (legal a (seen ?p ?x ?y)) (true (piece ?p ?v ?w)) (cell ?x ?y) (ray ?p ?x ?y))"
)


def pieces(rng: random.Random, count: int) -> set[Term]:
    """Random facts of the rays' game."""
    squares = rng.sample([(x, y) for x in range(GRID_SIDE) for y in range(GRID_SIDE)], count)
    return {"s"} | {("piece", f"p{i}", str(x), str(y)) for i, (x, y) in enumerate(squares)}


def ray_moves(facts: set[Term]) -> set[Term]:
    """The legal moves of the rays' game, straight from the pieces."""
    places = {(int(fact[2]), int(fact[3])): fact[1] for fact in facts if isinstance(fact, tuple)}
    seen = set()
    for (x, y), piece in places.items():
        for z in range(y + 1, GRID_SIDE):
            seen.add((piece, x, z))
            if (x, z) in places:
                break
    hit = {(x, y) for _, x, y in seen}
    quiet = {("quiet", str(x), str(y)) for x in range(GRID_SIDE) for y in range(GRID_SIDE) if (x, y) not in hit}
    return {"noop"} | quiet | {("seen", piece, str(x), str(y)) for piece, x, y in seen}


@pytest.mark.parametrize("seed", range(5))
def test_a_machine_that_followed_many_states_says_the_same_as_a_new_one(seed: int) -> None:
    """Whether few facts change from state to state, or many, or none of those that something depends on."""
    rng = random.Random(seed)
    machine = interpreter_of(WATCHED)
    pool: list[Term] = [("on", str(x), str(y)) for x in range(5) for y in range(5)]
    pool += [("step", str(n)) for n in range(3)] + ["s", "flag"]
    facts = set(rng.sample(pool, 10))
    for _ in range(15):
        facts ^= set(rng.sample(pool, rng.choice((0, 1, 1, 2, 3, 20))))
        state, fresh = machine.state(facts), interpreter_of(WATCHED)
        queries = ["legal", "next", "none"]
        rng.shuffle(queries)
        for query in queries:
            if query == "legal":
                assert machine.legal(state, 0) == fresh.legal(state, 0)
            elif query == "next":
                move: Term = ("fact", ("on", "1", "2")) if rng.random() < 0.5 else "noop"
                assert machine.next(state, [move]) == fresh.next(state, [move])


@pytest.mark.parametrize("pattern", ["bf", "fb", "ff", "bb", "be", "eb", "fe", "ee", "bf" + ITSELF, "ff" + ITSELF])
def test_updated_indices_are_those_of_the_facts_that_are_left(pattern: str) -> None:
    """Adding and removing facts in any order gives the index of the remaining facts."""
    rng = random.Random(pattern)
    update = make_update(pattern, False, facts=True)
    pool: list[Term] = [("on", str(x), str(y)) for x in range(4) for y in range(4)]
    index: dict[Term, dict[Term, int]] = {}
    facts: set[Term] = set()
    for _ in range(50):
        changed = set(rng.sample(pool, rng.randrange(6)))
        update(index, changed - facts, changed & facts)
        facts ^= changed
        expected: dict[Term, dict[Term, int]] = {}
        update(expected, facts, ())
        assert index == expected


def test_relations_called_often_are_computed_as_a_whole() -> None:
    """Rays queried square by square are right before, during and after the trial."""
    rng = random.Random(1)
    machine = interpreter_of(RAYS)
    for _ in range(12):
        facts = pieces(rng, 6)
        assert set(machine.legal(machine.state(facts), 0)) == ray_moves(facts)
    assert ("ray", 3) in machine._linked.extents


def test_a_relation_that_outgrows_its_bound_is_evaluated_call_by_call_again() -> None:
    """A relation that was small in the states of the trial may be large in later ones."""
    machine = interpreter_of(
        HEAD
        + " ".join(f"(n {i})" for i in range(60))
        + "(<= (far ?x ?y) (true (edge ?x ?y))) (<= (far ?x ?z) (true (edge ?x ?y)) (far ?y ?z))"
        "(<= (legal a (not_to ?y)) (true (start ?x)) (n ?y) (not (far ?x ?y)))"
    )
    small: set[Term] = {"s", ("start", "0"), ("edge", "0", "1")}
    large: set[Term] = {"s", ("start", "0"), *[("edge", str(i), str(i + 1)) for i in range(59)]}
    whole = []
    for facts, count in [(small, 1), (small | {("edge", "1", "2")}, 2), (large, 59), (small, 1), (large, 59)]:
        assert len(machine.legal(machine.state(facts), 0)) == 61 - count
        whole.append(("far", 2) in machine._linked.extents)
    assert whole == [False, True, True, False, False]


def test_an_interrupted_trial_leaves_the_machine_as_it_was() -> None:
    """A query that is stopped while a relation is tried raises, and later queries are right."""
    rng = random.Random(2)
    machine = interpreter_of(RAYS)
    for number in range(8):
        facts = pieces(rng, MIN_CALLS // 4)
        state = machine.state(facts)
        try:
            with machine.interruptible(lambda number=number: number % 2 == 0):
                machine._linked.evaluation.steps = 0
                machine.legal(state, 0)
        except Interrupted:
            pass
        assert set(machine.legal(state, 0)) == ray_moves(facts)
