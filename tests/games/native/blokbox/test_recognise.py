"""Recognition of the Blokbox family: sheets of many kinds are bound to the native board, near misses are refused."""

from __future__ import annotations

import numpy as np
import pytest

from games import rulesheets
from games.gdl.running.machine import CircuitMachine
from games.native.blokbox.binding import BindingError
from games.native.blokbox.recognise import propose, recognise
from games.native.blokbox.rules import new_placement_workspace, perft
from protocol.kif import read_rulesheet, write
from tests.circuits import machine_of
from tests.games.gdl.disguise import disguised

Cell = tuple[int, int]
Pieces = dict[str, list[list[Cell]]]

SMALL_PIECES: Pieces = {
    "dot": [[(0, 0)]],
    "bar": [[(0, 0), (1, 0)], [(0, 0), (0, 1)]],
    "hook": [[(0, 0), (1, 0), (0, 1)]],
    "crook": [[(0, 1), (1, 0), (1, 1)], [(0, 0), (0, 1), (1, 1)]],
    "row": [[(0, 0), (1, 0), (2, 0)]],
    "tee": [[(0, 0), (1, 0), (2, 0), (1, 1)], [(0, 1), (1, 1), (2, 1), (1, 0)]],
}

RULES = """
(role left) (role right)
(other left right) (other right left)
(init (turn left))
(<= (init (has ?p ?n)) (role ?p) (piece ?n))
(<= (next (turn ?q)) (true (turn ?p)) (other ?p ?q))
(<= (next (on ?p ?x ?y)) (true (on ?p ?x ?y)))
(<= (next (on ?p ?x ?y)) (does ?p (put ?n ?o ?ax ?ay)) (lies ?n ?o ?ax ?ay ?x ?y))
(<= (lies ?n ?o ?ax ?ay ?x ?y) (form ?n ?o ?dx ?dy) (plus ?ax ?dx ?x) (plus ?ay ?dy ?y))
(<= (taken ?x ?y) (true (on ?p ?x ?y)))
(<= (obstructed ?p ?n ?o ?ax ?ay) (role ?p) (lies ?n ?o ?ax ?ay ?x ?y) (taken ?x ?y))
(<= (touching ?p ?n ?o ?ax ?ay) (lies ?n ?o ?ax ?ay ?x ?y) (near ?x ?u) (near ?y ?v) (true (on ?p ?u ?v)))
(<= (open ?p (put ?n ?o ?x ?y)) (true (has ?p ?n)) (anchor ?n ?o ?x ?y) (not (obstructed ?p ?n ?o ?x ?y))
    (touching ?p ?n ?o ?x ?y))
(<= (legal ?p ?m) (true (turn ?p)) (open ?p ?m))
(<= (legal ?p wait) (true (turn ?q)) (other ?p ?q))
(<= (moving) (true (turn ?p)) (open ?p ?m))
(<= terminal (not (moving)))
"""

NO_SIDES = """
(<= (obstructed ?p ?n ?o ?ax ?ay) (lies ?n ?o ?ax ?ay ?x ?y) (near ?x ?u) (true (on ?p ?u ?y)))
(<= (obstructed ?p ?n ?o ?ax ?ay) (lies ?n ?o ?ax ?ay ?x ?y) (near ?y ?v) (true (on ?p ?x ?v)))
"""
PIECES_ARE_USED = """
(<= (next (has ?p ?n)) (true (has ?p ?n)) (not (spent ?p ?n)))
(<= (spent ?p ?n) (does ?p (put ?n ?o ?x ?y)))
"""
PIECES_STAY = "(<= (next (has ?p ?n)) (true (has ?p ?n)))"
LAST_MOVER_WINS = "(<= (goal ?p 0) (true (turn ?p))) (<= (goal ?p 100) (true (turn ?q)) (other ?p ?q))"
LAST_MOVER_LOSES = "(<= (goal ?p 100) (true (turn ?p))) (<= (goal ?p 0) (true (turn ?q)) (other ?p ?q))"
MOST_CELLS_WIN = """
(<= (init (score ?p 0)) (role ?p))
(<= (next (score ?p ?s)) (true (score ?p ?s)) (true (turn ?q)) (other ?p ?q))
(<= (next (score ?p ?t)) (true (score ?p ?s)) (does ?p (put ?n ?o ?x ?y)) (size ?n ?k) (sum ?s ?k ?t))
(<= (ahead ?p) (true (score ?p ?s)) (true (score ?q ?t)) (other ?p ?q) (above ?s ?t))
(<= (goal ?p 100) (ahead ?p))
(<= (goal ?p 0) (ahead ?q) (other ?p ?q))
(<= (goal ?p 50) (true (score ?p ?s)) (true (score ?q ?s)) (other ?p ?q))
"""
NO_CLEAR = ""
CLEAR_CELLS = """
(<= (init (clear ?x ?y)) (square ?x ?y) (not (init_taken ?x ?y)))
(<= (next (clear ?x ?y)) (true (clear ?x ?y)) (not (hit ?x ?y)))
(<= (hit ?x ?y) (does ?p (put ?n ?o ?ax ?ay)) (lies ?n ?o ?ax ?ay ?x ?y))
(<= (obstructed ?p ?n ?o ?ax ?ay) (role ?p) (lies ?n ?o ?ax ?ay ?x ?y) (not (true (clear ?x ?y))))
"""


