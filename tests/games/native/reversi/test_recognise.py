"""Recognition of the Reversi family: by behaviour alone, and only of the family."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from games import rulesheets
from games.gdl.running.machine import CircuitMachine
from games.machine import Term
from games.native.reversi.binding import ReversiBinding
from games.native.reversi.geometry import embed
from games.native.reversi.recognise import RECOGNITION, recognise
from games.native.reversi.rules import ReversiVariant
from protocol.kif import read_rulesheet, write
from tests import circuits
from tests.games.gdl import disguise
from tests.matches import goals, random_match

DIRECTIONS = [("same", "up"), ("up", "up"), ("up", "same"), ("up", "down"), ("same", "down"), ("down", "down"),
              ("down", "same"), ("down", "up")]  # fmt: skip


def sheet(
    columns: int = 8,
    rows: int = 8,
    *,
    blocked: tuple[tuple[int, int], ...] = (),
    first: str = "ann",
    goals: tuple[int, int, int] = (0, 50, 100),
    minority: bool = False,
    blanks: bool = False,
    plies: bool = False,
    skips: bool = False,
    directions: int = 8,
    long_lines: bool = True,
    free_pass: bool = False,
    heavy_corner: bool = False,
) -> str:
    """A rulesheet of the family (or, by the last four options, one that only looks like it)."""
    x, y = columns // 2, rows // 2
    lines = ["(role ann) (role bob) (rival ann bob) (rival bob ann)", f"(init (turn {first}))"]
    start = {(x, y): "ann", (x + 1, y + 1): "ann", (x, y + 1): "bob", (x + 1, y): "bob"}
    lines += [f"(init (disc {i} {j} {who}))" for (i, j), who in start.items()]
    lines += [f"(xx {i})" for i in range(1, columns + 1)] + [f"(yy {i})" for i in range(1, rows + 1)]
    lines += [f"(plus {i} {i + 1})" for i in range(max(columns, rows))]
    cells = [(i, j) for i in range(1, columns + 1) for j in range(1, rows + 1) if (i, j) not in blocked]
    lines += [f"(cell {i} {j})" for i, j in cells]
    lines += [f"(way w{number} {a} {b})" for number, (a, b) in enumerate(DIRECTIONS[:directions])]
    if blanks:
        lines += [f"(init (blank {i} {j}))" for i, j in cells if (i, j) not in start]
        lines += [
            "(<= (next (blank ?x ?y)) (true (blank ?x ?y)) (not (used ?x ?y)))",
            "(<= (used ?x ?y) (does ?r (put ?x ?y)))",
            "(<= (free ?x ?y) (true (blank ?x ?y)))",
        ]
    else:
        lines.append("(<= (free ?x ?y) (cell ?x ?y) (not (true (disc ?x ?y ann))) (not (true (disc ?x ?y bob))))")
    number = columns * rows + 2
    lines += [f"(succ {i} {i + 1})" for i in range(number)]
    lines += [
        "(<= (go same ?a ?a) (xx ?a))",
        "(<= (go same ?a ?a) (yy ?a))",
        "(<= (go up ?a ?b) (plus ?a ?b))",
        "(<= (go down ?b ?a) (plus ?a ?b))",
        "(<= (near ?w ?x ?y ?u ?v) (cell ?x ?y) (cell ?u ?v) (way ?w ?a ?b) (go ?a ?x ?u) (go ?b ?y ?v))",
        "(<= (held ?r ?w ?x ?y) (rival ?r ?o) (true (disc ?x ?y ?o)) (near ?w ?x ?y ?u ?v) (true (disc ?u ?v ?r)))",
        "(<= (may ?r ?x ?y) (free ?x ?y) (near ?w ?x ?y ?u ?v) (held ?r ?w ?u ?v))",
        "(<= (mobile ?r) (may ?r ?x ?y))",
        "(<= (legal ?r (put ?x ?y)) (true (turn ?r)) (may ?r ?x ?y))",
        "(<= (legal ?r pass) (true (turn ?o)) (rival ?r ?o))",
        f"(<= (legal ?r {'skip' if skips else 'pass'}) (true (turn ?r)) (not (mobile ?r)))",
        "(<= (lost ?r ?w ?x ?y) (does ?o (put ?u ?v)) (rival ?o ?r) (near ?w ?u ?v ?x ?y) (held ?o ?w ?x ?y))",
        "(<= (turned ?x ?y) (lost ?r ?w ?x ?y))",
        "(<= (next (disc ?x ?y ?r)) (does ?r (put ?x ?y)))",
        "(<= (next (disc ?x ?y ?r)) (true (disc ?x ?y ?r)) (not (turned ?x ?y)))",
        "(<= (next (disc ?x ?y ?r)) (true (disc ?x ?y ?o)) (rival ?r ?o) (turned ?x ?y))",
        "(<= (next (turn ?r)) (true (turn ?o)) (rival ?r ?o))",
        "(<= terminal (not (mobile ann)) (not (mobile bob)))",
    ]
    if plies:
        lines += ["(init (ply 0))", "(<= (next (ply ?n)) (true (ply ?m)) (succ ?m ?n))"]
        lines += [f"(succ {i} {i + 1})" for i in range(number, 2 * number)]
    if long_lines:
        lines += [
            "(<= (held ?r ?w ?x ?y) (rival ?r ?o) (true (disc ?x ?y ?o)) (near ?w ?x ?y ?u ?v) (held ?r ?w ?u ?v))",
            "(<= (lost ?r ?w ?x ?y) (lost ?r ?w ?u ?v) (near ?w ?u ?v ?x ?y) (rival ?o ?r) (held ?o ?w ?x ?y))",
        ]
    if free_pass:
        lines.append("(<= (legal ?r pass) (role ?r))")
    previous = "none"
    for i, j in cells:
        lines.append(f"(order {previous} c{i}_{j}) (at c{i}_{j} {i} {j})")
        previous = f"c{i}_{j}"
    twice = f"c{cells[0][0]}_{cells[0][1]}" if heavy_corner else "nowhere"
    lines += [
        "(number 0)",
        "(<= (number ?n) (number ?m) (succ ?m ?n))",
        # The lead of ann over bob, counted up from the middle of a long enough scale.
        f"(lead none {number})",
        "(more 0 1)",
        "(<= (lead ?c ?n) (lead ?b ?m) (order ?b ?c) (at ?c ?x ?y) (true (disc ?x ?y ann)) (step ?c ?m ?n))",
        "(<= (lead ?c ?n) (lead ?b ?m) (order ?b ?c) (at ?c ?x ?y) (true (disc ?x ?y bob)) (step ?c ?n ?m))",
        "(<= (lead ?c ?m) (lead ?b ?m) (order ?b ?c) (at ?c ?x ?y) (free ?x ?y))",
        f"(<= (step ?c ?m ?n) (order ?b ?c) (scale ?m ?n) (distinct ?c {twice}))",
        f"(<= (step {twice} ?m ?n) (scale ?m ?k) (scale ?k ?n))",
        *(f"(scale {i} {i + 1})" for i in range(2 * number)),
        *(f"(less {i})" for i in range(number)),
        *(f"(greater {i})" for i in range(number + 1, 2 * number + 1)),
        f"(<= (ahead ann) (lead {previous} ?n) (greater ?n))",
        f"(<= (ahead bob) (lead {previous} ?n) (less ?n))",
        f"(<= (goal ?r {goals[0 if minority else 2]}) (ahead ?r))",
        f"(<= (goal ?r {goals[2 if minority else 0]}) (ahead ?o) (rival ?r ?o))",
        f"(<= (goal ?r {goals[1]}) (role ?r) (lead {previous} {number}))",
    ]
    return "\n".join(lines)


def machine_of(rulesheet: tuple[Term, ...] | str) -> CircuitMachine:
    """The circuit of a rulesheet."""
    return circuits.machine_of(rulesheet if isinstance(rulesheet, str) else " ".join(map(write, rulesheet)))


def recognised(rulesheet: tuple[Term, ...] | str, positions: int = 3000) -> ReversiBinding | None:
    """The binding of a rulesheet, or None."""
    return recognise(machine_of(rulesheet), positions=positions)


def disguised(rulesheet: tuple[Term, ...], seed: int) -> tuple[Term, ...]:
    """The rulesheet with other names, and rules and literals in another order."""
    return tuple(disguise.disguised(rulesheet, (), "dresden" if seed % 2 else "ggp-base", seed)[0])


@pytest.mark.parametrize(
    ("name", "seed"), [("reversi", 0), ("reversi_holes", 1), ("reversi_tally", 1), ("reversi_keep_turn", 0)]
)
def test_own_sheets_in_any_clothing(name: str, seed: int) -> None:
    """The project's own sheets are recognised under other names and in another order."""
    binding = recognised(disguised(read_rulesheet(rulesheets.text(name)), seed))
    assert binding is not None
    assert binding.variant.cells == (60 if name == "reversi_holes" else 64)
    assert binding.variant.noop == (name != "reversi_keep_turn")


