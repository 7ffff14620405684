"""Learning from one match to the next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.search.choosing import preparation as preparing
from agent.search.choosing.general import GeneralSearch
from agent.search.choosing.preparation import Preparation
from agent.search.choosing.trial import MOST_REMEMBERED
from agent.search.learning import learner as learning
from agent.search.learning.lessons import LessonTable
from agent.search.learning.memory import SheetMemory, Store
from agent.search.learning.trial_points import TrialPoints
from agent.worker.choice import choice_for
from agent.worker.messages import Begin, Checkpoint
from games import rulesheets
from games.gdl.running.machine import CircuitMachine
from games.machine import State
from protocol import kif
from protocol.messages import Start
from tests.agent.search.learning.remembering import DIGESTS, entry
from tests.agent.search.pvs.sheets import heap
from tests.agent.search.stopping import StopWhen
from tests.circuits import Compile

Draw = Callable[[CircuitMachine, int], list[State]]

SHEET = heap(13)


def memory_of(machine: CircuitMachine, folder: Path) -> SheetMemory:
    """The memory of `SHEET`."""
    return SheetMemory(Store(folder), kif.read_rulesheet(SHEET), machine.roles)


def learn(preparation: Preparation, generations: int) -> None:
    """Prepares until that many evaluations are learnt."""
    machine = preparation._machine
    with StopWhen(lambda: preparation.generations >= generations) as stop:
        preparation.run(machine.initial(), 1000.0, stop.flag, trial=False)


@pytest.fixture
def first(machine_of: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Preparation:
    """The preparation of a first match, with an evaluation learnt from few matches, and trial matches."""
    monkeypatch.setattr(learning, "MATCHES", 64)
    monkeypatch.setattr(learning, "GATE", 8)
    preparation = Preparation(machine_of(SHEET), 0, threads=1, seed=1, memory=memory_of(machine_of(SHEET), tmp_path))
    preparation.trials.points, preparation.trials.matches = 30.0, 40
    for points, variant in enumerate(preparation.trees.variants):
        variant.recall(TrialPoints(points + 0.5, 2))
    learn(preparation, 1)
    return preparation


def test_second_match_begins_with_what_the_first_has_learnt(
    first: Preparation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, without a fit to random play; its own generations are there for the third."""
    machine = first._machine

    def fail(*arguments: object) -> None:
        raise AssertionError("nothing is to be fitted to random play")

    monkeypatch.setattr(preparing.fit, "EvaluationTrainer", fail)
    second = Preparation(machine, 0, threads=1, seed=2, memory=memory_of(machine, tmp_path))
    second.run(machine.initial(), 0.0, np.zeros(1, np.uint8))
    assert first.evaluation is not None
    assert second.evaluation is not None
    assert second.features is not None
    np.testing.assert_allclose(second.evaluation.weights, first.evaluation.weights, rtol=1e-5)
    assert second.evaluation.bias == first.evaluation.bias
    assert second.generations == first.generations >= 1
    assert second.prefers_alpha_beta
    assert second.trials.tally == (0.75 * MOST_REMEMBERED, MOST_REMEMBERED)
    assert [variant.tally for variant in second.trees.variants] == [(0.5, 2), (1.5, 2)]
    learn(second, second.generations + 1)
    second.trials.points += 1
    second.trials.matches += 1
    second.trees.variants[1].matches += 1
    second._keep()
    third = memory_of(machine, tmp_path).read()
    assert third is not None
    assert third.generations == second.generations > first.generations
    assert first._learner is not None
    assert second._learner is not None
    assert third.matches == first._learner.matches + second._learner.matches
    assert len(third.positions.targets) // 2 == len(second._learner.experience.targets)
    assert len(second._learner.experience.targets) > len(first._learner.experience.targets)
    assert third.trials == (second.trials.points, MOST_REMEMBERED + 1)
    assert third.variants == {"move averages": (0.5, 2), "more exploration": (1.5, 3)}


