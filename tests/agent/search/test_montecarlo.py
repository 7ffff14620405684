"""Monte-Carlo search on any machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest

from agent.search.engine import UNLIMITED, Limit, Opinion, consider
from agent.search.montecarlo import MonteCarlo
from agent.search.registry import engines_for
from games import rulesheets
from games.gdl.interpreter.machine import Interpreter
from games.machine import State, StateMachine, Term
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


def search_of(game: StateMachine, role: int = 0) -> MonteCarlo:
    """A search at the start of the match."""
    engine = MonteCarlo(game, role, seed=1)
    engine.begin(game.initial())
    return engine


def think(engine: MonteCarlo, playouts: int) -> list[Opinion]:
    """All opinions of an engine that makes some playouts, or stops by itself."""
    opinions: list[Opinion] = []
    engine.think(np.zeros(1, np.uint8), opinions.append, Limit(nodes=playouts))
    return opinions


def test_better_end_is_found_and_kept() -> None:
    """The move to the better goal is preferred, with its value; what was searched below it still counts later."""
    game = interpreter_of(TWO_STEPS)
    engine = search_of(game)
    best = think(engine, 300)[-1]
    assert best.move == "right"
    assert best.score.goal == pytest.approx(100)
    root = engine._root
    assert root is not None
    visits = root.visits_of[0][root.moves[0].index("right")]
    assert visits > 150
    engine.advance(("right",), game.next(game.initial(), ("right",)))
    # The first of these visits made the node.
    assert engine._root.visits == visits - 1


def test_forced_move_is_proven() -> None:
    """With one legal move there is nothing to think about."""
    game = interpreter_of(TWO_STEPS)
    engine = search_of(game)
    engine.advance(("left",), game.next(game.initial(), ("left",)))
    assert think(engine, 300) == [Opinion("on", final=True)]


def test_simultaneous_moves_are_played() -> None:
    """Where both choose at once, neither side is sure of anything. There is an opinion at once and after each
    playout."""
    for role in range(2):
        opinions = think(search_of(interpreter_of(MATCHING), role), 300)
        assert opinions[-1].move in ("heads", "tails")
        assert opinions[-1].score is not None
        assert 20 < opinions[-1].score.goal < 80
        assert [opinion.info.get("playouts") for opinion in opinions] == [None, *range(1, 301)]


class Watched(Interpreter):
    """Raises the stop flag when it is used for the n-th time in a way; counts its uses after that."""

    def __init__(self, rules: str, way: str, uses: int) -> None:
        super().__init__(rules_of(rules))
        self.stop = np.zeros(1, np.uint8)
        self._way, self._left = way, uses
        self.used_after = 0

    def _use(self, way: str) -> None:
        self.used_after += int(self.stop[0])
        self._left -= way == self._way
        self.stop[0] |= self._left == 0

    def legal(self, state: State, role: int) -> list[Term]:
        self._use("legal")
        return super().legal(state, role)

    def terminal(self, state: State) -> bool:
        self._use("terminal")
        return super().terminal(state)

    def next(self, state: State, moves: Sequence[Term]) -> State:
        self._use("next")
        return super().next(state, moves)

    @contextmanager
    def interruptible(self, condition: Callable[[], bool]) -> Iterator[None]:
        def watched() -> bool:
            self._use("poll")
            return condition()

        with super().interruptible(watched):
            yield


@pytest.mark.parametrize("successors", [1, 10, 11, 12, 13])
def test_search_stops_in_the_middle_of_a_playout(successors: int) -> None:
    """Wherever it is, the machine is asked nothing more once the flag is raised."""
    game = Watched(rulesheets.text("tic_tac_toe"), "next", successors)
    search_of(game).think(game.stop, lambda opinion: None, UNLIMITED)
    assert game.used_after == 0


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
    game = Watched(rules, "poll", 5)
    opinions: list[Opinion] = []
    search_of(game).think(game.stop, opinions.append, UNLIMITED)
    assert opinions[-1].move in ("left", "right")
    assert game.used_after == 0
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
