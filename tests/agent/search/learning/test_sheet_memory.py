"""Memory of a game whose rules come with other names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.record.positions import from_position
from agent.search.evaluation import features as finding
from agent.search.evaluation.features import Features, find_features
from agent.search.evaluation.network import MOVERS, NetworkEvaluation, linear_evaluation
from agent.search.learning import canonical
from agent.search.learning import memory as memories
from agent.search.learning.learner import Experience, Learner
from agent.search.learning.memory import MemoryEntry, SheetMemory, Store
from games import rulesheets
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term
from protocol import kif
from tests.agent.search.features import plain_features
from tests.agent.search.learning.remembering import entry
from tests.agent.search.pvs.plain import random_evaluation
from tests.circuits import Compile
from tests.games.gdl.disguise import disguised

Draw = Callable[[CircuitMachine, int], list[State]]


def features_of(
    machine: CircuitMachine, known: Callable[[], np.ndarray[Any, np.dtype[np.int32]]] | None = None
) -> Features:
    """Without blockers, which depend on random matches."""
    found = find_features(machine, known)
    none = np.zeros(len(found.first), np.int32)
    return replace(found, blocked_first=none, blocker=np.zeros(0, np.int32))


def experience_of(machine: CircuitMachine, states: Sequence[State]) -> Experience:
    """States with targets that go from 0 to 1."""
    bits = np.unpackbits(np.stack([machine.pack(state) for state in states]).view(np.uint8), axis=1, bitorder="little")
    movers = (np.arange(len(states)) % MOVERS).astype(np.int8)
    return Experience(bits[:, : len(machine.game.fluents)] != 0, movers, np.linspace(0, 1, len(states)), 7)


def values(
    machine: CircuitMachine, states: list[State], features: Features, evaluation: NetworkEvaluation
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The evaluations of states."""
    odds: np.ndarray[tuple[int], np.dtype[np.float64]]
    given = experience_of(machine, states)
    sums = evaluation.base + plain_features(features, given.facts) @ evaluation.rows
    outputs = evaluation.outputs[given.movers]
    odds = sums[:, 0] + outputs[:, 0] + (np.clip(sums[:, 1:], 0, 1) * outputs[:, 1:]).sum(axis=1)
    return odds


@pytest.mark.parametrize("own_weights", [finding.MAX_OWN_WEIGHTS, 0], ids=["own weights", "shared weights"])
@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "breakthrough"])
def test_evaluation_survives_scrambling(
    own: Compile,
    machine_of: Compile,
    random_states: Draw,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    own_weights: int,
) -> None:
    """Corresponding states have equal evaluations, also with weights of conjunctions, shared or not."""
    monkeypatch.setattr(finding, "MAX_OWN_WEIGHTS", own_weights)
    machine = own(name)
    statements = kif.read_rulesheet(rulesheets.text(name))
    features = features_of(machine)
    assert features.n > features.n_fluents
    assert (len(features.pair) > 0) == (name == "breakthrough")
    evaluation = random_evaluation(features, np.random.default_rng(1))
    memory = SheetMemory(Store(tmp_path), statements, machine.roles)
    trials = (1.5, 2)
    states = random_states(machine, 40)
    known = experience_of(machine, states)
    memory.keep(
        machine.game.fluents,
        features,
        evaluation,
        known,
        generations=3,
        matches=800,
        trials=trials,
    )
    expected = values(machine, states, features, evaluation)
    assert expected.std() > 0.1
    for seed in range(2):
        disguise, roles = disguised(statements, machine.roles, "ggp-base", seed)
        other = machine_of("\n".join(map(kif.write, disguise)))
        facts: list[Term] = [fact for state in states for fact in sorted(machine.facts(state), key=str)]
        _, scrambled = disguised(statements, facts, "ggp-base", seed)
        renamed = dict(zip(facts, scrambled, strict=True))
        others = [other.state({renamed[fact] for fact in machine.facts(state)}) for state in states]
        remembering = SheetMemory(Store(tmp_path), disguise, roles)
        found = remembering.read()
        assert found is not None
        assert (found.generations, found.matches) == (3, 800)
        assert found.trials == trials
        features2 = features_of(other, partial(remembering.pairs, found, other.game.fluents))
        remembered = remembering.evaluation(found, other.game.fluents, features2)
        assert remembered is not None
        np.testing.assert_allclose(values(other, others, features2, remembered), expected, atol=1e-4)
        experience, wanted = remembering.experience(found, other.game.fluents), experience_of(other, others)
        assert experience is not None
        assert (experience.facts == wanted.facts).all()
        assert (experience.movers == wanted.movers).all()
        np.testing.assert_allclose(experience.targets, wanted.targets, atol=1e-4)
        assert experience.fresh == wanted.fresh


