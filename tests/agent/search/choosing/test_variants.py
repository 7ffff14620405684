"""Trial matches of variants of tree search: points, ends and consequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from agent.search.choosing import preparation as preparing
from agent.search.choosing import tree_choice
from agent.search.choosing import trial as trying
from agent.search.choosing import variants as module
from agent.search.choosing.general import GeneralSearch
from agent.search.choosing.preparation import Preparation
from agent.search.choosing.trial import MATCHES_IN_TIME, TRIAL_SECONDS, Trials
from agent.search.choosing.variants import (
    LEAD,
    MANY_MATCHES,
    MORE,
    MORE_EXPLORATION,
    MOST_BEHIND,
    MOST_LEAD,
    MOVE_AVERAGES,
    Variant,
    VariantTrials,
)
from agent.search.engine import Engine, Limit
from agent.search.evaluation.fit import LinearEvaluation
from agent.search.tree.engine import TreeSearch
from agent.search.tree.move_averages import DRAWS
from games.gdl.running.machine import CircuitMachine
from tests.circuits import Compile

Share = Callable[[int], float | None]

GO = np.zeros(1, np.uint8)


def new_tree(machine: CircuitMachine, role: int = 0) -> TreeSearch:
    """A tree search with little memory."""
    return TreeSearch(machine, role, threads=1, memory_bytes=1 << 20, seed=3)


def weights(engine: Engine) -> list[float]:
    """The exploration weights of a tree search."""
    assert isinstance(engine, TreeSearch)
    return list(engine._parameters.exploration)


def draws(engine: Engine) -> list[int]:
    """The numbers of moves that playouts of a tree search draw."""
    assert isinstance(engine, TreeSearch)
    return engine._parameters.draws.tolist()


def is_changed(engine: Engine) -> bool:
    """Whether a tree search uses a variant."""
    plain = weights(new_tree(engine.machine))  # type: ignore[attr-defined]
    return weights(engine) != plain or draws(engine) != [1, 1]


class Decided:
    """Stands in for `TrialMatch`: a match with a scripted share for the role that uses the variant."""

    void = False

    def __init__(self, share: Share) -> None:
        self._share = share
        self.roles: list[int] = []

    def __call__(
        self, machine: object, root: object, engines: Sequence[Engine], seconds: float, random: object
    ) -> Decided:
        (role,) = (role for role, engine in enumerate(engines) if is_changed(engine))
        self.roles.append(role)
        return self

    def play(self, stop: object) -> float | None:
        """The first engine's share."""
        share = self._share(len(self.roles))
        return share if share is None or self.roles[-1] == 0 else 1 - share


def make_trials(machine: CircuitMachine, variant: Variant, threads: int = 1) -> VariantTrials:
    """Trials of a variant against plain tree search."""
    return VariantTrials(
        machine, variant, lambda role, random: new_tree(machine, role), threads=threads, random=Random(1)
    )


@pytest.fixture(params=[MORE_EXPLORATION, MOVE_AVERAGES], ids=lambda variant: variant.name)
def trials(own: Compile, request: pytest.FixtureRequest) -> VariantTrials:
    """Trials in tic-tac-toe, one match after the other."""
    return make_trials(own("tic_tac_toe"), request.param)


