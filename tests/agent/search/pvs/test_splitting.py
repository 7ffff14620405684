"""Alpha-beta with helpers: shared entries, root moves searched elsewhere, and errors that must not follow."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.search.alphabeta.table import read_entries
from agent.search.engine import UNLIMITED, Opinion, StopFlag
from agent.search.evaluation.network import WIN, linear_evaluation
from agent.search.pvs.analysis import PvsSearcher, PvsVerdict, SearchProgress
from agent.search.pvs.engine import AlphaBetaSearch
from agent.search.pvs.splitting import (
    ENGINE,
    Findings,
    Guide,
    RootSplitting,
    SplitAssistant,
    make_setting,
    newest_entries,
    write_entries,
)
from agent.search.pvs.table import DEPTH_AT, EXACT, KIND_AT, LOWER, UPPER, depth_of, kind_of, value_of
from agent.search.pvs.workspace import RECENT, SHARED_DEPTH
from games.gdl.running.machine import CircuitMachine
from games.machine import State
from tests.agent.search.features import features_of
from tests.agent.search.pvs.plain import Plain, new_searcher
from tests.agent.search.pvs.sheets import heap
from tests.agent.search.stopping import StopWhen
from tests.agent.search.teams import AssistedTeam, CannedTeam
from tests.agent.search.thinking import opinions_of
from tests.circuits import Compile

States = Callable[[CircuitMachine, int], list[State]]

NO_STOP = np.zeros(1, np.uint8)


def assisted(machine: CircuitMachine, role: int, team: CannedTeam) -> AlphaBetaSearch:
    """An engine with a small random evaluation."""
    features = features_of(machine)
    engine = AlphaBetaSearch(machine, role, features, threads=1, megabytes=1, team=team)
    engine.use(linear_evaluation(np.random.default_rng(1).normal(0, 0.05, features.n), 0.0))
    return engine


def assistant_of(machine: CircuitMachine, rank: int = 0) -> SplitAssistant:
    """A helper's search of the first state, with the same evaluation."""
    features = features_of(machine)
    evaluation = linear_evaluation(np.random.default_rng(1).normal(0, 0.05, features.n), 0.0)
    setting = pickle.loads(pickle.dumps(make_setting(features, evaluation, new_searcher(machine, 1).game.zobrist)))
    assistant = setting.assistant(machine, 0, rank)
    assert isinstance(assistant, SplitAssistant)
    assistant.begin(machine.initial())
    return assistant


def test_entries_of_one_search_answer_another(own: Compile) -> None:
    """One search's entries spare another its work: an iteration of the same depth looks at next to nothing."""
    machine = own("connect_four")
    first, second = new_searcher(machine, 1), new_searcher(machine, 1)
    root = machine.pack(machine.initial())
    order = first.place(root)
    assert second.place(root) == order
    score = first.iterate(list(order), 5, NO_STOP)
    entries = read_entries(first.game.table, first.root_keys)
    assert (entries != 0).sum() >= len(order)
    write_entries(second, second.root_keys, entries)
    assert np.array_equal(read_entries(second.game.table, second.root_keys) != 0, entries != 0)
    before = second.nodes
    assert second.iterate(list(order), 5, NO_STOP) == score
    assert second.nodes - before < (first.nodes - before) / 10


def test_entries_below_the_roots_children_are_told(own: Compile) -> None:
    """The newest ones of some depth: these alone shorten a search of another move's subtree."""
    machine = own("connect_four")
    first, second, alone = (new_searcher(machine, 1) for _ in range(3))
    root = machine.pack(machine.initial())
    for searcher in (first, second, alone):
        searcher.place(root)
    score = first.score(0, -WIN, WIN, 8, NO_STOP)
    entries = newest_entries(first)
    assert 0 < len(entries) <= RECENT
    keys, data = entries[:, 0] ^ entries[:, 1], entries[:, 1]
    assert (data >> DEPTH_AT & np.uint64(0xFF)).min() >= SHARED_DEPTH
    inner = ~np.isin(keys, first.root_keys)
    write_entries(second, keys[inner], data[inner])
    told = read_entries(second.game.table, keys[inner])
    assert (told >> DEPTH_AT & np.uint64(0xFF) >= data[inner] >> DEPTH_AT & np.uint64(0xFF)).mean() > 0.9
    before = second.nodes
    assert alone.score(0, -WIN, WIN, 8, NO_STOP) == score
    assert second.score(0, -WIN, WIN, 8, NO_STOP) == score
    assert second.nodes - before < alone.nodes / 2


