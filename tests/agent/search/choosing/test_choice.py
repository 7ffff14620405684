"""Which search plays a game of two players, and what it does with its clocks, on a virtual clock."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from pathlib import Path

import pytest

from agent.search.choosing.general import IMPROVE_SECONDS, MOST_SECONDS
from agent.search.choosing.preparation import MANY_GENERATIONS
from agent.search.choosing.trials import LEAST_SECONDS, MANY_TRIALS, TRIAL_SECONDS
from agent.search.choosing.trials import MOST_SECONDS as MOST_TRIAL_SECONDS
from agent.search.engine import UNLIMITED, Limit, Opinion
from agent.search.learning.memory import Store
from agent.search.tree.move_averages import DRAWS
from tests.agent.search.choosing.stage import STEP, Stage
from tests.agent.search.pvs.sheets import COOPERATION, RACE, heap

NEVER = 1e9


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A game that suits alpha-beta."""
    return Stage(monkeypatch, heap(13))


def wins(role: int) -> float:
    """Alpha-beta wins all trial matches."""
    return 1.0


def loses(role: int) -> float:
    """Alpha-beta loses all trial matches."""
    return 0.0


def unfinished(role: int) -> None:
    """No trial match ends."""


@pytest.mark.parametrize(
    ("points", "player"),
    [
        (wins, "alpha-beta"),
        (loses, "tree search"),
        (lambda role: 0.75, "alpha-beta"),
        (lambda role: 0.5, "tree search"),
        # The same role wins always.
        (lambda role: float(role), "tree search"),
        (unfinished, "tree search"),
    ],
)
def test_the_search_that_does_better_plays(stage: Stage, points: Callable[[int], float | None], player: str) -> None:
    """In trial matches; ties say nothing for alpha-beta."""
    stage.points = points
    assert stage.player() == player


@pytest.mark.parametrize(("generation", "player"), [(0.2, "alpha-beta"), (NEVER, "tree search")])
def test_a_slow_game_of_which_nothing_is_learnt_is_left_to_tree_search(
    stage: Stage, generation: float, player: str
) -> None:
    """Where matches are too long for a trial, and tree search is too slow for the real match, too."""
    stage.plies, stage.speed, stage.generation, stage.points = 1e6, 10.0, generation, unfinished
    assert stage.player() == player


@pytest.mark.parametrize("early", [True, False])
def test_states_that_cannot_be_searched_are_left_to_tree_search(stage: Stage, early: bool) -> None:
    """Whether a trial match finds it out, or a turn."""
    stage.points = wins
    engine, stage.refuses = stage.engine(), early
    stage.prepare(engine, 20.0)
    stage.refuses = True
    stage.think(engine, Limit(10.0), 40.0)
    assert engine.name == "tree search"


@pytest.mark.parametrize("rules", [COOPERATION, RACE])
def test_other_games_are_left_alone(monkeypatch: pytest.MonkeyPatch, rules: str) -> None:
    """Nothing is learnt where alpha-beta is out of the question: the time is for tree search."""
    stage = Stage(monkeypatch, rules)
    assert stage.player() == "tree search"
    assert not stage.spent("learning") + stage.spent("trial")


@pytest.mark.parametrize("seconds", [0.01, 1.0, 10.0, 60.0, 600.0, None])
@pytest.mark.parametrize("points", [wins, loses])
def test_the_match_may_begin_when_the_preparation_ends(
    stage: Stage, seconds: float | None, points: Callable[[int], float]
) -> None:
    """In time, and within a minute; the rest of the start clock is for searching. Unknown ones count as ten seconds."""
    stage.points = points
    engine = stage.engine()
    assert engine.uses_start_clock
    begun: list[float] = []
    end = seconds or 10.0

    def look(opinion: Opinion) -> None:
        if not engine.uses_start_clock:
            begun.append(stage.now)

    engine.prepare(stage.flag(max(end, 0.1)), look, Limit(seconds))
    assert begun[0] <= min(end, MOST_SECONDS) + 1e-6
    assert not engine.uses_start_clock


