"""Lines of a single player that come from outside the tree."""

from __future__ import annotations

from collections.abc import Callable

from agent.search.engine import Opinion
from agent.search.tree.engine import TreeSearch
from games.gdl.running.machine import CircuitMachine
from tests.circuits import Compile

Think = Callable[..., Opinion]

LONG_WAY = (
    """
(role r) (init (at 0)) (init (right 0))
(letter a) (letter b) (letter c) (letter d)
(<= (legal r (say ?x)) (letter ?x))
"""
    + "\n".join(f"(succ {n} {n + 1}) (key {n} {'abcd'[n * 7 % 4]})" for n in range(30))
    + """
(<= (next (at ?y)) (true (at ?x)) (succ ?x ?y))
(<= (next wrong) (true wrong))
(<= (next wrong) (true (at ?x)) (does r (say ?k)) (not (key ?x ?k)))
(<= terminal (true (at 30)))
(<= (goal r 100) (true (at 30)) (not (true wrong)))
(<= (goal r 10) (true wrong))
(<= (goal r 0) (not (true (at 30))) (not (true wrong)))
"""
)
"""One of 4^30 lines is right."""


def _line(machine: CircuitMachine) -> list[int]:
    return [machine.move_index(0, ("say", "abcd"[n * 7 % 4])) for n in range(30)]


def test_a_line_with_the_best_goal_ends_the_search(machine_of: Compile, think: Think) -> None:
    """The line is played to its end, and dropped where the match leaves it."""
    machine = machine_of(LONG_WAY)
    engine = TreeSearch(machine, 0, threads=1, memory_bytes=1 << 22, seed=1)
    state = machine.initial()
    engine.begin(state)
    line = _line(machine)
    engine.lines.add(line, 1.0)
    for move in line[:5]:
        opinion = think(engine)
        assert opinion.final
        assert opinion.score.goal == 100
        assert opinion.move == machine.game.moves[0][move]
        state = machine.next(state, [opinion.move])
        engine.advance((opinion.move,), state)
    wrong = machine.game.moves[0][(line[5] + 1) % 4]
    engine.advance((wrong,), machine.next(state, [wrong]))
    assert not engine.lines.solved


def test_a_limit_that_is_reached_ends_the_search(machine_of: Compile, think: Think) -> None:
    """Nothing better than 10 is possible after a wrong letter."""
    machine = machine_of(LONG_WAY)
    engine = TreeSearch(machine, 0, threads=1, memory_bytes=1 << 22, seed=1)
    wrong = machine.game.moves[0][(_line(machine)[0] + 1) % 4]
    engine.begin(machine.next(machine.initial(), [wrong]))
    engine.lines.limit(0.1)
    opinion = think(engine)
    assert opinion.final
    assert opinion.score.goal == 10
    engine.begin(machine.initial())
    assert not engine.lines.solved
