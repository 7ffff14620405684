"""The engine for two players: it prepares, then plays by alpha-beta or tree search, with real searches."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from agent.search.choosing import general
from agent.search.choosing import preparation as preparing
from agent.search.choosing import trials as trying
from agent.search.choosing.general import GeneralSearch, make_engine
from agent.search.choosing.trials import gain_by_averages
from agent.search.engine import Engine, Limit, Opinion, StopFlag
from agent.search.evaluation import features as finding
from agent.search.learning import first_evaluation
from agent.search.montecarlo import MonteCarlo
from agent.search.registry import engines_for
from agent.search.tree.engine import TreeSearch
from games.gdl.running.batches import facts_in
from games.gdl.running.machine import CircuitMachine
from tests.agent.search.features import plain_features
from tests.agent.search.pvs.sheets import COOPERATION, heap
from tests.agent.search.stopping import StopWhen, never
from tests.agent.search.thinking import play_match
from tests.circuits import Compile
from tests.processes import PATIENCE, until

GO = np.zeros(1, np.uint8)


@pytest.fixture
def _search_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps tree search from proving the tests' games at first glance."""
    monkeypatch.setattr(general, "GLANCE_SHARE", 0.0)
    monkeypatch.setattr(preparing, "GAIN_SHARE", 0.0)
    monkeypatch.setattr(preparing, "PARTS", ())


def new_engine(machine: CircuitMachine, role: int = 0) -> GeneralSearch:
    """An engine with little memory, at the start of the match."""
    engine = GeneralSearch(machine, role, threads=1, seed=5, memory_bytes=1 << 22)
    engine.begin(machine.initial())
    return engine


def prepared(machine: CircuitMachine, role: int = 0) -> GeneralSearch:
    """An engine that has fitted an evaluation to random play, if it suits the game, and has found an opinion."""
    engine, evaluated = new_engine(machine, role), threading.Event()

    def note(opinion: Opinion) -> None:
        if not engine.uses_start_clock:
            evaluated.set()

    with StopWhen(evaluated.is_set) as stop:
        engine.prepare(stop.flag, note, Limit(PATIENCE))
    return engine


def think(engine: GeneralSearch, opinions: int = 12) -> list[Opinion]:
    """The engine's first opinions, up to that many."""
    found: list[Opinion] = []
    with StopWhen(lambda: len(found) >= opinions) as stop:
        engine.think(stop.flag, found.append, Limit(nodes=1 << 40))
    return found


@pytest.mark.usefixtures("_search_only")
@pytest.mark.parametrize(
    ("name", "player"),
    [
        ("tic-tac-toe", "alpha-beta"),
        ("heap", "alpha-beta"),
        ("cooperation", "tree search"),
        ("rock_paper_scissors", "tree search"),
    ],
)
def test_plays_a_whole_match(own: Compile, machine_of: Compile, name: str, player: str) -> None:
    """Legal moves from the start to the end in both roles, by the search that suits the game; who can win does."""
    sheets = {"heap": heap(13), "cooperation": COOPERATION}
    machine = machine_of(sheets[name]) if name in sheets else own(name.replace("-", "_"))
    for role in (0, 1):
        engine = prepared(machine, role)
        searched: set[str] = set()

        def choose(engine: Engine, searched: set[str] = searched) -> Opinion:
            assert isinstance(engine, GeneralSearch)
            found = think(engine, 3 if name != "heap" else 10_000)[-1]
            searched.add(engine.name)
            return found

        _, end = play_match(machine, {role: engine}, choose, seed=3)
        assert searched == {player}
        assert name != "heap" or machine.goal(end, role) == 100


@pytest.mark.parametrize("role", [0, 1])
def test_small_games_are_not_prepared_for(own: Compile, monkeypatch: pytest.MonkeyPatch, role: int) -> None:
    """A game proven at a glance needs no evaluation: neither the match nor a turn waits for one."""
    surveyed: list[object] = []
    monkeypatch.setattr(preparing, "survey", lambda *arguments: surveyed.append(arguments))
    engine = new_engine(own("tic_tac_toe"), role)
    for method in (engine.prepare, engine.think):
        opinions: list[Opinion] = []
        with StopWhen(never) as stop:
            method(stop.flag, opinions.append, Limit(10_000.0))
        assert (opinions[-1].final, opinions[-1].score and opinions[-1].score.goal) == (True, 50)
    assert not surveyed


@pytest.mark.usefixtures("_search_only")
def test_alpha_beta_proves_a_draw(own: Compile) -> None:
    """The turn ends with it."""
    engine = prepared(own("tic_tac_toe"))
    last = think(engine, 10_000)[-1]
    assert (last.final, last.score and last.score.goal, engine.name) == (True, 50, "alpha-beta")


