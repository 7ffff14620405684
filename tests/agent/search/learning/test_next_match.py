"""Learning from one match to the next. Choices are in `tests/agent/search/choosing/test_choice.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.playing.choice import choice_for
from agent.playing.messages import Begin, Checkpoint
from agent.search.choosing import preparation as preparing
from agent.search.choosing.preparation import Preparation
from agent.search.engine import StopFlag
from agent.search.learning import learner as learning
from agent.search.learning.episodes import Episode, SelfPlay
from agent.search.learning.memory import MemoryEntry, SheetMemory, Store
from games import rulesheets
from games.gdl.running.machine import CircuitMachine
from protocol import kif
from protocol.messages import Start
from tests.agent.search.learning.remembering import entry
from tests.agent.search.pvs.sheets import heap
from tests.agent.search.stopping import StopWhen
from tests.circuits import Compile

SHEET = heap(13)


@pytest.fixture
def machine(machine_of: Compile, monkeypatch: pytest.MonkeyPatch) -> CircuitMachine:
    """A small game, whose evaluations come from few matches."""
    monkeypatch.setattr(learning, "MATCHES", 64)
    monkeypatch.setattr(learning, "GATE", 8)
    return machine_of(SHEET)


def memory_of(machine: CircuitMachine, folder: Path) -> SheetMemory:
    """The memory of `SHEET`."""
    return SheetMemory(Store(folder), kif.read_rulesheet(SHEET), machine.roles)


def kept(machine: CircuitMachine, folder: Path) -> MemoryEntry:
    """What is remembered."""
    found = memory_of(machine, folder).read()
    assert found is not None
    return found


def learn(machine: CircuitMachine, folder: Path) -> Preparation:
    """A preparation with a new evaluation, or more; then it is stopped."""
    preparation = Preparation(machine, threads=1, seed=1, memory=memory_of(machine, folder))
    preparation.run(machine.initial(), 0.0, np.zeros(1, np.uint8), trial=False)
    before = preparation.generations
    with StopWhen(lambda: preparation.generations > before) as stop:
        preparation.run(machine.initial(), 1000.0, stop.flag, trial=False)
    return preparation


def test_second_match_goes_on_with_what_the_first_has_learnt(
    machine: CircuitMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a fit to random play; evaluations, matches and positions of both are there for the third."""
    first = learn(machine, tmp_path)
    before = kept(machine, tmp_path)
    assert first.evaluation is not None
    assert (before.generations, before.matches) == (first.generations, first.matches)
    monkeypatch.setattr(preparing, "imitate_random_play", None)
    second = Preparation(machine, threads=1, seed=2, memory=memory_of(machine, tmp_path))
    second.run(machine.initial(), 0.0, np.zeros(1, np.uint8))
    assert second.evaluation is not None
    np.testing.assert_allclose(second.evaluation.weights, first.evaluation.weights, rtol=1e-5)
    assert second.evaluation.bias == first.evaluation.bias
    assert second.prefers_alpha_beta
    second = learn(machine, tmp_path)
    after = kept(machine, tmp_path)
    assert after.generations == second.generations > before.generations
    assert after.matches == before.matches + second.matches
    assert len(after.targets) > len(before.targets)


def test_matches_too_short_for_a_generation_add_up(
    machine: CircuitMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is recorded in each adds up, until there is enough for an evaluation."""
    record = SelfPlay.record

    def record_some(table: SelfPlay, root: Any, depth: int, stop: StopFlag) -> Episode | None:
        episode = record(table, root, depth, stop)
        recorded.append(episode)
        flag[0] |= stop[0] | (len(recorded) >= 40)
        stop[0] = flag[0]
        return episode

    monkeypatch.setattr(SelfPlay, "record", record_some)
    found: list[tuple[int, int]] = []
    for _ in range(2):
        recorded: list[Episode | None] = []
        flag = np.zeros(1, np.uint8)
        preparation = Preparation(machine, threads=1, seed=1, memory=memory_of(machine, tmp_path))
        preparation.run(machine.initial(), 1000.0, flag, trial=False)
        found.append((kept(machine, tmp_path).generations, kept(machine, tmp_path).matches))
    (none, first), (one, both) = found
    assert (none, one) == (0, 1)
    assert first < 64 <= both


def test_memory_that_does_not_fit_is_replaced(
    machine: CircuitMachine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As when the rules were grounded in another way."""
    learn(machine, tmp_path)
    (path,) = tmp_path.iterdir()
    Store(tmp_path).write(path.stem, entry())
    preparation = learn(machine, tmp_path)
    assert "does not fit" in caplog.text
    assert kept(machine, tmp_path).generations == preparation.generations


def test_engine_of_a_match_has_the_memory_of_its_rules(
    own: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the match is played with memory, and only there."""
    made: list[SheetMemory] = []
    monkeypatch.setattr("agent.search.choosing.general.GeneralSearch", lambda *given, memory, team: made.append(memory))
    start = Start("m", "x", kif.read_rulesheet(rulesheets.text("tic_tac_toe")), 10, 10)
    for memory in (None, tmp_path):
        choose = choice_for(Begin(start, Checkpoint(), None, True, compile=True, memory=memory))
        next(choose(own("tic_tac_toe"), 0))
    assert made.pop(0) is None
    assert made[0].read() is None
    features = preparing.find_features(own("tic_tac_toe"))
    assert made[0].evaluation(entry(), own("tic_tac_toe").game.fluents, features) is None
    assert not list(tmp_path.iterdir())
