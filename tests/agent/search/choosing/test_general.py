"""The engine for two players: it prepares, then plays by alpha-beta or tree search."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from agent.search.choosing import general
from agent.search.choosing import preparation as preparing
from agent.search.choosing import trial as trying
from agent.search.choosing.general import GeneralSearch, make_engine
from agent.search.engine import UNLIMITED, Engine, Limit, Opinion
from agent.search.learning import learner as learning
from agent.search.montecarlo import MonteCarlo
from agent.search.pvs.survey import survey
from agent.search.registry import engines_for
from agent.search.tree import engine as tree_engine
from agent.search.tree.engine import TreeSearch
from games.gdl.running.machine import CircuitMachine
from games.machine import State
from tests.agent.search.pvs.sheets import COOPERATION, heap
from tests.agent.search.stopping import StopWhen, never
from tests.circuits import Compile
from tests.processes import PATIENCE


@pytest.fixture(autouse=True)
def _search_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps tree search from proving the tests' games at first glance, and uses turns without a clock for searching.

    Variants of tree search are for `test_variants`.
    """
    monkeypatch.setattr(general, "GLANCE_SHARE", 0.0)
    monkeypatch.setattr(preparing.TreeChoice, "undecided", [])
    monkeypatch.setattr(general, "ALPHA_BETA_SECONDS", 1000.0)
    monkeypatch.setattr(general, "TREE_SECONDS", 1000.0)


def new_engine(machine: CircuitMachine, role: int = 0) -> GeneralSearch:
    """An engine with little memory, at the start of the match."""
    engine = GeneralSearch(machine, role, threads=1, seed=5, memory_bytes=1 << 22)
    engine.begin(machine.initial())
    return engine


def prepare(engine: GeneralSearch) -> None:
    """Prepares with hardly any time, and none to search."""
    engine._preparation.run(engine._state, 0.0, np.zeros(1, np.uint8))


def think(engine: GeneralSearch, opinions: int = 12) -> list[Opinion]:
    """The engine's first opinions, up to that many."""
    found: list[Opinion] = []
    with StopWhen(never) as stop:

        def report(opinion: Opinion) -> None:
            found.append(opinion)
            if len(found) >= opinions:
                stop.flag[0] = 1

        engine.think(stop.flag, report, UNLIMITED)
    return found


@pytest.mark.parametrize("name", ["tic-tac-toe", "heap", "cooperation", "rock_paper_scissors"])
@pytest.mark.parametrize("role", [0, 1])
def test_plays_a_whole_match(
    own: Compile, machine_of: Compile, monkeypatch: pytest.MonkeyPatch, name: str, role: int
) -> None:
    """Legal moves from the start to the end, by the search that suits the game."""
    monkeypatch.setattr(tree_engine, "REPORT_SECONDS", 0.0)
    sheets = {"heap": heap(13), "cooperation": COOPERATION}
    machine = machine_of(sheets[name]) if name in sheets else own(name.replace("-", "_"))
    rng = random.Random(role)
    engine = new_engine(machine, role)
    prepare(engine)
    state, searched = machine.initial(), set()
    while not machine.terminal(state):
        legal = machine.legal(state, role)
        opinions = think(engine, 3)
        assert opinions
        assert all(opinion.move in legal for opinion in opinions)
        searched.add(engine.name)
        other = rng.choice(machine.legal(state, 1 - role))
        joint = (opinions[-1].move, other) if role == 0 else (other, opinions[-1].move)
        state = machine.next(state, joint)
        engine.advance(joint, state)
    assert searched == {"alpha-beta" if name in ("tic-tac-toe", "heap") else "tree search"}


def test_wins_what_can_be_won(machine_of: Compile) -> None:
    """In a heap that the first player wins with best play."""
    machine = machine_of(heap(13))
    won = {}
    for role in (0, 1):
        engine, state = new_engine(machine, role), machine.initial()
        prepare(engine)
        rng, certain = random.Random(3), False
        while not machine.terminal(state):
            last = think(engine, 10_000)[-1]
            certain |= last.final and last.score is not None and last.score.goal == 100
            other = rng.choice(machine.legal(state, 1 - role))
            joint = (last.move, other) if role == 0 else (other, last.move)
            state = machine.next(state, joint)
            engine.advance(joint, state)
        won[role] = machine.goal(state, role)
        assert certain
    assert won == {0: 100, 1: 100}


