"""Short cuts of generated code: short definitions, shared loops, facts tested with one lookup."""

from __future__ import annotations

import random

import pytest

from games.gdl.interpreter.merging import merged
from games.machine import LimitError, Term
from tests.matches import interpreter_of

HEAD = "(role a) (init s) (<= (next s) (true s)) (<= terminal (true never)) "

SIZE = 6

BOARD = (
    HEAD
    + " ".join(f"(index {i})" for i in range(SIZE))
    + " ".join(f"(succ {i} {i + 1})" for i in range(SIZE - 1))
    + "(<= (occupied ?x) (true (cell ?x ?v)) (distinct ?v b)) (<= (covered ?y) (occupied ?y)) (<= any (occupied ?x))"
    "(<= (twice ?x) (true (cell ?x ?v)) (true (cell ?x ?w)) (distinct ?v ?w))"
    "(<= (listed ?x) (true (cell ?x ?v)))"
    "(<= (vacant ?x) (index ?x) (not (true (cell ?x p))))"
    "(<= (legal a (enter ?x)) (vacant ?x) (not (true (cell ?x q))))"
    "(<= (legal a (held ?x)) (index ?x) (not (vacant ?x)))"
    "(<= (legal a (free ?x)) (index ?x) (not (occupied ?x)))"
    "(<= (legal a (unlisted ?x)) (index ?x) (not (listed ?x)))"
    "(<= (legal a (edge ?x)) (succ ?x ?y) (covered ?y) (not (covered ?x)))"
    "(<= (legal a (both ?x ?v)) (covered ?x) (true (cell ?x ?v)) (twice ?x))"
    "(<= (legal a (single ?x)) (occupied ?x) (not (twice ?x)))"
    "(<= (legal a clear) (not any))"
    "(<= (legal a busy) any)"
    "(<= (legal a (without ?x)) (index ?x) (not (true (cell ?x p))) (not (true (cell ?x q))) (not (true (cell ?x b))))"
    "(<= (legal a (row ?y)) (index ?y) (not (true (at 0 ?y))) (not (true (at 1 ?y))) (not (true (at 2 ?y))))"
)


def expected(cells: set[tuple[int, str]], at: set[tuple[int, int]]) -> set[Term]:
    """The legal moves on the board."""
    values = {x: {v for y, v in cells if y == x} for x in range(SIZE)}
    occupied = {x for x in values if values[x] - {"b"}}
    twice = {x for x in values if len(values[x]) > 1}
    moves: set[Term] = {("free", str(x)) for x in range(SIZE) if x not in occupied}
    moves |= {("enter", str(x)) for x in range(SIZE) if not values[x] & {"p", "q"}}
    moves |= {("held", str(x)) for x in range(SIZE) if "p" in values[x]}
    moves |= {("unlisted", str(x)) for x in range(SIZE) if not values[x]}
    moves |= {("edge", str(x)) for x in range(SIZE - 1) if x + 1 in occupied and x not in occupied}
    moves |= {("both", str(x), v) for x in occupied & twice for v in values[x]}
    moves |= {("single", str(x)) for x in occupied - twice}
    moves |= {("without", str(x)) for x in range(SIZE) if not values[x] & {"p", "q", "b"}}
    moves |= {("row", str(y)) for y in range(SIZE) if not {(0, y), (1, y), (2, y)} & at}
    return moves | {"busy" if occupied else "clear"}


@pytest.mark.parametrize("seed", range(5))
def test_short_definitions_mean_the_same_wherever_they_are_asked_for(seed: int) -> None:
    """Positive, negated, through another definition, with variables of their own, and several facts at a time."""
    rng = random.Random(seed)
    machine = interpreter_of(BOARD)
    for _ in range(30):
        cells = {(rng.randrange(SIZE), rng.choice("bpqr")) for _ in range(rng.randrange(9))}
        at = {(rng.randrange(4), rng.randrange(SIZE)) for _ in range(rng.randrange(6))}
        facts: set[Term] = {"s", *[("cell", str(x), v) for x, v in cells], *[("at", str(x), str(y)) for x, y in at]}
        assert set(machine.legal(machine.state(facts), 0)) == expected(cells, at)


def test_blocks_that_begin_alike_share_loops_and_conditions() -> None:
    """Common headers are merged, except where code follows a loop or a block leaves one for its next binding."""
    first = ["for v1 in I0:", "    if v1 in I1:", "        out[v1] = None"]
    second = ["for v1 in I0:", "    if v1 in I2:", "        out[v1] = None"]
    assert merged([first, ["x = 1"], second]) == [*first, *second[1:], "x = 1"]
    assert merged([first, first]) == [*first, first[-1]]
    leaving = ["for v1 in I0:", "    if v1 in I1: continue", "    out[v1] = None"]
    assert merged([leaving, second]) == [*leaving, *second]
    followed = ["for v1 in I0:", "    if v1 in I1: break", "else:", "    out[0] = None"]
    assert merged([second, followed]) == [*second, *followed]
    called = ["k = a0", "r = T0.get(k)", "for v1 in r:", "    out[v1] = None"]
    tested = ["k = a0", "r = T0.get(k)", "if r:", "    out[0] = None"]
    assert merged([called, tested]) == [*called, *tested]


def test_recursion_that_builds_terms_may_meet_itself() -> None:
    """Beside lists that are built, a graph with cycles: direct evaluation meets a cycle and changes to tables."""
    machine = interpreter_of(
        HEAD + "(item 1) (item 2) (<= (append nil ?x (cons ?x nil)) (item ?x))"
        "(<= (append (cons ?h ?t) ?x (cons ?h ?u)) (append ?t ?x ?u) (item ?h))"
        "(<= (reach ?x ?y) (true (edge ?x ?y))) (<= (reach ?x ?z) (true (edge ?x ?y)) (reach ?y ?z))"
        "(<= (legal a (to ?y)) (reach 0 ?y)) (<= (legal a (got ?l)) (true (list ?k)) (append ?k 2 ?l))"
    )
    lists: list[Term] = [("list", ("cons", "1", "nil"))]
    for edges in ([(0, 1), (1, 2)], [(0, 1), (1, 0)], [(0, 1), (1, 2), (2, 1)]):
        state = machine.state([*lists, *[("edge", str(x), str(y)) for x, y in edges]])
        reached = {y for _, y in edges}
        assert set(machine.legal(state, 0)) == {("got", ("cons", "1", ("cons", "2", "nil")))} | {
            ("to", str(y)) for y in reached
        }


def test_mutual_recursion_that_builds_terms_without_end_is_a_limit() -> None:
    """Two relations that pass each other ever deeper terms raise `LimitError`, again and again."""
    machine = interpreter_of(
        HEAD + "(<= (ping ?x) (true deep) (pong (f ?x))) (<= (pong ?x) (ping (g ?x)))"
        "(<= (legal a go) (ping zero)) (<= (legal a wait) (true s))"
    )
    for _ in range(3):
        with pytest.raises(LimitError):
            machine.legal(machine.state(["s", "deep"]), 0)
        assert machine.legal(machine.state(["s"]), 0) == ["wait"]
