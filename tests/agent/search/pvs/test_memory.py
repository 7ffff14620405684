"""What was learnt in one match helps in the next one, whatever names its rules come with."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent.search.general import GeneralSearch
from agent.search.pvs import features as finding
from agent.search.pvs import memory as memories
from agent.search.pvs import preparation as preparing
from agent.search.pvs.evaluation import LogisticEvaluation
from agent.search.pvs.features import Features, find_features
from agent.search.pvs.learning import Experience, Learner
from agent.search.pvs.lessons import Table
from agent.search.pvs.memory import MAX_FILE, Entry, Positions, SheetMemory, Store
from agent.search.pvs.preparation import Preparation
from agent.search.pvs.tally import NO_MATCHES, Tally
from agent.search.pvs.trial import MOST_REMEMBERED
from agent.worker.choice import choice_for
from agent.worker.messages import Begin, Checkpoint
from games import rulesheets
from games.gdl import canonical
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term
from protocol import kif
from protocol.messages import Start
from tests.agent.search.pvs.sheets import heap
from tests.agent.search.stopping import StopWhen
from tests.games.gdl.disguise import disguised

Compile = Callable[[str], CircuitMachine]
Draw = Callable[[CircuitMachine, int], list[State]]

DIGESTS = [f"{number:040x}" for number in range(1, 9)]


def entry(weight: float = 0.25, weights: int = 3) -> Entry:
    """An entry with so many weights."""
    positions = Positions((5 << 40, 1, 2 << 60), b"\x07\x02", b"\xff\xff\x00\x10", 3)
    return Entry(
        {key << 40: weight for key in range(weights)}, -0.5, 4, 700, Tally(2.5, 4), positions, {"one": Tally(1.5, 3)}
    )


# ---------------------------------------------------------------------------------------------------- the folder


def test_entry_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    """In a folder that is made for it; nothing is known of other rules."""
    store = Store(tmp_path / "a" / "b")
    assert store.read(DIGESTS[0]) is None
    assert not (tmp_path / "a").exists()
    store.write(DIGESTS[0], entry())
    assert store.read(DIGESTS[0]) == entry()
    assert store.read(DIGESTS[1]) is None
    store.write(DIGESTS[0], entry(0.75))
    assert store.read(DIGESTS[0]) == entry(0.75)
    assert len(list((tmp_path / "a" / "b").iterdir())) == 1


def _with(content: bytes, changes: Mapping[str, object]) -> bytes:
    """The entry with other values, and the right checksum."""
    body = json.dumps({**json.loads(content.split(b"\n")[1]), **changes}).encode()
    return sha256(body).hexdigest().encode() + b"\n" + body + b"\n"


NO_POSITIONS = {"keys": ["1"], "facts": "", "targets": "", "fresh": 0}

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "without its end": lambda content: content[:-3],
    "a bit is wrong": lambda content: content[:150] + bytes([content[150] ^ 1]) + content[151:],
    "zeros": lambda content: bytes(len(content)),
    "something else": lambda content: b"PK\x03\x04" + os.urandom(500),
    "no object": lambda content: sha256(b"[]").hexdigest().encode() + b"\n[]\n",
    "other version": lambda content: _with(content, {"version": 0}),
    "other rules": lambda content: _with(content, {"rules": DIGESTS[5]}),
    "no number": lambda content: _with(content, {"weights": {"1": "x"}}),
    "not finite": lambda content: _with(content, {"weights": {"1": float("nan")}}),
    "huge weight": lambda content: _with(content, {"bias": 1e9}),
    "no weights": lambda content: _with(content, {"weights": None}),
    "negative": lambda content: _with(content, {"generations": -1}),
    "more points than matches": lambda content: _with(content, {"points": 5.0}),
    "more of them of a variant": lambda content: _with(content, {"variants": {"a": [3.5, 3]}}),
    "rows of no length": lambda content: _with(content, {"positions": {**NO_POSITIONS, "facts": "AAAA"}}),
    "half a target": lambda content: _with(content, {"positions": {**NO_POSITIONS, "targets": "AA=="}}),
    "no base 64": lambda content: _with(content, {"positions": {**NO_POSITIONS, "facts": "*"}}),
    "no positions": lambda content: _with(content, {"positions": []}),
    "too large": lambda content: content + b" " * MAX_FILE,
    "deep": lambda content: sha256(b"[" * 99_999).hexdigest().encode() + b"\n" + b"[" * 99_999,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_no_entry_is_ignored_and_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    """The log says so, once; the next entry takes its place."""
    store = Store(tmp_path)
    store.write(DIGESTS[0], entry())
    (path,) = tmp_path.iterdir()
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert store.read(DIGESTS[0]) is None
    (record,) = caplog.records
    assert str(path) in record.getMessage()
    store.write(DIGESTS[0], entry(0.5))
    assert store.read(DIGESTS[0]) == entry(0.5)


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    """Whether there are too many entries or too many bytes."""
    store = Store(tmp_path, max_entries=4)
    for age, digest in enumerate(DIGESTS[:4]):
        store.write(digest, entry())
        os.utime(tmp_path / f"{digest}.learnt", (1e9 - age, 1e9 - age))
    assert store.read(DIGESTS[3]) is not None
    store.write(DIGESTS[4], entry())
    assert [store.read(digest) is not None for digest in DIGESTS[:5]] == [True, True, False, True, True]
    size = next(tmp_path.iterdir()).stat().st_size
    for age, digest in enumerate((DIGESTS[3], DIGESTS[4], DIGESTS[0], DIGESTS[1])):
        os.utime(tmp_path / f"{digest}.learnt", (1e9 - age, 1e9 - age))
    store = Store(tmp_path, max_bytes=3 * size)
    store.write(DIGESTS[5], entry())
    assert [number for number in range(8) if store.read(DIGESTS[number])] == [3, 4, 5]
    Store(tmp_path, max_bytes=1).write(DIGESTS[6], entry())
    assert [path.stem for path in tmp_path.iterdir()] == [DIGESTS[6]]


def test_writers_that_died_leave_nothing_for_long(tmp_path: Path) -> None:
    """Their temporary files go; those of writers that may be alive, and files of others, stay."""
    store = Store(tmp_path)
    for name, age in (("dead", 1e5), ("alive", 0)):
        path = tmp_path / f".{name}.learnt"
        path.write_bytes(b"")
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    (tmp_path / "notes.txt").write_bytes(b"")
    store.write(DIGESTS[0], entry())
    assert {path.name for path in tmp_path.iterdir()} == {".alive.learnt", "notes.txt", f"{DIGESTS[0]}.learnt"}


@pytest.mark.parametrize("digest", ["", "../" + DIGESTS[0], DIGESTS[0] + "/x", "X" * 40, DIGESTS[0] + "\n"])
def test_only_digests_are_names_of_files(tmp_path: Path, digest: str) -> None:
    """Nothing else gets near the disk."""
    store = Store(tmp_path / "folder")
    with pytest.raises(ValueError, match="no digest"):
        store.write(digest, entry())
    with pytest.raises(ValueError, match="no digest"):
        store.read(digest)
    assert list(tmp_path.iterdir()) == []


def test_entries_are_whole_whoever_writes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Several write the same entry, and others that push one another out, while it is read."""
    Store(tmp_path).write(DIGESTS[0], entry(0.0))
    errors: list[BaseException] = []

    def write(number: int) -> None:
        try:
            store = Store(tmp_path, max_entries=3)
            for _ in range(40):
                store.write(DIGESTS[0], entry(float(number), weights=200 * number))
                store.write(DIGESTS[number], entry())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        found = Store(tmp_path).read(DIGESTS[0])
        assert found is None or set(found.weights.values()) <= {0.0, 1.0, 2.0, 3.0}
    for thread in threads:
        thread.join()
    assert errors == []
    assert caplog.records == []
    assert len(list(tmp_path.iterdir())) <= 3