def test_other_positions_inherit_what_was_learnt(own: Compile, machine_of: Compile, tmp_path: Path) -> None:
    """A match that begins in the middle of another one, scrambled anew, has its evaluation, but no trial matches.

    States are worth the same, the marks that stay included. Its own entry, once there is one, comes first.
    """
    machine = own("tic_tac_toe")
    statements = kif.read_rulesheet(rulesheets.text("tic_tac_toe"))
    features = features_of(machine)
    fluents = machine.game.fluents
    weights = np.where(np.arange(features.n) < len(fluents), np.random.default_rng(1).normal(0, 0.3, features.n), 0.0)
    trials, none = (1.5, 2), experience_of(machine, [machine.initial()])
    memory = SheetMemory(Store(tmp_path), statements, machine.roles)
    kept: Any = {"generations": 3, "matches": 800, "trials": trials}
    memory.keep(fluents, features, linear_evaluation(weights, -0.2), none, **kept)
    state = machine.initial()
    for number, place in enumerate((("2", "2"), ("1", "1"), ("3", "1"))):
        moves: list[Term] = ["noop", "noop"]
        moves[number % 2] = ("mark", *place)
        state = machine.next(state, moves)
    begun = from_position(statements, machine.facts(state))
    assert begun is not None
    disguise, roles = disguised(begun, machine.roles, "ggp-base", 5)
    later = machine_of("\n".join(map(kif.write, disguise)))
    inheriting = SheetMemory(Store(tmp_path), disguise, roles)
    found = inheriting.read()
    assert found is not None
    assert (found.generations, found.trials) == (3, (0.0, 0))
    later_features = features_of(later, partial(inheriting.pairs, found, later.game.fluents))
    evaluation = inheriting.evaluation(found, later.game.fluents, later_features, later.game.always)
    assert evaluation is not None
    expected = values(machine, [state], features, linear_evaluation(weights, -0.2))
    assert values(later, [later.initial()], later_features, evaluation) == pytest.approx(expected, abs=1e-4)
    kept["generations"] = 7
    none = experience_of(later, [later.initial()])
    inheriting.keep(later.game.fluents, later_features, evaluation, none, **kept)
    for each, generations in ((inheriting, 7), (memory, 3)):
        entry = each.read()
        assert entry is not None
        assert (entry.generations, entry.trials) == (generations, trials)


@pytest.fixture
def memory(own: Compile, tmp_path: Path) -> SheetMemory:
    """The memory of tic-tac-toe."""
    return SheetMemory(Store(tmp_path), kif.read_rulesheet(rulesheets.text("tic_tac_toe")), ("x", "o"))


def keep(
    memory: SheetMemory, machine: CircuitMachine, weights: Callable[[Features], Any], states: Sequence[State] = ()
) -> tuple[Features, Experience]:
    """Keeps an evaluation with these weights, and positions."""
    features, known = features_of(machine), experience_of(machine, states or [machine.initial()])
    evaluation = linear_evaluation(weights(features), 0.0)
    memory.keep(machine.game.fluents, features, evaluation, known, generations=1, matches=1, trials=(0.0, 0))
    return features, known


def ones(features: Features) -> np.ndarray[Any, np.dtype[np.float64]]:
    """All weights are one."""
    return np.ones(features.n)


def kept(memory: SheetMemory) -> MemoryEntry:
    """What is remembered."""
    found = memory.read()
    assert found is not None
    return found