@pytest.mark.parametrize("role", [0, 1])
def test_small_games_are_not_prepared_for(own: Compile, monkeypatch: pytest.MonkeyPatch, role: int) -> None:
    """A game proven at a glance needs no evaluation: neither the match nor a turn waits for one."""
    monkeypatch.setattr(general, "GLANCE_SHARE", 0.05)
    engine = new_engine(own("tic_tac_toe"), role)
    opinions: list[Opinion] = []
    with StopWhen(never) as stop:
        engine.prepare(stop.flag, opinions.append, Limit(10_000.0))
        assert (opinions[-1].final, opinions[-1].score.goal) == (True, 50)
        opinions.clear()
        engine.think(stop.flag, opinions.append, Limit(10_000.0))
        assert opinions[-1].final
    assert engine._preparation.suits is None


def test_drawn_game_is_proven_before_it_begins(own: Compile) -> None:
    """The match need not wait for the end of the start clock."""
    engine = new_engine(own("tic_tac_toe"))
    prepare(engine)
    last = think(engine, 10_000)[-1]
    assert (last.final, last.score.goal) == (True, 50)


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event]]:
    """A survey that signals its start (first event), and ends when told to (second)."""
    begun, end = threading.Event(), threading.Event()

    def wait(machine: CircuitMachine, seed: int) -> object:
        begun.set()
        end.wait(PATIENCE)
        return survey(machine, seed)

    monkeypatch.setattr(preparing, "survey", wait)
    yield begun, end
    end.set()


def test_stop_is_obeyed_while_a_step_takes_long(own: Compile, blocked: tuple[threading.Event, threading.Event]) -> None:
    """Preparing continues alone until the step is done; the next turn waits for it instead of starting another."""
    begun, end = blocked
    machine = own("tic_tac_toe")
    engine = new_engine(machine)
    opinions: list[Opinion] = []
    with StopWhen(begun.is_set) as stop:
        engine.prepare(stop.flag, opinions.append, Limit(1000.0))
    assert stop.flag[0]
    thread = engine._preparing
    assert thread is not None
    assert thread.is_alive()
    assert {opinion.move in machine.legal(machine.initial(), 0) for opinion in opinions} == {True}
    begun.clear()
    engine.think(np.zeros(1, np.uint8) + 1, opinions.append, Limit(1000.0))
    assert engine._preparing is thread
    assert not begun.is_set()
    end.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    prepare(engine)
    assert think(engine)[-1].move in machine.legal(machine.initial(), 0)
    assert engine.name == "alpha-beta"


def test_step_that_takes_long_does_not_take_the_turn(
    own: Compile, blocked: tuple[threading.Event, threading.Event]
) -> None:
    """When the turn's share for preparing is over, tree search gets the rest."""
    engine = new_engine(own("tic_tac_toe"))
    opinions: list[Opinion] = []
    with StopWhen(never) as stop:
        engine.think(stop.flag, opinions.append, Limit(0.01))
    assert engine.name == "tree search"
    assert opinions[-1].final


@pytest.mark.parametrize("phase", ["step", "run", "_play_some"])
def test_stop_is_obeyed_in_every_phase(own: Compile, monkeypatch: pytest.MonkeyPatch, phase: str) -> None:
    """Fitting, learning and trying out: no thread continues for long."""
    owners = {
        "step": preparing.fit.EvaluationTrainer,
        "run": preparing.Learner,
        "_play_some": trying.Trials,
    }
    reached = threading.Event()
    original = getattr(owners[phase], phase)

    def note(*arguments: object) -> object:
        reached.set()
        return original(*arguments)

    monkeypatch.setattr(owners[phase], phase, note)
    if phase == "_play_some":
        monkeypatch.setattr(preparing, "PARTS", ((0.0, 0.3),))
    monkeypatch.setattr(preparing, "FIT_SHARE", 0.0)
    machine = own("connect_four")
    engine = new_engine(machine)
    opinions: list[Opinion] = []
    with StopWhen(reached.is_set) as stop:
        engine.prepare(stop.flag, opinions.append, Limit(1000.0))
    assert stop.flag[0]
    assert {opinion.move for opinion in opinions} <= set(machine.legal(machine.initial(), 0))
    if engine._preparing is not None:
        engine._preparing.join(PATIENCE)
        assert not engine._preparing.is_alive()
    assert engine._preparation.worth_while


def test_says_nothing_where_it_has_no_move(machine_of: Compile) -> None:
    """A role without a legal move gets no opinion, neither before the match nor later."""
    machine = machine_of(
        """
        (role w) (role b) (init (at 0)) (way left) (way right)
        (<= (legal w ?m) (way ?m)) (<= (legal b ?m) (way ?m) (true (at ?any)) (true (never)))
        (<= (next (at 1)) (does w ?m)) (<= (next (never)) (true (never)))
        (<= terminal (true (at 1)))
        (goal w 50) (goal b 50)
        """
    )
    engine = new_engine(machine, 1)
    opinions: list[Opinion] = []
    engine.prepare(np.zeros(1, np.uint8), opinions.append, Limit(0.01))
    engine.think(np.zeros(1, np.uint8), opinions.append, Limit(0.01))
    assert opinions == []