# ------------------------------------------------------------------------------------- evaluations of disguised rules


def features_of(
    machine: CircuitMachine, seed: int, known: Callable[[], np.ndarray[Any, np.dtype[np.int32]]] | None = None
) -> Features:
    """Without blockers, which depend on random matches."""
    found = find_features(machine, seed, known)
    none = np.zeros(len(found.first), np.int32)
    return replace(found, blocked_first=none, blocker=np.zeros(0, np.int32))


def experience_of(machine: CircuitMachine, states: Sequence[State]) -> Experience:
    """States with targets that go from 0 to 1."""
    bits = np.unpackbits(np.stack([machine.pack(state) for state in states]).view(np.uint8), axis=1, bitorder="little")
    return Experience(bits[:, : len(machine.game.fluents)] != 0, np.linspace(0, 1, len(states)), 7)


def values(
    machine: CircuitMachine, states: list[State], features: Features, evaluation: LogisticEvaluation
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """What an evaluation says of states."""
    return features.of(experience_of(machine, states).facts) @ evaluation.weights + evaluation.bias


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
    """Of corresponding states the same is said, also by weights of conjunctions, shared or not."""
    monkeypatch.setattr(finding, "MAX_OWN_WEIGHTS", own_weights)
    machine = own(name)
    statements = kif.read_rulesheet(rulesheets.text(name))
    features = features_of(machine, 1)
    assert features.n > features.n_fluents
    assert (len(features.pair) > 0) == (name == "breakthrough")
    evaluation = LogisticEvaluation(np.random.default_rng(1).normal(0, 0.3, features.n), -0.2)
    memory = SheetMemory(Store(tmp_path), statements, machine.roles)
    trials, variants = Tally(1.5, 2), {"one": Tally(0.5, 3), "other": Tally(2.0, 2)}
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
        variants=variants,
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
        assert (found.trials, found.variants) == (trials, variants)
        features2 = features_of(other, 2 + seed, partial(remembering.pairs, found, other.game.fluents))
        remembered = remembering.evaluation(found, other.game.fluents, features2)
        assert remembered is not None
        np.testing.assert_allclose(values(other, others, features2, remembered), expected, atol=1e-4)
        experience, wanted = remembering.experience(found, other.game.fluents), experience_of(other, others)
        assert experience is not None
        assert (experience.facts == wanted.facts).all()
        np.testing.assert_allclose(experience.targets, wanted.targets, atol=1e-4)
        assert experience.fresh == wanted.fresh


def test_facts_that_are_alike_share_their_weight(own: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where names could not be told apart, the mean is kept."""
    machine = own("tic_tac_toe")
    features = features_of(machine, 1)
    form = memories.canonical_form(kif.read_rulesheet(rulesheets.text("tic_tac_toe")), machine.roles)
    assert form is not None
    labels = {**form.labels, "x": "#", "o": "#"}
    monkeypatch.setattr(memories, "canonical_form", lambda *arguments: replace(form, labels=labels))
    memory = SheetMemory(Store(tmp_path), (), machine.roles)
    fluents = machine.game.fluents
    cells = [fluents.index(("cell", place, place, mark)) for place in ("1", "2") for mark in ("x", "o")]
    weights = np.zeros(features.n)
    weights[cells] = 1.0, 2.0, -4.0, 0.0
    none = experience_of(machine, [machine.initial()])
    memory.keep(fluents, features, LogisticEvaluation(weights, 0.0), none, generations=1, matches=1, trials=NO_MATCHES)
    found = memory.read()
    assert found is not None
    evaluation = memory.evaluation(found, fluents, features)
    assert evaluation is not None
    assert evaluation.weights[cells].tolist() == [1.5, 1.5, -2.0, -2.0]
    assert memory.experience(found, fluents) is None


def test_an_entry_that_knows_too_few_facts_does_not_fit(own: Compile, tmp_path: Path) -> None:
    """A few that are new may be; their weights are 0."""
    machine = own("tic_tac_toe")
    fluents, features = machine.game.fluents, features_of(machine, 1)
    memory = SheetMemory(Store(tmp_path), kif.read_rulesheet(rulesheets.text("tic_tac_toe")), machine.roles)
    start = LogisticEvaluation(np.ones(features.n), 0.0)
    states = experience_of(machine, [machine.initial()])
    memory.keep(fluents, features, start, states, generations=1, matches=1, trials=NO_MATCHES)
    found = memory.read()
    assert found is not None
    changed: list[Term] = list(fluents)
    changed[0] = ("unheard", "of")
    evaluation = memory.evaluation(found, changed, features)
    assert evaluation is not None
    experience = memory.experience(found, changed)
    assert experience is not None
    assert not experience.facts[:, 0].any()
    assert (experience.facts[:, 1:] == states.facts[:, 1:]).all()
    assert evaluation.weights[0] == 0.0
    assert set(evaluation.weights[1 : features.n_fluents]) == {1.0}
    changed[: len(changed) // 4] = [("unheard", str(i)) for i in range(len(changed) // 4)]
    assert memory.evaluation(found, changed, features) is None


def test_rules_without_a_canonical_form_are_not_remembered(
    own: Compile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is read or written."""
    monkeypatch.setattr(canonical, "MAX_VERTICES", 20)
    machine = own("tic_tac_toe")
    features = features_of(machine, 1)
    memory = SheetMemory(Store(tmp_path), kif.read_rulesheet(rulesheets.text("tic_tac_toe")), machine.roles)
    start = LogisticEvaluation(np.zeros(features.n), 0.0)
    states = experience_of(machine, [machine.initial()])
    memory.keep(machine.game.fluents, features, start, states, generations=1, matches=1, trials=NO_MATCHES)
    assert memory.read() is None
    assert memory.evaluation(entry(), machine.game.fluents, features) is None
    assert memory.experience(entry(), machine.game.fluents) is None
    assert list(tmp_path.iterdir()) == []


def test_newest_positions_are_kept(own: Compile, random_states: Draw, tmp_path: Path) -> None:
    """As many as there is room for, or as the learner of the next match keeps."""
    machine = own("tic_tac_toe")
    fluents, features = machine.game.fluents, features_of(machine, 1)
    states = random_states(machine, 12)
    whole = experience_of(machine, states)
    memory = SheetMemory(Store(tmp_path), kif.read_rulesheet(rulesheets.text("tic_tac_toe")), machine.roles)
    start = LogisticEvaluation(np.ones(features.n), 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memories, "MAX_FACT_BYTES", 5 * ((len(fluents) + 7) // 8))
        memory.keep(fluents, features, start, whole, generations=0, matches=1, trials=NO_MATCHES)
    found = memory.read()
    assert found is not None
    experience = memory.experience(found, fluents)
    assert experience is not None
    assert (experience.facts == whole.facts[-5:]).all()
    learner = Learner(machine, features, start)
    learner.resume(experience)
    assert (learner.experience.facts == experience.facts).all()
    assert (learner.experience.targets == experience.targets).all()
    assert learner.experience.fresh == 7
    learner._kept = 3
    learner.resume(experience)
    assert (learner.experience.facts == whole.facts[-3:]).all()
    assert len(learner.experience.targets) == 3


# ----------------------------------------------------------------------------------------------- match after match

SHEET = heap(13)


def memory_of(machine: CircuitMachine, folder: Path) -> SheetMemory:
    """The memory of `SHEET`."""
    return SheetMemory(Store(folder), kif.read_rulesheet(SHEET), machine.roles)


def learn(preparation: Preparation, generations: int) -> None:
    """Prepares until so many evaluations were learnt."""
    machine = preparation._machine
    with StopWhen(lambda: preparation.generations >= generations) as stop:
        preparation.run(machine.initial(), 1000.0, stop.flag, trial=False)


@pytest.fixture
def first(machine_of: Compile, tmp_path: Path) -> Preparation:
    """The preparation of a first match, with an evaluation learnt and trial matches played."""
    preparation = Preparation(machine_of(SHEET), 0, threads=1, seed=1, memory=memory_of(machine_of(SHEET), tmp_path))
    preparation.trials.points, preparation.trials.matches = 30.0, 40
    for points, variant in enumerate(preparation.trees.variants):
        variant.recall(Tally(points + 0.5, 2))
    learn(preparation, 1)
    return preparation


def test_second_match_begins_with_what_the_first_has_learnt(
    first: Preparation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, without a fit to random play; it learns on, and what it adds is there for the third."""
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
    """What each of them records is there for the next one, until there is enough for an evaluation."""
    machine, play = machine_of(SHEET), Table.play
    stop, played = np.zeros(1, np.uint8), 0

    def play_some(table: Table, *arguments: Any) -> tuple[int, int]:
        nonlocal played
        played += 1
        if played == 160:
            stop[0] = arguments[-1][0] = 1
        return play(table, *arguments)

    monkeypatch.setattr(Table, "play", play_some)
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
    """They speak against alpha-beta at first; more matches may speak for it."""
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
    """Nor read: what is not asked for does not happen."""

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
    """An evaluation that was only used, or one fitted to random play, is no reason to write."""
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
    """The log says what is wrong; the match is prepared as without."""

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
    """As when the rules are grounded in another way than they were."""
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