@pytest.mark.parametrize("name", ["reversi", "othello-comp2007", "othelloHoles"])
def test_corpus_sheets(corpus: Path, name: str) -> None:
    """The third-party sheets of the family are recognised under other names and in another order."""
    rulesheet = read_rulesheet((corpus / f"{name}.kif").read_text())
    assert recognised(disguised(rulesheet, 7)) is not None


@pytest.mark.parametrize("name", ["ticTacToe", "connectFour", "breakthrough", "checkers", "gomoku_15x15"])
def test_other_corpus_sheets_are_refused(corpus: Path, name: str) -> None:
    """Other board games are none of the family."""
    assert recognised((corpus / f"{name}.kif").read_text()) is None


@pytest.mark.parametrize(
    ("options", "variant"),
    [
        ({}, {}),
        ({"columns": 4, "rows": 4}, {"cells": 16}),
        ({"columns": 6, "rows": 6, "minority": True, "first": "bob"}, {"cells": 36, "minority": True, "first": 1}),
        ({"columns": 5, "rows": 7, "goals": (10, 45, 90)}, {"cells": 35}),
        ({"columns": 6, "rows": 8, "blocked": ((1, 1), (6, 8)), "blanks": True}, {"cells": 46}),
        ({"columns": 6, "rows": 6, "plies": True, "skips": True}, {"cells": 36}),
    ],
)
def test_variants(options: dict[str, object], variant: dict[str, object]) -> None:
    """Size, blocked cells, first player, goals, and who wins are found from the behaviour."""
    binding = recognised(sheet(**options))  # type: ignore[arg-type]
    assert binding is not None
    for name, value in variant.items():
        assert getattr(binding.variant, name) == value
    assert binding.goals == (options.get("goals", (0, 50, 100)),) * 2