@pytest.mark.parametrize(
    ("there", "told", "taken"),
    [
        ((LOWER, 40, 5), (LOWER, 50, 5), True),
        ((LOWER, 50, 5), (LOWER, 40, 5), False),
        ((UPPER, 40, 5), (UPPER, 50, 5), False),
        ((UPPER, 50, 5), (UPPER, 40, 5), True),
        ((UPPER, 50, 5), (LOWER, 50, 5), False),
        ((UPPER, 50, 5), (EXACT, 50, 5), True),
        ((EXACT, 50, 5), (LOWER, 60, 5), False),
        ((EXACT, 50, 5), (LOWER, 40, 6), True),
        ((LOWER, 40, 6), (EXACT, 50, 5), False),
    ],
)
def test_what_says_more_is_taken(
    own: Compile, there: tuple[int, int, int], told: tuple[int, int, int], taken: bool
) -> None:
    """By kind, score and depth of two entries for one position."""
    searcher = new_searcher(own("connect_four"), 1)
    key = np.array([1 << 40], np.uint64)

    def data(kind: int, score: int, depth: int) -> NDArray[np.uint64]:
        entry = (1 << 15) + score | depth << int(DEPTH_AT) | kind << int(KIND_AT)
        assert (value_of.py_func(entry), depth_of.py_func(entry), kind_of.py_func(entry)) == (score, depth, kind)
        return np.array([entry], np.uint64)

    write_entries(searcher, key, data(*there))
    write_entries(searcher, key, data(*told))
    assert read_entries(searcher.game.table, key) == data(*(told if taken else there))


def test_a_search_with_a_helper_proves_what_is_true(machine_of: Compile, random_states: States) -> None:
    """Wins and losses, in a game in which a role may move twice in a row."""
    machine = machine_of(heap(9))
    plain = Plain(machine, new_searcher(machine, 9))
    seen = set()
    for state in random_states(machine, 12):
        side = plain.mover(state)
        if side > 1:
            continue
        engine = assisted(machine, side, AssistedTeam(machine, side))
        engine.begin(state)
        said = opinions_of(engine)
        assert said[-1].final
        children = dict(plain.children(state))
        best = max(-plain.score(child, 1 - side, 99) for child in children.values())
        index = machine.move_index(side, said[-1].move) + int(machine.programs.role_start[side])
        assert np.sign(-plain.score(children[index], 1 - side, 99)) == np.sign(best)
        seen.add(best > 0)
    assert seen == {False, True}


def test_an_assistant_finds_a_better_move(own: Compile) -> None:
    """It leaves the best move to the engine, and searches the others at the engine's depth and score."""
    machine = own("connect_four")
    searcher = new_searcher(machine, 1)
    order = searcher.place(machine.pack(machine.initial()))
    exact = {child: searcher.score(child, -WIN, WIN, 4, NO_STOP) for child in order}
    assistant = assistant_of(machine)
    worst = min(exact, key=lambda child: exact[child] or 0)
    empty = np.zeros(2 * len(order), np.uint64)
    assistant.take(Guide(SearchProgress(4, worst, -5000, True, tuple(order)), empty, np.zeros((0, 2), np.uint64), {}))

    def found() -> Findings | None:
        answer = assistant.answer()
        return answer if answer is not None and answer.better is not None else None

    with StopWhen(lambda: found() is not None) as stop:
        assistant.think(stop.flag)
    answer = found()
    assert answer is not None
    assert answer.better is not None
    child, score, depth = answer.better
    assert child != worst
    assert score > -5000
    assert depth >= 4