@pytest.mark.parametrize(
    ("share", "matches", "lead", "used"),
    [
        (1.0, int(MOST_LEAD), MOST_LEAD, True),
        (0.0, int(MOST_BEHIND), -MOST_BEHIND, False),
        (0.5, MANY_MATCHES, 0.0, False),
    ],
)
def test_ends_as_soon_as_it_is_clear(
    trials: VariantTrials, monkeypatch: pytest.MonkeyPatch, share: float, matches: int, lead: float, used: bool
) -> None:
    """Both roles use the variant by turns; its points decide."""
    match = Decided(lambda n: share)
    monkeypatch.setattr(module, "TrialMatch", match)
    assert trials.undecided
    trials.play(0.01, GO)
    assert match.roles == [0, 1] * (matches // 2) + [0] * (matches % 2)
    assert (trials.matches, trials.lead, trials.used) == (matches, lead, used)
    assert not trials.undecided
    trials.play(0.01, GO)
    assert trials.matches == matches


def test_what_is_likely_is_used_meanwhile(trials: VariantTrials) -> None:
    """A lead as after two won matches is enough until more is known."""
    trials.points, trials.matches = 2.0, 2
    assert trials.lead == LEAD
    assert (trials.used, trials.undecided) == (True, True)
    trials.matches = 3
    assert (trials.used, trials.undecided) == (False, True)


def test_interrupted_match_goes_on(trials: VariantTrials, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts when it ends, for the role that used the variant in it."""
    stop = np.zeros(1, np.uint8)

    def interrupted(n: int) -> None:
        stop[0] = 1

    match = Decided(interrupted)
    monkeypatch.setattr(module, "TrialMatch", match)
    trials.play(0.01, stop)
    assert (len(match.roles), trials.matches) == (1, 0)
    match._share = lambda n: 0.0
    trials.play(0.01, GO)
    assert (len(match.roles), trials.matches) == (MOST_BEHIND, MOST_BEHIND)


def test_real_matches_end(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """On two threads."""
    monkeypatch.setattr(module, "MANY_MATCHES", 2)
    trials = make_trials(own("tic_tac_toe"), MOVE_AVERAGES, threads=2)
    trials.play(0.01, GO)
    assert trials.matches >= 2
    assert 0 <= trials.points <= trials.matches


def test_weights_are_those_of_the_factor(own: Compile) -> None:
    """Before and after goals of random play, or an evaluation, have scaled them; and back again."""
    machine = own("connect_four")
    plain, much = (new_tree(machine) for _ in range(2))
    much.explore(MORE)
    evaluation = LinearEvaluation(
        np.zeros((len(machine.game.fluents), 2), np.float32), np.full(2, 0.5), np.full(2, 0.2), 0.0, 20.0
    )
    for _ in range(2):
        assert weights(much) == pytest.approx([MORE * weight for weight in weights(plain)])
        for engine in (plain, much):
            engine._scheduler.scale_exploration(GO)
        assert weights(much) == pytest.approx([MORE * weight for weight in weights(plain)])
        for engine in (plain, much):
            engine._scheduler._use(evaluation)
    much.explore(1.0)
    assert weights(much) == pytest.approx(weights(plain))


@pytest.mark.parametrize(("left", "expected"), [(100.0, 0.1), (10.0, 0.05), (6.0, TRIAL_SECONDS), (2.0, 0.0)])
def test_time_for_a_move(own: Compile, monkeypatch: pytest.MonkeyPatch, left: float, expected: float) -> None:
    """Tree search's need if time permits, less for more matches, 0 without time for two."""
    trials = Trials(own("tic_tac_toe"), Mock(), Mock(), threads=1, random=Random(1))
    monkeypatch.setattr(trials, "_time_to_search", lambda stop, seconds: 0.1)
    monkeypatch.setattr(trying, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    trials.plies = 50.0
    found = trials.time_for_a_move(4, 1000.0 + left, GO)
    assert found == pytest.approx(expected)
    assert found == 0.0 or MATCHES_IN_TIME * trials.plies * found <= left


def prepare(own: Compile, monkeypatch: pytest.MonkeyPatch, lost: bool) -> tuple[Preparation, list[str]]:
    """Prepares for tic-tac-toe after alpha-beta lost its trials, or not; returns the variants tried."""
    monkeypatch.setattr(preparing, "FIT_SHARE", 0.0)
    monkeypatch.setattr(preparing.Learner, "run", lambda self, root, stop: None)
    monkeypatch.setattr(tree_choice, "gain_by_averages", lambda *arguments: 0.0)
    preparation = Preparation(own("tic_tac_toe"), 0, threads=1, seed=4)
    played: list[str] = []
    for one in preparation.trees.variants:
        name = one.variant.name
        monkeypatch.setattr(one, "play", lambda seconds, stop, name=name: played.append(name))
    preparation.trials.points, preparation.trials.matches = (0.0 if lost else 8.0), 8
    monkeypatch.setattr(preparation.trials, "_time_to_search", lambda stop, seconds: 0.04)
    preparation.run(preparation._machine.initial(), 1000.0, GO)
    return preparation, played


def test_only_where_tree_search_plays(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then also while others think, by turns, as long as they are undecided."""
    preparation, played = prepare(own, monkeypatch, lost=False)
    assert (played, preparation.prefers_alpha_beta, preparation.undecided) == ([], True, False)
    preparation, played = prepare(own, monkeypatch, lost=True)
    names = [one.variant.name for one in preparation.trees.variants]
    assert played == names
    assert preparation.undecided
    for _ in names:
        preparation.improve(GO)
    assert played == 2 * names
    for n, one in enumerate(preparation.trees.variants, 1):
        one.matches = int(MOST_BEHIND)
        assert preparation.undecided == (n < len(names))


def test_the_tree_is_searched_with_what_was_found(own: Compile) -> None:
    """From tree search's next turn on, and in all later trial matches."""
    machine = own("connect_four")
    search = GeneralSearch(machine, 0, threads=1, seed=1, memory_bytes=1 << 20)
    search._preparation.suits = False
    search.begin(machine.initial())
    for one in search._preparation.trees.variants:
        one.points, one.matches = 2.0, 2
    stop = np.zeros(1, np.uint8)

    def halt(opinion: object) -> None:
        stop[0] = 1

    search.think(stop, halt, Limit(1.0))
    assert draws(search._tree) == [DRAWS, DRAWS]
    used = weights(search._tree)
    search._tree.explore(1.0)
    assert used == pytest.approx([MORE * weight for weight in weights(search._tree)])
    assert is_changed(search._preparation.trees.make(0, Random(1)))