def sheet(
    width: int,
    height: int,
    pieces: Pieces,
    starts: tuple[list[Cell], list[Cell]],
    *,
    sides: str = NO_SIDES,
    use: str = PIECES_ARE_USED,
    goals: str = LAST_MOVER_WINS,
    clear: str = NO_CLEAR,
) -> str:
    """A rulesheet; coordinates have names that say nothing, and y counts downwards."""
    xs = [f"a{n * 7 % 31}" for n in range(width)]
    ys = [f"b{n * 5 % 29}" for n in range(height)]
    lines = [RULES, sides, use, goals, clear]
    for names in (xs, ys):
        for i, name in enumerate(names):
            lines += [f"(plus {name} {d} {names[i + d]})" for d in range(len(names) - i)]
            lines += [f"(near {name} {names[j]})" for j in (i - 1, i + 1) if 0 <= j < len(names)]
    for name, forms in pieces.items():
        lines += [f"(piece {name})", f"(size {name} {len(forms[0])})"]
        for number, cells in enumerate(forms):
            lines += [f"(form {name} o{number} {dx} {dy})" for dx, dy in cells]
            lines += [
                f"(anchor {name} o{number} {xs[x]} {ys[y]})"
                for x in range(width - max(dx for dx, _ in cells))
                for y in range(height - max(dy for _, dy in cells))
            ]
    for player, cells in zip(("left", "right"), starts, strict=True):
        lines += [f"(init (on {player} {xs[x]} {ys[y]})) (init_taken {xs[x]} {ys[y]})" for x, y in cells]
    lines += [f"(square {x} {y})" for x in xs for y in ys]
    total = 1 + sum(len(forms[0]) for forms in pieces.values())
    lines += [f"(above {a} {b})" for a in range(total) for b in range(a)]
    lines += [f"(sum {a} {b} {a + b})" for a in range(total) for b in range(1, 6) if a + b < total]
    return "\n".join(lines)


STARTS: tuple[list[Cell], list[Cell]] = ([(2, 3)], [(3, 2)])


def leaves(machine: CircuitMachine, depth: int) -> int:
    """Perft by the compiled rules."""
    states = [machine.initial()]
    for _ in range(depth - 1):
        states = [machine.next(state, joint) for state in states for joint in _joint_moves(machine, state)]
    return sum(len(_joint_moves(machine, state)) for state in states)


def _joint_moves(machine: CircuitMachine, state: object) -> list[tuple]:
    if machine.terminal(state):  # type: ignore[arg-type]
        return []
    first, second = (machine.legal(state, role) for role in (0, 1))  # type: ignore[arg-type]
    return [(a, b) for a in first for b in second]


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        (sheet(6, 6, SMALL_PIECES, STARTS), 2),
        (sheet(7, 5, SMALL_PIECES, ([(0, 0)], [(6, 4), (3, 2)]), clear=CLEAR_CELLS), 2),
        (sheet(5, 8, {name: forms for name, forms in SMALL_PIECES.items() if name != "dot"}, ([(1, 1)], [(4, 7)])), 3),
    ],
    ids=["small", "says which cells are clear", "no single cell"],
)
def test_members_are_bound(text: str, depth: int) -> None:
    """Variants are recognised whatever their board, pieces and starting cells; perft agrees with the compiled rules."""
    machine = machine_of(text)
    binding = recognise(machine, positions=2000)
    assert binding is not None
    variant = binding.variant
    moves = np.zeros((depth, 4096), np.int64)
    counted = perft(variant.tables, variant.start, depth, new_placement_workspace(variant, depth), moves)
    assert counted == leaves(machine, depth)


@pytest.mark.parametrize(
    "text",
    [
        sheet(6, 6, SMALL_PIECES, STARTS, sides=""),
        sheet(6, 6, SMALL_PIECES, STARTS, use=PIECES_STAY),
        sheet(6, 6, SMALL_PIECES, STARTS, goals=MOST_CELLS_WIN),
        sheet(6, 6, SMALL_PIECES, STARTS, goals=LAST_MOVER_LOSES),
    ],
    ids=["side contact", "pieces stay", "most cells win", "last mover loses"],
)
def test_near_misses_are_refused(text: str) -> None:
    """Games that differ from the family in one rule are not bound to it."""
    assert recognise(machine_of(text), positions=2000) is None


def test_positions_are_read_from_facts() -> None:
    """The facts of every state of a match give the native position; facts that are no state are refused."""
    machine = machine_of(sheet(6, 6, SMALL_PIECES, STARTS))
    binding = propose(machine)
    state = machine.initial()
    assert (binding.position(machine.facts(state)) == binding.variant.start).all()
    while not machine.terminal(state):
        facts = machine.facts(state)
        position = binding.position(facts)
        with pytest.raises(BindingError):
            binding.position(facts | {("unheard", "of")})
        with pytest.raises(BindingError):
            binding.position(facts - {next(iter(facts & binding.owned[0].keys()))})
        state = machine.next(state, [machine.legal(state, role)[-1] for role in (0, 1)])
        assert not (binding.position(machine.facts(state)) == position).all()


@pytest.mark.parametrize("style", [pytest.param("ggp-base", marks=pytest.mark.e2e), "dresden"])
def test_scrambled_own_sheet_is_bound(style: str) -> None:
    """Our own rulesheet is recognised with all its names replaced, in another order."""
    rules, _ = disguised(read_rulesheet(rulesheets.text("blokbox")), (), style, 3)  # type: ignore[arg-type]
    binding = recognise(machine_of("\n".join(map(write, rules))), positions=3000)
    assert binding is not None
    variant = binding.variant
    assert (variant.width, variant.height, len(variant.shapes)) == (14, 14, 21)
    moves = np.zeros((3, 4096), np.int64)
    assert perft(variant.tables, variant.start, 3, new_placement_workspace(variant, 3), moves) == 732_882
