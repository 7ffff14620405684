"""Monte-Carlo search on any machine."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest

from agent.search.engine import UNLIMITED, Limit, Opinion, StopFlag, consider
from agent.search.montecarlo import MonteCarlo
from agent.search.registry import engines_for
from games import rulesheets
from games.gdl.interpreter.machine import Interpreter
from games.machine import State, Term
from tests.circuits import machine_of
from tests.matches import interpreter_of, rules_of

TWO_STEPS = """
(role solo)
(init start)
(<= (legal solo left) (true start))
(<= (legal solo right) (true start))
(<= (legal solo on) (not (true start)))
(<= (next (went ?d)) (true start) (does solo ?d))
(<= (next (went ?d)) (true (went ?d)))
(<= (next done) (not (true start)))
(<= terminal (true done))
(<= (goal solo 100) (true (went right)))
(<= (goal solo 20) (true (went left)))
"""
"""One choice between a good and a bad end; then a forced move."""

MATCHING = """
(role even) (role odd)
(init first)
(side heads) (side tails)
(<= (legal ?r ?s) (role ?r) (side ?s))
(<= (next (shown ?r ?s)) (does ?r ?s))
(<= terminal (not (true first)))
(<= same (true (shown even ?s)) (true (shown odd ?s)))
(<= (goal even 100) same)
(<= (goal even 0) (not same))
(<= (goal odd 100) (not same))
(<= (goal odd 0) same)
"""
"""Both choose at once."""


def think(engine: MonteCarlo, playouts: int) -> list[Opinion]:
    """All opinions of an engine that makes some playouts, always the same, or stops by itself."""
    random.seed(1)
    opinions: list[Opinion] = []
    engine.think(np.zeros(1, np.uint8), opinions.append, Limit(nodes=playouts))
    return opinions


def test_better_end_is_found() -> None:
    """The move to the better goal is preferred, with its value."""
    game = interpreter_of(TWO_STEPS)
    engine = MonteCarlo(game, 0)
    engine.begin(game.initial())
    best = think(engine, 300)[-1]
    assert best.move == "right"
    assert best.score.goal == pytest.approx(100)


def test_forced_move_is_proven() -> None:
    """With one legal move there is nothing to think about."""
    game = interpreter_of(TWO_STEPS)
    engine = MonteCarlo(game, 0)
    engine.begin(game.initial())
    engine.advance(("left",), game.next(game.initial(), ("left",)))
    assert think(engine, 300) == [Opinion("on", final=True)]


def test_tree_is_kept_when_the_match_goes_on() -> None:
    """What was searched below the move that is made still counts."""
    game = interpreter_of(TWO_STEPS)
    engine = MonteCarlo(game, 0)
    engine.begin(game.initial())
    think(engine, 300)
    root = engine._root
    assert root is not None
    visits = root.visits_of[0][root.moves[0].index("right")]
    assert visits > 150
    engine.advance(("right",), game.next(game.initial(), ("right",)))
    # The first of these visits made the node.
    assert engine._root.visits == visits - 1


def test_simultaneous_moves_are_played() -> None:
    """Where both choose at once, neither side is sure of anything."""
    game = interpreter_of(MATCHING)
    for role in range(2):
        engine = MonteCarlo(game, role)
        engine.begin(game.initial())
        best = think(engine, 300)[-1]
        assert best.move in ("heads", "tails")
        assert best.score is not None
        assert 20 < best.score.goal < 80


def test_search_ends_after_its_playouts() -> None:
    """There is an opinion at once, and one after each playout."""
    game = interpreter_of(MATCHING)
    engine = MonteCarlo(game, 0)
    engine.begin(game.initial())
    opinions = think(engine, 100)
    assert [opinion.info.get("playouts") for opinion in opinions] == [None, *range(1, 101)]


class Asked(Interpreter):
    """Has the stop flag raised when it is asked for a successor for the n-th time; counts what it is asked then."""

    def __init__(self, rules: str, stop: StopFlag, successors: int) -> None:
        super().__init__(rules_of(rules))
        self._stop = stop
        self._left = successors
        self.asked_after = 0

    def legal(self, state: State, role: int) -> list[Term]:
        self.asked_after += int(self._stop[0])
        return super().legal(state, role)

    def terminal(self, state: State) -> bool:
        self.asked_after += int(self._stop[0])
        return super().terminal(state)

    def next(self, state: State, moves: Sequence[Term]) -> State:
        self.asked_after += int(self._stop[0])
        self._left -= 1
        if not self._left:
            self._stop[0] = 1
        return super().next(state, moves)


@pytest.mark.parametrize("successors", [1, 10, 11, 12, 13])
def test_search_stops_in_the_middle_of_a_playout(successors: int) -> None:
    """Wherever it is, the machine is asked nothing more once the flag is raised."""
    stop = np.zeros(1, np.uint8)
    game = Asked(rulesheets.text("tic_tac_toe"), stop, successors)
    engine = MonteCarlo(game, 0)
    engine.begin(game.initial())
    engine.think(stop, lambda opinion: None, UNLIMITED)
    assert game.asked_after == 0


class Polled(Interpreter):
    """Has the stop flag raised when its condition to be interrupted is looked at for the n-th time."""

    def __init__(self, rules: str, stop: StopFlag, polls: int) -> None:
        super().__init__(rules_of(rules))
        self._stop = stop
        self._left = polls
        self.polled_after = 0

    @contextmanager
    def interruptible(self, condition: Callable[[], bool]) -> Iterator[None]:
        def watched() -> bool:
            self.polled_after += int(self._stop[0])
            self._left -= 1
            if not self._left:
                self._stop[0] = 1
            return condition()

        with super().interruptible(watched):
            yield


def test_search_stops_in_the_middle_of_a_step() -> None:
    """A machine that would take minutes for one step is interrupted at its next look, and plays on afterwards."""
    digits = " ".join(f"(digit {i})" for i in range(10))
    names = [f"?{i}" for i in range(9)]
    body = " ".join(f"(digit {name})" for name in names)
    rules = (
        f"(role solo) (init start) {digits} (<= (legal solo left) (true start)) (<= (legal solo right) (true start))"
        f"(<= (legal solo (all {' '.join(names)})) (not (true start)) {body}) (<= (next later) (true start))"
        "(<= terminal (true never)) (goal solo 50)"
    )
    stop = np.zeros(1, np.uint8)
    game = Polled(rules, stop, 5)
    engine = MonteCarlo(game, 0)
    engine.begin(game.initial())
    opinions: list[Opinion] = []
    engine.think(stop, opinions.append, UNLIMITED)
    assert opinions[-1].move in ("left", "right")
    assert game.polled_after == 0
    assert game.legal(game.initial(), 0) == ["left", "right"]


STUCK = """
(role a) (role b) (init (at 1)) (succ 1 2) (succ 2 3) (succ 3 4)
(<= (legal a good) (not (true (at 4)))) (<= (legal a bad) (not (true (at 4))))
(<= (legal b x) (not (true (at 2)))) (<= (legal b y) (not (true (at 2))))
(<= (next (at ?y)) (true (at ?x)) (succ ?x ?y))
(<= (next won) (true (at 2)) (does a good)) (<= (next won) (true won))
(<= terminal (true (at 4)))
(<= (goal a 100) (true won)) (<= (goal a 0) (not (true won)))
(<= (goal b 0) (true won)) (<= (goal b 100) (not (true won)))
"""
"""All depends on role a's move at 2, where b has none."""


def test_a_match_goes_on_where_a_role_has_no_move() -> None:
    """Such a game is played by Monte-Carlo search, which sees behind that state and in it."""
    machine = machine_of(STUCK)
    engine = next(engines_for(machine, 0))
    assert engine.name == "monte-carlo"
    start = machine.initial()
    for state in (start, machine.next(start, ["bad", "x"])):
        engine.begin(state)
        opinion = consider(engine, machine.legal(state, 0), Limit(nodes=500))
        assert opinion.score is not None
        assert opinion.score.goal > 90
    assert opinion.move == "good"