@pytest.mark.parametrize("end", [0.5, 2.0, 5.0, 8.0, 12.0])
def test_a_stop_ends_every_phase(stage: Stage, end: float) -> None:
    """Fit, learning, trial matches, searching: what was begun goes on at the next turn."""
    stage.points = unfinished
    engine = stage.engine()
    stage.prepare(engine, 20.0, end)
    assert end <= stage.now <= end + STEP
    stage.points = wins
    stage.think(engine, Limit(60.0), 100.0)
    assert 100.0 <= stage.now <= 100.0 + STEP
    assert engine.name == "alpha-beta"


def test_a_clear_result_leaves_the_time_to_who_plays(stage: Stage) -> None:
    """After two wins the rest is for learning, after two losses for tree search."""
    found = {}
    for points in (wins, loses):
        stage.points, stage.log = points, []
        assert stage.player(60.0) == ("alpha-beta" if points is wins else "tree search")
        found[points] = stage.spent("learning")
        assert [name for name, _, _ in stage.log].count("trial") == 2
    assert found[wins] > 40 > 20 > found[loses] > 10


@pytest.mark.parametrize("generation", [1.0, NEVER])
def test_a_lost_match_is_enough_where_nothing_is_learnt(stage: Stage, generation: float) -> None:
    """If nothing was learnt by now, little will be. A second match is interrupted, and goes on otherwise."""
    stage.generation, stage.points, stage.plies = generation, loses, 5.0 / LEAST_SECONDS
    assert stage.player(60.0) == "tree search"
    assert (stage.spent("trial") < 9.0) == (generation == NEVER)


@pytest.mark.parametrize(
    ("plies", "speed", "expected"),
    [
        (10.0, 1e6, TRIAL_SECONDS),
        (10.0, 5e3, 0.05),
        (4.0, 1e2, MOST_TRIAL_SECONDS),
        (60.0, 1e6, 0.02),
        (1e3, 1e6, LEAST_SECONDS),
    ],
)
def test_trial_moves_take_as_long_as_tree_search_needs(
    stage: Stage, plies: float, speed: float, expected: float
) -> None:
    """Within limits, and less where two matches would not end in time."""
    stage.plies, stage.speed = plies, speed
    stage.player(20.0)
    assert stage.seconds[0] == pytest.approx(expected, rel=0.3)


def test_an_interrupted_trial_match_goes_on(stage: Stage) -> None:
    """While others think, before a new one begins."""
    stage.plies, stage.points = 1000.0, wins
    engine = stage.engine()
    stage.prepare(engine, 10.0)
    assert len(stage.seconds) == 1
    assert stage.spent("trial") < LEAST_SECONDS * stage.plies
    stage.think(engine, UNLIMITED, stage.now + 100.0)
    assert stage.spent("trial") > LEAST_SECONDS * stage.plies
    assert len(stage.seconds) == 2


def test_a_turn_is_partly_for_what_the_start_clock_was_too_short_for(stage: Stage) -> None:
    """Three tenths are for learning, without trial matches; then the engine searches, and goes on after its answer."""
    engine = stage.engine()
    stage.think(engine, Limit(10.0), 100.0)
    begun = next(begin for name, begin, end in stage.log if name == "alpha-beta" and end > begin)
    assert 1.0 < begun <= 3.0
    assert stage.first("trial") >= 10.0
    searched = [end - begin for name, begin, end in stage.log if name == "alpha-beta" and end <= 10.01]
    assert sum(searched) == pytest.approx(10.0 - begun, abs=0.01)
    assert stage.now >= 100.0


@pytest.mark.parametrize("limit", [UNLIMITED, Limit(1000.0)])
def test_open_questions_are_settled_while_others_think(stage: Stage, limit: Limit) -> None:
    """Searching, learning and trial matches alternate until there is enough of each; then it only searches."""
    stage.points = lambda role: 0.6
    engine = stage.engine(1)
    stage.prepare(engine, 5.0)
    stage.think(engine, limit, 2000.0)
    assert engine.name == "alpha-beta"
    assert stage.spent("learning") >= MANY_GENERATIONS
    assert len(stage.seconds) == MANY_TRIALS
    # A halted preparation may note its end later.
    name, begin, _ = max(stage.log, key=itemgetter(1))
    assert (name, begin < 1000.0) == ("alpha-beta", True)
    assert max(end - begin for name, begin, end in stage.log if name in ("learning", "trial")) <= IMPROVE_SECONDS + STEP