def test_rules_that_differ_in_more_than_positions_inherit_nothing(
    own: Compile, memory: SheetMemory, tmp_path: Path
) -> None:
    """Nor do first positions with names of their own: they say what the other rules do not."""
    keep(memory, own("tic_tac_toe"), ones)
    text = rulesheets.text("tic_tac_toe")
    for other in (text.replace("(goal ?role 50)", "(goal ?role 60)"), text + "(init (seed apple))"):
        assert SheetMemory(Store(tmp_path), kif.read_rulesheet(other), ("x", "o")).read() is None


def test_facts_that_are_alike_share_their_weight(own: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts whose names could not be told apart keep the mean."""
    machine = own("tic_tac_toe")
    form = memories.canonical_form(kif.read_rulesheet(rulesheets.text("tic_tac_toe")), machine.roles)
    assert form is not None
    labels = {**form.labels, "x": "#", "o": "#"}
    monkeypatch.setattr(memories, "canonical_form", lambda *arguments: replace(form, labels=labels))
    memory = SheetMemory(Store(tmp_path), (), machine.roles)
    fluents = machine.game.fluents
    cells = [fluents.index(("cell", place, place, mark)) for place in ("1", "2") for mark in ("x", "o")]

    def weights(features: Features) -> np.ndarray[Any, np.dtype[np.float64]]:
        found = np.zeros(features.n)
        found[cells] = 1.0, 2.0, -4.0, 0.0
        return found

    features, _ = keep(memory, machine, weights)
    evaluation = memory.evaluation(kept(memory), fluents, features)
    assert evaluation is not None
    assert evaluation.weights[cells].tolist() == [1.5, 1.5, -2.0, -2.0]
    assert memory.experience(kept(memory), fluents) is None


def test_an_entry_that_knows_too_few_facts_does_not_fit(own: Compile, memory: SheetMemory) -> None:
    """A few new facts are allowed; their weights are 0."""
    features, states = keep(memory, own("tic_tac_toe"), ones)
    changed: list[Term] = list(own("tic_tac_toe").game.fluents)
    changed[0] = ("unheard", "of")
    evaluation, experience = (
        memory.evaluation(kept(memory), changed, features),
        memory.experience(kept(memory), changed),
    )
    assert evaluation is not None
    assert experience is not None
    assert not experience.facts[:, 0].any()
    assert (experience.facts[:, 1:] == states.facts[:, 1:]).all()
    assert evaluation.weights[0] == 0.0
    assert set(evaluation.weights[1 : features.n_fluents]) == {1.0}
    changed[: len(changed) // 4] = [("unheard", str(i)) for i in range(len(changed) // 4)]
    assert memory.evaluation(kept(memory), changed, features) is None


def test_rules_without_a_canonical_form_are_not_remembered(
    own: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Nothing is read or written."""
    monkeypatch.setattr(canonical, "MAX_VERTICES", 20)
    memory: SheetMemory = request.getfixturevalue("memory")
    features, _ = keep(memory, own("tic_tac_toe"), ones)
    assert memory.read() is None
    assert memory.evaluation(entry(), own("tic_tac_toe").game.fluents, features) is None
    assert memory.experience(entry(), own("tic_tac_toe").game.fluents) is None
    assert list(tmp_path.iterdir()) == []


def test_newest_positions_are_kept(own: Compile, random_states: Draw, memory: SheetMemory) -> None:
    """As many as fit; the next match's learner goes on with them."""
    machine = own("tic_tac_toe")
    fluents = machine.game.fluents
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memories, "MAX_FACT_BYTES", 5 * ((len(fluents) + 7) // 8))
        features, whole = keep(memory, machine, ones, random_states(machine, 12))
    experience = memory.experience(kept(memory), fluents)
    assert experience is not None
    assert (experience.facts == whole.facts[-5:]).all()
    learner = Learner(machine, features, linear_evaluation(ones(features), 0.0))
    learner.resume(experience)
    assert (learner.experience.facts == experience.facts).all()
    assert learner.experience.targets == pytest.approx(experience.targets)
    assert learner.experience.fresh == 7