def test_states_that_cannot_be_searched_are_left_to_tree_search(own: Compile) -> None:
    """Where both choose at once, whatever the choice was."""
    machine = own("rock_paper_scissors")
    engine = new_engine(machine)
    preparation = engine._preparation
    preparation.suits = True
    features = preparing.find_features(machine, 1)
    preparation.features = features
    start = preparing.linear_evaluation(np.zeros(features.n), 0.0)
    preparation._learner = preparing.Learner(machine, features, start)
    assert preparation.prefers_alpha_beta
    assert think(engine)[-1].move in machine.legal(machine.initial(), 0)
    assert engine.name == "tree search"


def test_start_clock_is_for_all_phases_and_a_turn_for_a_part(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trial matches are played only before the match; without a choice, or an evaluation, nothing is prepared."""
    asked: list[tuple[float, bool]] = []

    def run(self: object, state: State, seconds: float, stop: object, *, trial: bool) -> None:
        asked.append((seconds, trial))

    monkeypatch.setattr(preparing.Preparation, "run", run)
    monkeypatch.setattr(general, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    machine = own("tic_tac_toe")
    engine = new_engine(machine)

    def has_asked_after(before: int) -> bool:
        return engine._preparing is None and len(asked) > before

    long = Limit(1000.0)
    for method, limit in ((engine.prepare, long), (engine.prepare, UNLIMITED), (engine.think, long)):
        with StopWhen(partial(has_asked_after, len(asked))) as stop:
            method(stop.flag, lambda opinion: None, limit)
    # At most a minute, as if the start clock were ten seconds, and three tenths of the turn.
    assert asked == [(60, True), (10, True), (300, False)]
    with StopWhen(lambda: engine._tree.playouts > 100) as stop:
        engine.think(stop.flag, lambda opinion: None, UNLIMITED)
    waiting = new_engine(machine, 1)
    with StopWhen(lambda: waiting._tree.playouts > 100) as stop:
        waiting.think(stop.flag, lambda opinion: None, Limit(1000.0))
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("role", "limit"),
    [(1, Limit(1000.0)), (0, Limit(0.1)), (1, UNLIMITED)],
    ids=["no choice", "answer given", "before the match"],
)
def test_learns_while_others_think(own: Compile, monkeypatch: pytest.MonkeyPatch, role: int, limit: Limit) -> None:
    """Until enough is learnt; then the time is for searching alone. The next turn uses the new evaluation.

    Others think where there is no choice, and after the engine's own turn.
    """
    monkeypatch.setattr(general, "ALPHA_BETA_SECONDS", 0.05)
    monkeypatch.setattr(general, "TREE_SECONDS", 0.05)
    monkeypatch.setattr(learning, "MATCHES", 32)
    monkeypatch.setattr(learning, "GATE", 4)
    machine = own("connect_four")
    engine = new_engine(machine, role)
    preparation = engine._preparation
    prepare(engine)
    before = preparation.generations
    preparation.trials.points = preparation.trials.matches = trying.MANY_TRIALS
    assert preparation.immature
    assert not preparation.undecided
    opinions: list[Opinion] = []
    with StopWhen(lambda: preparation.generations > before) as stop:
        engine.think(stop.flag, opinions.append, limit)
    assert stop.counted is not None
    assert engine.name == "alpha-beta"
    if engine._preparing is not None:
        engine._preparing.join(PATIENCE)
    learnt = preparation.evaluation
    monkeypatch.setattr(preparing, "MANY_GENERATIONS", preparation.generations)
    begun: list[str] = []
    monkeypatch.setattr(preparation, "improve", lambda *arguments: begun.append("improve"))
    alpha_beta = engine._alpha_beta
    assert alpha_beta is not None
    before = alpha_beta._analyser.nodes
    with StopWhen(lambda: alpha_beta._analyser.nodes > before + 1000) as stop:
        engine.think(stop.flag, opinions.append, UNLIMITED)
    assert not begun
    assert alpha_beta._evaluation is learnt


def test_tree_search_takes_over_where_alpha_beta_does_worse(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trial matches continue while others think; after enough losses, tree search plays the next turn."""
    monkeypatch.setattr(general, "ALPHA_BETA_SECONDS", 0.05)
    monkeypatch.setattr(general, "TREE_SECONDS", 0.05)

    def lose(machine: object, root: object, engines: Sequence[Engine], *rest: object) -> object:
        return SimpleNamespace(play=lambda stop: float(engines[0].name != "alpha-beta"), void=False)

    monkeypatch.setattr(trying, "TrialMatch", lose)
    engine = new_engine(own("connect_four"), 1)
    preparation = engine._preparation
    prepare(engine)
    preparation.trials.points = preparation.trials.matches = 2
    assert preparation.prefers_alpha_beta
    with StopWhen(lambda: not preparation.undecided and engine._tree.playouts > 100) as stop:
        engine.think(stop.flag, lambda opinion: None, Limit(1000.0))
    assert not preparation.prefers_alpha_beta
    assert engine.name == "tree search"


@pytest.mark.parametrize(
    ("winner", "score", "learning"),
    [("alpha-beta", (2.0, 2), [2e5, 8e5]), ("tree search", (0.0, 2), [2e5])],
)
def test_trial_ends_with_a_clear_lead(
    own: Compile, monkeypatch: pytest.MonkeyPatch, winner: str, score: tuple[float, int], learning: list[float]
) -> None:
    """Two wins ahead, the rest of the time is for learning; two behind, for tree search."""

    def win(machine: object, root: object, engines: Sequence[Engine], seconds: float, *rest: object) -> object:
        return SimpleNamespace(play=lambda stop: float(engines[0].name == winner), void=False, seconds=seconds)

    monkeypatch.setattr(trying, "TrialMatch", win)
    preparation = preparing.Preparation(own("tic_tac_toe"), 0, threads=1, seed=1)
    learnt: list[float] = []
    monkeypatch.setattr(preparing.Preparation, "_learn", lambda self, state, seconds, stop: learnt.append(seconds))
    monkeypatch.setattr(preparing, "FIT_SHARE", 0.0)
    preparation.run(own("tic_tac_toe").initial(), 1e6, np.zeros(1, np.uint8))
    assert (preparation.trials.points, preparation.trials.matches) == score
    assert learnt == pytest.approx(learning, rel=0.01)


@pytest.mark.parametrize(("generations", "learning"), [(0, [2e5]), (1, [2e5, 6.2e5])])
def test_trial_ends_where_nothing_is_learnt(
    own: Compile, monkeypatch: pytest.MonkeyPatch, generations: int, learning: list[float]
) -> None:
    """One lost match is enough if the evaluation is still that of random play, but not if it is learnt."""
    results = iter([True, None, None])

    def lose_once(machine: object, root: object, engines: Sequence[Engine], seconds: float, *rest: object) -> object:
        def play(stop: object) -> float | None:
            return None if next(results) is None else float(engines[0].name == "tree search")

        return SimpleNamespace(play=play, void=False, seconds=seconds)

    monkeypatch.setattr(trying, "TrialMatch", lose_once)
    monkeypatch.setattr(preparing.Preparation, "generations", property(lambda self: generations))
    preparation = preparing.Preparation(own("tic_tac_toe"), 0, threads=1, seed=1)
    learnt: list[float] = []
    monkeypatch.setattr(preparing.Preparation, "_learn", lambda self, state, seconds, stop: learnt.append(seconds))
    monkeypatch.setattr(preparing, "FIT_SHARE", 0.0)
    preparation.run(own("tic_tac_toe").initial(), 1e6, np.zeros(1, np.uint8))
    assert (preparation.trials.points, preparation.trials.matches) == (0.0, 1)
    assert learnt == pytest.approx(learning, rel=0.01)


@pytest.mark.usefixtures("little_memory")
def test_registry_knows_who_plays_what(own: Compile) -> None:
    """Two players: this engine, then tree search; other numbers of players: tree search; always Monte-Carlo last."""
    found = [type(engine) for engine in engines_for(own("tic_tac_toe"), 0)]
    assert found == [GeneralSearch, TreeSearch, MonteCarlo]
    found = [type(engine) for engine in engines_for(own("three_way_line"), 0)]
    assert found == [TreeSearch, MonteCarlo]
    assert make_engine(own("eight_puzzle"), 0) is None


def test_the_match_may_begin_once_all_is_prepared(own: Compile) -> None:
    """A prepared engine does not delay the match until the start clock is over."""
    engine = new_engine(own("tic_tac_toe"), 0)
    assert engine.uses_start_clock
    engine.prepare(np.zeros(1, np.uint8), lambda opinion: None, Limit(0.1))
    assert not engine.uses_start_clock