def test_moves_are_searched_again_where_the_score_falls(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Moves refuted by the last depth's score need another search at a lower score, and none at a higher one."""
    assistant = assistant_of(own("connect_four"))
    searched: list[tuple[int, int]] = []
    scores = {3: -50, 5: 70}

    def score(self: PvsSearcher, child: int, alpha: int, beta: int, depth: int, stop: StopFlag) -> int:
        searched.append((child, alpha))
        new = scores.get(len(searched))
        if new is not None:
            assistant._guide = SearchProgress(4, 0, new, True, order)
        return alpha

    monkeypatch.setattr(PvsSearcher, "score", score)
    order = tuple(assistant._order)
    assistant._depth, assistant._guide = 4, SearchProgress(4, 0, 20, False, order)
    first, second, third, fourth, *others = [child for child in reversed(order) if child != 0]
    assert assistant._search_others(assistant._guide, NO_STOP)
    assert searched == [(first, 20), (second, 20), (third, 20), (first, -50), (second, -50)] + [
        (child, 70) for child in (fourth, *others)
    ]
    assistant._guide = SearchProgress(5, 0, 0, True, order)
    assert not assistant._search_others(assistant._guide, NO_STOP)


def test_a_helper_keeps_off_what_others_are_at(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless these are behind it."""
    assistant = assistant_of(own("connect_four"), 2)
    order = tuple(assistant._order)
    best, engines, own_last, somebodys, *free = order
    searched: list[int] = []

    def score(self: PvsSearcher, child: int, alpha: int, beta: int, depth: int, stop: StopFlag) -> int:
        searched.append(child)
        return alpha

    monkeypatch.setattr(PvsSearcher, "score", score)
    keys = np.zeros(2 * len(order), np.uint64)
    progress = SearchProgress(4, best, 20, True, order)
    at = {ENGINE: (engines, 4), 0: (somebodys, 5), 2: (own_last, 4)}
    assistant.take(Guide(progress, keys, np.zeros((0, 2), np.uint64), at))
    for depth, expected in ((4, {own_last, *free}), (5, {engines, own_last, *free}), (6, set(order) - {best})):
        searched.clear()
        assistant._depth = depth
        assert assistant._search_others(progress, NO_STOP)
        assert set(searched) == expected


def test_the_engine_leaves_for_last_what_a_helper_is_at(own: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the helper is at the same depth, not if it is behind. The engine searches all moves in the end."""
    machine = own("connect_four")
    team = CannedTeam()
    engine = assisted(machine, 0, team)
    engine.begin(machine.initial())
    searcher = engine._analyser.searchers[0]
    real = searcher.score
    searched: dict[int, list[int]] = {}
    orders: dict[int, tuple[int, ...]] = {}

    def score(child: int, alpha: int, beta: int, depth: int, stop: StopFlag) -> int | None:
        found = real(child, alpha, beta, depth, stop)
        if child not in searched.setdefault(depth, []):
            searched[depth].append(child)
        if len(searched[depth]) == 1 and depth in (4, 5):
            assert team.hear is not None
            assert searcher.progress is not None
            order = searcher.progress.order
            entries = np.zeros(2 * len(order), np.uint64)
            nothing = np.zeros((0, 2), np.uint64)
            guide = team.hear(Findings(searcher.root_moves, entries, nothing, 7, (order[1], 4)))
            assert isinstance(guide, Guide)
            assert guide.searched == {ENGINE: (order[0], depth), 7: (order[1], 4)}
            orders[depth] = order
        return found

    monkeypatch.setattr(searcher, "score", score)
    with StopWhen(lambda: 6 in searched) as stop:
        engine.think(stop.flag, lambda opinion: None, UNLIMITED)
    for depth, place in ((4, -1), (5, 1)):
        assert set(searched[depth]) == set(orders[depth])
        assert searched[depth][place] == orders[depth][1]


def test_garbage_is_left_out(own: Compile) -> None:
    """Findings of another root, of the wrong size, or none at all: nothing is published, nothing fails."""
    machine = own("connect_four")
    team = CannedTeam()
    engine = assisted(machine, 0, team)
    engine.begin(machine.initial())
    said: list[Opinion] = []
    with StopWhen(lambda: len(said) > 4) as stop:
        engine.think(stop.flag, said.append, UNLIMITED)
    assert team.resting
    assert team.hear is not None
    searcher = engine._analyser.searchers[0]
    n = len(searcher.root_moves)
    good = Findings(
        searcher.root_moves, np.zeros(2 * n, np.uint64), np.zeros((0, 2), np.uint64), 0, (1, 4), (0, WIN - 3, 9)
    )
    before = len(said)
    for bad in (
        None,
        7,
        replace(good, moves=searcher.root_moves + 1),
        replace(good, entries=np.zeros(n, np.uint64)),
        replace(good, entries=np.zeros(2 * n)),
        replace(good, newest=np.zeros(2, np.uint64)),
        replace(good, newest=np.zeros((1, 2))),
        replace(good, searched=(n, 3)),
        replace(good, better=(n, 5, 3)),
        replace(good, better=(0, 10 * WIN, 3)),
    ):
        assert team.hear(bad) is None
    assert len(said) == before
    assert isinstance(team.hear(good), Guide)
    assert said[-1].final


def test_the_decision_never_falls_back() -> None:
    """A verdict of the search that is behind a helper's is not published; a proof always is."""
    said: list[PvsVerdict] = []
    splitting = RootSplitting(None)
    for verdict in (
        PvsVerdict(1, 50, 6, False),
        PvsVerdict(2, 80, 7, False),
        PvsVerdict(1, 60, 7, False),
        PvsVerdict(1, 90, 6, False),
        PvsVerdict(3, 85, 7, False),
        PvsVerdict(1, 40, 8, False),
        PvsVerdict(4, WIN - 5, 5, True),
        PvsVerdict(1, 95, 9, False),
    ):
        splitting._publish(verdict, said.append)
    assert [verdict.move for verdict in said] == [1, 2, 3, 1, 4]