@pytest.mark.parametrize(
    "flaw", [{"directions": 7}, {"long_lines": False}, {"free_pass": True}, {"heavy_corner": True}]
)
def test_near_misses_are_refused(flaw: dict[str, object]) -> None:
    """A direction less, no long lines, passing at will, or a corner that counts twice: all are other games."""
    assert recognised(sheet(6, 6, **flaw), 20_000) is None  # type: ignore[arg-type]


def test_binding_translates_both_ways() -> None:
    """Facts and moves of a played match are those of the native position."""
    machine = machine_of(sheet(6, 6, blanks=True))
    binding = recognise(machine, positions=3000)
    assert binding is not None
    position = binding.position(machine.facts(machine.initial()))
    assert position == binding.variant.initial()
    for before, joint, state in random_match(machine, random.Random(3)):
        for colour in (0, 1):
            assert set(machine.legal(before, colour)) == binding.legal(position, colour)
        position = binding.variant.play(position, binding.cell(position.turn, joint[position.turn]))
        assert binding.facts(position) == machine.facts(state)
    assert binding.variant.terminal(position)
    assert goals(machine, state) == [binding.goal(position, colour) for colour in (0, 1)]


def test_disagreement_is_counted() -> None:
    """A binding of another variant stops agreeing after some positions."""
    machine = machine_of(sheet(6, 6))
    binding = recognise(machine, positions=3000)
    assert binding is not None
    wrong = ReversiBinding(
        **{**vars(binding), "variant": ReversiVariant(**{**vars(binding.variant), "noop": not binding.variant.noop})}
    )
    assert RECOGNITION.count_agreeing(machine, binding, 5000) >= 5000
    assert RECOGNITION.count_agreeing(machine, wrong, 5000) < 5000


def test_geometry_from_triples() -> None:
    """Cells find their places from rows of three."""
    columns, rows = 5, 4
    cells = [(x, y) for y in range(rows) for x in range(columns)]
    order = list(range(len(cells)))
    random.Random(1).shuffle(order)
    triples = set()
    for x, y in cells:
        for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
            line = [(x, y), (x + dx, y + dy), (x + 2 * dx, y + 2 * dy)]
            if all(point in cells for point in line):
                a, b, c = (order[cells.index(point)] for point in line)
                triples.add((a, b, c))
    places = embed(len(cells), triples)
    assert places is not None
    for a, b, c in triples:
        assert places[a] + places[c] == 2 * places[b]