def test_matches_too_short_for_a_generation_add_up(
    machine_of: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Matches recorded in each add up, until there are enough for an evaluation."""
    machine, play = machine_of(SHEET), LessonTable.play
    stop, played = np.zeros(1, np.uint8), 0

    def play_some(table: LessonTable, *arguments: Any) -> tuple[int, int]:
        nonlocal played
        played += 1
        if played == 160:
            stop[0] = arguments[-1][0] = 1
        return play(table, *arguments)

    monkeypatch.setattr(LessonTable, "play", play_some)
    found: list[tuple[int, int]] = []
    for seed in range(2):
        stop[0] = played = 0
        preparation = Preparation(machine, 0, threads=1, seed=seed, memory=memory_of(machine, tmp_path))
        preparation.run(machine.initial(), 1000.0, stop, trial=False)
        kept = memory_of(machine, tmp_path).read()
        assert kept is not None
        found.append((kept.generations, kept.matches))
    (none, first), (one, both) = found
    assert (none, one) == (0, 1)
    assert 100 < first < 160 < both < 320


def test_lost_trials_of_earlier_matches_are_tried_again(first: Preparation, tmp_path: Path) -> None:
    """They count against alpha-beta at first; more matches may count for it."""
    machine = first._machine
    first.trials.points, first.trials.matches = 0.0, 100
    first._keep()
    second = Preparation(machine, 0, threads=1, seed=2, memory=memory_of(machine, tmp_path))
    assert second.worth_while
    learn(second, first.generations + 1)
    assert second.generations > first.generations
    assert not second.prefers_alpha_beta
    second.trials.points, second.trials.matches = (
        second.trials.points + MOST_REMEMBERED + 1,
        second.trials.matches + MOST_REMEMBERED + 1,
    )
    assert second.prefers_alpha_beta


def test_without_memory_nothing_is_left(first: Preparation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read, either."""

    def fail(*arguments: object) -> None:
        raise AssertionError("no memory is to be used")

    for name in ("read", "write"):
        monkeypatch.setattr(Store, name, fail)
    alone = Preparation(first._machine, 0, threads=1, seed=1)
    learn(alone, 1)
    assert first.evaluation is not None
    assert alone.evaluation is not None
    assert alone.prefers_alpha_beta


def test_only_news_are_written(first: Preparation, tmp_path: Path) -> None:
    """An evaluation only used, or fitted to random play, is not written."""
    machine = first._machine
    (path,) = tmp_path.iterdir()
    written = path.stat().st_ino
    again = Preparation(machine, 0, threads=1, seed=2, memory=memory_of(machine, tmp_path))
    again.run(machine.initial(), 0.0, np.zeros(1, np.uint8))
    assert path.stat().st_ino == written
    path.unlink()
    fresh = Preparation(machine, 0, threads=1, seed=2, memory=memory_of(machine, tmp_path))
    fresh.run(machine.initial(), 0.0, np.zeros(1, np.uint8))
    assert fresh.evaluation is not None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("method", ["read", "write"])
def test_failing_memory_is_no_reason_to_lose(
    first: Preparation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    """It is logged; the match is prepared as without memory."""

    def fail(*arguments: object) -> None:
        raise OSError("no disk")

    monkeypatch.setattr(Store, method, fail)
    preparation = Preparation(first._machine, 0, threads=1, seed=2, memory=memory_of(first._machine, tmp_path))
    learn(preparation, first.generations + 1)
    assert preparation.prefers_alpha_beta
    assert "no disk" in caplog.text


def test_memory_that_does_not_fit_is_replaced(
    first: Preparation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As when the rules were grounded in another way."""
    memory = memory_of(first._machine, tmp_path)
    assert memory._form is not None
    memory._store.write(memory._form.digest, entry())
    preparation = Preparation(first._machine, 0, threads=1, seed=2, memory=memory)
    learn(preparation, 1)
    assert "does not fit" in caplog.text
    found = memory.read()
    assert found is not None
    assert found.generations == preparation.generations


def test_engine_of_a_match_has_the_memory_of_its_rules(own: Compile, tmp_path: Path) -> None:
    """Where the match is played with memory, and only there."""
    machine = own("tic_tac_toe")
    start = Start("m", "x", kif.read_rulesheet(rulesheets.text("tic_tac_toe")), 10, 10)
    assert choice_for(Begin(start, Checkpoint(), None, True, compile=True)) is None
    choose = choice_for(Begin(start, Checkpoint(), None, True, compile=True, memory=tmp_path))
    assert choose is not None
    engine = next(choose(machine, 0))
    assert isinstance(engine, GeneralSearch)
    memory = engine._preparation._recollection._memory
    assert memory is not None
    memory._store.write(DIGESTS[0], entry())
    assert [path.stem for path in tmp_path.iterdir()] == DIGESTS[:1]