@pytest.mark.usefixtures("_search_only")
def test_a_step_that_takes_long_does_not_take_the_turn(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop is obeyed at once; the step goes on alone, and no other is begun, while tree search has the turn."""
    begun: list[object] = []
    end, real = threading.Event(), preparing.survey

    def wait(*arguments: object) -> object:
        begun.append(arguments)
        end.wait(PATIENCE)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(preparing, "survey", wait)
    engine = new_engine(own("tic_tac_toe"))
    before = threading.active_count()
    opinions: list[Opinion] = []
    with StopWhen(lambda: bool(begun)) as stop:
        engine.prepare(stop.flag, opinions.append, Limit(PATIENCE))
    with StopWhen(never) as stop:
        engine.think(stop.flag, opinions.append, Limit(0.01))
    assert (engine.name, opinions[-1].final, len(begun)) == ("tree search", True, 1)
    end.set()
    until(lambda: threading.active_count() <= before)


@pytest.mark.parametrize("phase", ["run", "play"])
def test_a_stop_ends_kernels_of_every_phase(own: Compile, monkeypatch: pytest.MonkeyPatch, phase: str) -> None:
    """Learning and trying out: no thread continues for long."""
    owners = {"run": preparing.Learner, "play": trying.TrialMatch}
    reached = threading.Event()
    original = getattr(owners[phase], phase)

    def note(*arguments: object) -> object:
        reached.set()
        return original(*arguments)

    monkeypatch.setattr(owners[phase], phase, note)
    if phase == "play":
        monkeypatch.setattr(preparing, "PARTS", ((0.0, 0.3),))
    monkeypatch.setattr(preparing, "FIT_SHARE", 0.0)
    before = threading.active_count()
    with StopWhen(reached.is_set) as stop:
        new_engine(own("connect_four")).prepare(stop.flag, lambda opinion: None, Limit(1000.0))
    until(lambda: threading.active_count() <= before)


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


@pytest.mark.usefixtures("_search_only")
def test_very_many_fluents_share_weights(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns have the weights where a fit of all fluents would take too long: alpha-beta needs a won match then."""
    monkeypatch.setattr(finding, "MAX_FLUENTS", 80)
    monkeypatch.setattr(preparing, "MAX_FLUENTS", 80)
    monkeypatch.setattr(first_evaluation, "MOST_STATES", 2_000)
    preparation = preparing.Preparation(own("connect_four"), threads=1, seed=1)
    preparation.run(own("connect_four").initial(), 10_000.0, GO)
    assert preparation.learner is not None
    features, evaluation = preparation.learner.features, preparation.learner.evaluation
    assert features.shares is not None
    assert features.shares.shape[1] <= 80
    assert not preparation.prefers_alpha_beta
    positions = own("connect_four").random_matches(64, 9)
    ends = np.flatnonzero(positions.terminal)
    won = np.zeros(64, np.bool_)
    won[positions.match[ends]] = own("connect_four").worths_of(positions.states[ends])[:, 0] > 50
    odds = plain_features(features, facts_in(positions.states, features.n_fluents)) @ evaluation.weights
    assert odds[won[positions.match]].mean() > odds[~won[positions.match]].mean() + 0.1


def searches(machine: CircuitMachine) -> Callable[[int, Random], TreeSearch]:
    """A maker of tree searches of a game."""
    return lambda role, random: TreeSearch(machine, role, threads=1, memory_bytes=1 << 22, seed=random.getrandbits(63))


def test_who_chooses_by_averages_is_ahead(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of all in a race: advancing the foremost pawn wins more often. A second is 4000 playouts."""
    machine = own("breakthrough")

    def consider(tree: TreeSearch, legal: object, limit: Limit, stop: StopFlag) -> None:
        assert limit.seconds is not None
        if not stop[0]:
            tree.think(stop, lambda opinion: None, Limit(nodes=round(4000 * limit.seconds)))

    monkeypatch.setattr(trying, "consider", consider)
    gain = gain_by_averages(searches(machine), machine.initial(), 1.0, GO, Random(1))
    assert gain is not None
    assert 0.2 < gain <= 1.0
    for seconds, stop in ((1.0, 1), (0.0, 0)):
        assert gain_by_averages(searches(machine), machine.initial(), seconds, GO + np.uint8(stop), Random(1)) is None


def test_trial_matches_end_on_several_threads(own: Compile) -> None:
    """Each counts once."""
    machine = own("tic_tac_toe")
    make = searches(machine)
    trials = trying.Trials(machine, lambda role: make(role, Random(role)), make, threads=2, random=Random(1))
    with StopWhen(lambda: trials.matches >= 2) as stop:
        trials.play(time.monotonic() + PATIENCE, stop.flag, math.inf)
    assert 0 <= trials.points <= trials.matches >= 2


@pytest.mark.usefixtures("little_memory")
def test_registry_knows_who_plays_what(own: Compile) -> None:
    """Two players: this engine, then tree search; other numbers of players: tree search; always Monte-Carlo last."""
    found = [type(engine) for engine in engines_for(own("tic_tac_toe"), 0)]
    assert found == [GeneralSearch, TreeSearch, MonteCarlo]
    found = [type(engine) for engine in engines_for(own("three_way_line"), 0)]
    assert found == [TreeSearch, MonteCarlo]
    assert make_engine(own("eight_puzzle"), 0) is None