def test_tree_search_takes_over_where_alpha_beta_does_worse(stage: Stage) -> None:
    """After enough losses while others think."""
    stage.points = wins
    engine = stage.engine(1)
    stage.prepare(engine, 20.0)
    stage.points = loses
    stage.think(engine, UNLIMITED, 400.0)
    assert engine.name == "tree search"
    assert "did worse" in engine.reason


@pytest.mark.parametrize(("gain", "draws"), [(0.6, DRAWS), (0.59, 1), (None, 1)])
def test_playouts_draw_as_their_gain_says(stage: Stage, gain: float | None, draws: int) -> None:
    """By move averages where one role that does so gains much."""
    stage.points, stage.gain = loses, gain
    engine = stage.engine()
    stage.prepare(engine, 20.0)
    assert stage.playing.draws == draws


@pytest.mark.parametrize("step", ["survey", "find_features", "learning", "trial", "gain"])
def test_failures_are_logged_and_tree_search_plays(stage: Stage, caplog: pytest.LogCaptureFixture, step: str) -> None:
    """Any error rules alpha-beta out for good."""
    stage.fails, stage.points = step, loses
    engine = stage.engine()
    stage.prepare(engine, 20.0)
    assert "too large" in caplog.text
    stage.fails, stage.log = "", []
    stage.think(engine, Limit(10.0), 40.0)
    assert engine.name == "tree search"
    assert not stage.spent("learning") + stage.spent("trial")


# -- from one match to the next ----------------------------------------------------------------------------------------


def test_the_next_match_begins_with_what_was_learnt(stage: Stage, tmp_path: Path) -> None:
    """Without a fit; results of trial matches count on, so that nothing is tried again."""
    stage.points = wins
    assert stage.player(60.0, memory=tmp_path) == "alpha-beta"
    stage.log = []
    assert stage.player(0.01, memory=tmp_path) == "alpha-beta"
    assert stage.spent("fit") + stage.spent("learning") < 0.1
    stage.log = []
    assert stage.player(60.0) == "alpha-beta"
    assert stage.spent("fit") > 0


def test_lost_trials_of_earlier_matches_are_tried_again(stage: Stage, tmp_path: Path) -> None:
    """Tree search plays at first, as it played best; more matches may count for alpha-beta."""
    stage.points = loses
    assert stage.player(60.0, memory=tmp_path) == "tree search"
    stage.points = wins
    engine = stage.engine(memory=tmp_path)
    stage.prepare(engine, 0.01)
    stage.think(engine, UNLIMITED, stage.now + 0.1)
    assert engine.name == "tree search"
    stage.think(engine, UNLIMITED, stage.now + 400.0)
    assert engine.name == "alpha-beta"


def test_only_news_are_written(stage: Stage, tmp_path: Path) -> None:
    """Not what was only recalled, nor an evaluation that comes from random play alone."""
    stage.player(0.01, memory=tmp_path)
    assert not list(tmp_path.iterdir())
    stage.player(20.0, memory=tmp_path)
    (path,) = tmp_path.iterdir()
    written = path.stat().st_ino
    stage.player(0.01, memory=tmp_path)
    assert path.stat().st_ino == written
    stage.player(20.0, memory=tmp_path)
    assert path.stat().st_ino != written


@pytest.mark.parametrize("method", ["read", "write"])
def test_failing_memory_is_no_reason_to_lose(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    """It is logged; the match is prepared as without memory."""

    def fail(*arguments: object) -> None:
        raise OSError("no disk")

    monkeypatch.setattr(Store, method, fail)
    stage.points = wins
    assert stage.player(20.0, memory=tmp_path) == "alpha-beta"
    assert "no disk" in caplog.text


def test_damaged_memory_is_replaced(stage: Stage, tmp_path: Path) -> None:
    """The game is learnt anew."""
    stage.points = wins
    stage.player(20.0, memory=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:100])
    stage.log = []
    assert stage.player(20.0, memory=tmp_path) == "alpha-beta"
    assert stage.spent("fit") > 0
    stage.log = []
    assert stage.player(0.01, memory=tmp_path) == "alpha-beta"
    assert not stage.spent("fit")
