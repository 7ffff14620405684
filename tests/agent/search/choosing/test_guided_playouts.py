"""The gain of choosing by move averages in playouts, and its consequences."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from agent.search.choosing import guided_playouts, tree_choice
from agent.search.choosing.guided_playouts import gain_by_averages
from agent.search.choosing.preparation import Preparation
from agent.search.choosing.tree_choice import GAIN_PRIOR, GAIN_SECONDS, LEAST_GAIN_SECONDS, MUCH_GAIN, TreeChoice
from agent.search.choosing.variants import MOVE_AVERAGES, VariantTrials
from agent.search.engine import Limit, StopFlag
from agent.search.tree.engine import TreeSearch
from games.gdl.running.machine import CircuitMachine
from tests.circuits import Compile

GO = np.zeros(1, np.uint8)


def searches(machine: CircuitMachine) -> Callable[[int, Random], TreeSearch]:
    """A maker of tree searches of a game."""
    return lambda role, random: TreeSearch(
        machine, role, threads=1, memory_bytes=1 << 22, judging=False, seed=random.getrandbits(63)
    )


def test_who_chooses_by_averages_is_ahead(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of all in a race: advancing the foremost pawn wins more often. A second is 4000 playouts."""
    machine = own("breakthrough")

    def consider(tree: TreeSearch, legal: object, limit: Limit, stop: StopFlag) -> None:
        assert limit.seconds is not None
        tree.think(stop, lambda opinion: None, Limit(nodes=round(4000 * limit.seconds)))

    monkeypatch.setattr(guided_playouts, "consider", consider)
    gain = gain_by_averages(searches(machine), machine.initial(), 1.0, GO, Random(1))
    assert gain is not None
    assert 0.2 < gain <= 1.0


def test_nothing_is_known_when_stopped(own: Compile) -> None:
    """Nor without time."""
    machine = own("connect_four")
    assert gain_by_averages(searches(machine), machine.initial(), 1.0, np.ones(1, np.uint8), Random(1)) is None
    assert gain_by_averages(searches(machine), machine.initial(), 0.0, GO, Random(1)) is None


def averages(trees: TreeChoice) -> VariantTrials:
    """The trials of move averages."""
    return next(one for one in trees.variants if one.variant is MOVE_AVERAGES)


@pytest.mark.parametrize(("gain", "used"), [(MUCH_GAIN, True), (MUCH_GAIN - 0.01, False), (None, False)])
def test_much_gain_is_enough_to_begin_with(
    own: Compile, monkeypatch: pytest.MonkeyPatch, gain: float | None, used: bool
) -> None:
    """Until more than one match is lost; measured once, and again where there was no result."""
    asked: list[float] = []

    def found(make: object, state: object, seconds: float, stop: object, random: object) -> float | None:
        asked.append(seconds)
        return gain

    monkeypatch.setattr(tree_choice, "gain_by_averages", found)
    trees = TreeChoice(own("connect_four"), threads=1, random=Random(1))
    trees.expect(1000 * GAIN_SECONDS, GO)
    assert asked == [GAIN_SECONDS]
    assert averages(trees).used == used
    assert averages(trees).prior == (GAIN_PRIOR if used else 0.0)
    trees.expect(0.9 * LEAST_GAIN_SECONDS, GO)
    assert len(asked) == 1
    trees.expect(1000 * GAIN_SECONDS, GO)
    assert len(asked) == 1 + (gain is None)
    if used:
        averages(trees).matches = 1
        assert averages(trees).used
        averages(trees).matches = 2
        assert not averages(trees).used


@pytest.mark.parametrize("alpha_beta", [True, False])
def test_asked_where_tree_search_plays(own: Compile, monkeypatch: pytest.MonkeyPatch, alpha_beta: bool) -> None:
    """An evaluation needs no playouts."""
    asked: list[float] = []

    def found(make: object, state: object, seconds: float, stop: object, random: object) -> float:
        asked.append(seconds)
        return MUCH_GAIN

    monkeypatch.setattr(tree_choice, "gain_by_averages", found)
    monkeypatch.setattr(Preparation, "prefers_alpha_beta", alpha_beta)
    preparation = Preparation(own("connect_four"), 0, threads=1, seed=1)
    preparation.suits = False
    preparation.run(preparation._machine.initial(), 1000 * GAIN_SECONDS, GO, trial=False)
    assert bool(asked) == averages(preparation.trees).used == (not alpha_beta)
