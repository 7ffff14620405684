"""Alpha-beta with helpers, which share the root's moves by entries of the transposition table.

The engine searches the best move of the last iteration first, which takes much of the time, and then refutes the other
moves. Refuting needs only a bound, so helpers do it meanwhile: each searches the other moves in null windows at the
engine's newest score, from the end and in an order of its own. The engine puts a helper's entries into its table, finds
them when it comes to the move, and passes its own on. All announce their current move, which the others leave for last.
So nobody assigns work, and a lost helper leaves nothing undone. Entries of deeper nodes are exchanged too: moves
transpose, and programs on clusters share entries near the root in place of a common table (Feldmann 1993).

Splitting at the root is as old as parallel alpha-beta (Hyatt 1997 reviews it); ABDADA defers moves that others search
without a scheduler (Weill 1996).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from agent.search.alphabeta.table import new_table, places_of, read_entries
from agent.search.engine import StopFlag
from agent.search.evaluation.features import Features
from agent.search.evaluation.network import WIN, WON, NetworkEvaluation
from agent.search.pvs.analysis import MAX_DEPTH, PvsAnalyser, PvsSearcher, PvsVerdict, SearchProgress
from agent.search.pvs.table import DATE_AT, DEPTH_AT, EXACT, KIND_AT, LOWER, VALUE_AT
from agent.search.pvs.workspace import STORED
from agent.search.team import Assistant, Setting, Team
from games.gdl.running.machine import CircuitMachine
from games.machine import State

Publish: TypeAlias = Callable[[PvsVerdict], None]

HELPER_MEGABYTES = 128
"""Size of a helper's transposition table: a node of a cluster may have many cores and little memory."""

GOLDEN = 0.6180339887
"""Fractional parts of its multiples stay apart, however many: helpers begin there."""

ENGINE = -1
"""The engine's rank beside the helpers'."""

_BYTE = np.uint64(0xFF)


@dataclass(frozen=True, eq=False)
class Guide:
    """State of the engine's search, sent to helpers."""

    progress: SearchProgress
    entries: NDArray[np.uint64]
    newest: NDArray[np.uint64]
    """As in `Findings`."""
    searched: dict[int, tuple[int, int]]
    """The child and depth that each helper is searching, by its rank; the engine's under `ENGINE`."""


@dataclass(frozen=True, eq=False)
class Findings:
    """A helper's findings about a root."""

    moves: NDArray[np.int32]
    """(children) the root's moves, numbered over all roles: they identify the root."""
    entries: NDArray[np.uint64]
    """(2 * children) data of the table's entries of the root's children, in the order of `PvsSearcher.root_keys`; 0 for
    none."""
    newest: NDArray[np.uint64]
    """(n, 2) other entries of the table, see `newest_entries`."""
    rank: int
    """The helper's."""
    searched: tuple[int, int] | None = None
    """The child being searched, and the depth."""
    better: tuple[int, int, int] | None = None
    """The last child that beat the best one, with its score and depth."""

    def fits(self, moves: NDArray[np.int32]) -> bool:
        """Whether it belongs to a root with these moves, and is well-formed."""
        n = len(moves)
        known = np.array_equal(self.moves, moves) and self.entries.shape == (2 * n,)
        known &= self.newest.ndim == 2 and self.newest.shape[1] == 2
        words = self.entries.dtype == self.newest.dtype == np.uint64
        better = self.better is None or (0 <= self.better[0] < n and abs(self.better[1]) <= WIN and self.better[2] > 0)
        return known and words and better and (self.searched is None or 0 <= self.searched[0] < n)


@dataclass(frozen=True, eq=False)
class SplitSetting(Setting):
    """Has helpers search moves of the root."""

    features: Features
    evaluation: NetworkEvaluation
    zobrist: NDArray[np.uint64]
    """(fluents) the engine's, so that keys agree."""

    def assistant(self, machine: CircuitMachine, role: int, rank: int) -> Assistant:
        return SplitAssistant(self, machine, rank)


def make_setting(features: Features, evaluation: NetworkEvaluation, zobrist: NDArray[np.uint64]) -> SplitSetting:
    """Returns the setting for an evaluation."""
    return SplitSetting(features.for_search, evaluation, zobrist.copy())


class SplitAssistant(Assistant):
    """Searches moves of the root on one core."""

    def __init__(self, setting: SplitSetting, machine: CircuitMachine, rank: int) -> None:
        table = new_table(HELPER_MEGABYTES)
        self._machine = machine
        self._searcher = PvsSearcher(machine, setting.features, table, setting.zobrist)
        self._searcher.set_evaluation(setting.evaluation)
        self._rank = rank
        self._state = machine.pack(machine.initial())
        self._order: list[int] = []
        self._depth = 1
        self._guide: SearchProgress | None = None
        self._searched: dict[int, tuple[int, int]] = {}
        """From the newest guide."""
        self._better: tuple[int, int, int] | None = None

    def begin(self, state: State) -> None:
        self._state = self._machine.pack(state)
        self._guide = self._better = None
        self._searched = {}
        self._depth = 1
        self._order = self._searcher.place(self._state)

    def think(self, stop: StopFlag) -> None:
        if len(self._order) < 2:
            return
        while self._depth <= MAX_DEPTH and not stop[0]:
            guide = self._guide
            if guide is None:
                # The engine has just begun, too: its order and bound are not known yet.
                score = self._searcher.iterate(self._order, self._depth, stop)
                done = score is not None
            else:
                self._depth = max(self._depth, guide.depth)
                done = self._search_others(guide, stop)
            if done and not stop[0]:
                self._depth += 1

    def answer(self) -> Findings | None:
        searcher = self._searcher
        if len(self._order) < 2:
            return None
        entries = read_entries(searcher.game.table, searcher.root_keys)
        searched = None if searcher.current is None else (searcher.current, self._depth)
        return Findings(searcher.root_moves, entries, newest_entries(searcher), self._rank, searched, self._better)

    def take(self, note: object) -> None:
        if isinstance(note, Guide) and note.entries.shape == self._searcher.root_keys.shape:
            _take_over(self._searcher, note)
            self._searched = note.searched
            self._guide = note.progress

    def _search_others(self, guide: SearchProgress, stop: StopFlag) -> bool:
        """Searches all moves but the best; returns whether all are done at this depth.

        The engine's score of a depth may turn out lower than that of the last one, with which this begins: moves
        refuted by the higher score are then searched again.
        """
        shown: dict[int, int] = {}
        while True:
            newest = self._guide or guide
            if newest.depth > self._depth:
                return False
            child = self._choose(newest, shown)
            if child is None:
                return True
            searched = self._searcher.score(child, newest.score, newest.score + 1, self._depth, stop)
            if searched is not None and newest.score < searched < WIN:
                searched = self._searcher.score(child, newest.score, WIN, self._depth, stop)
            if searched is None:
                return False
            shown[child] = newest.score
            if searched > newest.score:
                self._better = (child, searched, self._depth)

    def _choose(self, newest: SearchProgress, shown: dict[int, int]) -> int | None:
        """Returns the next move that nobody else is searching; None if there is none.

        From the end, where moves are small: the engine comes from the other side, and its place is known only with
        delay.
        """
        others = list(reversed(newest.order))
        first = int((self._rank * GOLDEN) % 1 * len(others))
        others_at = [at for rank, at in self._searched.items() if rank != self._rank]
        busy = {child for child, depth in others_at if depth >= self._depth}
        free = (child for child in others[first:] + others[:first] if child not in busy)
        return next((child for child in free if self._is_due(child, newest, shown)), None)

    def _is_due(self, child: int, newest: SearchProgress, shown: dict[int, int]) -> bool:
        """Whether a move must be searched; `shown` has the score by which it was refuted at this depth, if it was."""
        if child == newest.child:
            return False
        return child not in shown or (newest.depth == self._depth and newest.score < shown[child])


class RootSplitting:
    """The helpers of an alpha-beta search; does nothing without a team."""

    def __init__(self, team: Team | None) -> None:
        self._team = team
        self._setting: SplitSetting | None = None
        self._searcher: PvsSearcher | None = None
        self._lock = threading.RLock()
        """Held while a verdict is published: by the search, or by a helper's thread."""
        self._latest: PvsVerdict | None = None
        self._searched: dict[int, tuple[int, int]] = {}
        """The child and depth that each helper is searching, by its rank."""

    def search_like(self, features: Features, evaluation: NetworkEvaluation, analyser: PvsAnalyser) -> None:
        """Has helpers search as `analyser` does, with this evaluation."""
        if self._team is not None:
            self._searcher = analyser.searchers[0]
            self._setting = make_setting(features, evaluation, analyser.zobrist)

    @property
    def info(self) -> dict[str, int]:
        """Entries for `Opinion.info`."""
        return {} if self._team is None else {"helpers": self._team.size}

    @contextmanager
    def asked(self, state: State, publish: Publish) -> Iterator[Publish]:
        """Has helpers search a state during the context; yields a function that publishes the search's own verdicts.
        `publish` gets these and the helpers'."""
        team, setting = self._team, self._setting
        if team is None or setting is None:
            yield publish
            return
        self._latest = None
        self._searched = {}
        asked = False

        def publish_own(verdict: PvsVerdict) -> None:
            nonlocal asked
            if not asked:
                # Not before the root is placed: findings would be taken for those of the old root.
                asked = True
                team.ask(setting, state, lambda answer: self._hear(answer, publish))
            self._publish(verdict, publish)

        try:
            yield publish_own
        finally:
            team.rest(setting)

    def _publish(self, verdict: PvsVerdict, publish: Publish) -> None:
        with self._lock:
            latest = self._latest
            if latest is not None and not verdict.proven:
                # A helper may be ahead of the search, which comes to the same move later.
                behind = (verdict.depth, verdict.score) < (latest.depth, latest.score)
                if latest.proven or behind:
                    return
            self._latest = verdict
            publish(verdict)

    def _hear(self, answer: object, publish: Publish) -> Guide | None:
        """Takes a helper's findings, and returns the state of the engine's search."""
        searcher = self._searcher
        assert searcher is not None
        progress = searcher.progress
        if progress is None or not isinstance(answer, Findings) or not answer.fits(searcher.root_moves):
            return None
        _take_over(searcher, answer)
        if answer.searched is not None:
            self._searched[answer.rank] = answer.searched
        searcher.elsewhere = frozenset(child for child, depth in self._searched.values() if depth >= progress.depth)
        if answer.better is not None:
            child, score, depth = answer.better
            best = score > WON or (depth == progress.depth and progress.known and score > progress.score)
            if best:
                self._publish(PvsVerdict(int(searcher.root_moves[child]), score, depth, score > WON), publish)
            if depth >= progress.depth and child != progress.child:
                searcher.urgent = child
        at = dict(self._searched)
        if searcher.current is not None:
            at[ENGINE] = searcher.current, progress.depth
        return Guide(progress, read_entries(searcher.game.table, searcher.root_keys), newest_entries(searcher), at)


def _take_over(searcher: PvsSearcher, told: Findings | Guide) -> None:
    """Writes received entries into the table of a search."""
    write_entries(searcher, searcher.root_keys, told.entries)
    data = told.newest[:, 1]
    write_entries(searcher, told.newest[:, 0] ^ data, data)


def newest_entries(searcher: PvsSearcher) -> NDArray[np.uint64]:
    """Returns the entries (n, 2) of `SHARED_DEPTH` plies or more that a search, which may be running, has stored last.

    In the table's form: an entry torn by a write fits no position.
    """
    recent = searcher.work.recent
    return recent[: min(int(searcher.work.counts[STORED]), len(recent))].copy()


def write_entries(searcher: PvsSearcher, keys: NDArray[np.uint64], data: NDArray[np.uint64]) -> None:
    """Writes data (n; 0: none) for keys (n) into the table of a search, which may be running, where it says more than
    the present entries."""
    table, date = searcher.game.table, np.uint64(searcher.date)
    places = places_of(table, keys)
    held = table[places]
    held_data = held[..., 1]
    same = ((held[..., 0] ^ held_data) == keys[:, None]) & (held_data != 0)
    # Replaces the oldest and shallowest of a bucket, as `table.store` does.
    worth = _depths(held_data) + 1000 * (held_data >> DATE_AT & _BYTE == date)
    slots = np.where(same, -1, np.where(held_data == 0, 0, worth + 1)).argmin(axis=1)
    rows = np.arange(len(keys))
    known, own = same.any(axis=1), held_data[rows, slots]
    news = (data != 0) & (~known | _says_more(data, own))
    at = places[rows, slots][news]
    entries = (data[news] & ~(_BYTE << DATE_AT)) | date << DATE_AT
    # A reader that sees only one of the two words finds nothing (see `agent.search.alphabeta.table`).
    table[at, 0] = keys[news] ^ entries
    table[at, 1] = entries


def _says_more(data: NDArray[np.uint64], own: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether an entry's data say more than another's (n each) of the same position: deeper, exact, or a closer
    bound."""
    depth, own_depth = _depths(data), _depths(own)
    kind, own_kind = data >> KIND_AT & np.uint64(3), own >> KIND_AT & np.uint64(3)
    value, own_value = data >> VALUE_AT & np.uint64(0xFFFF), own >> VALUE_AT & np.uint64(0xFFFF)
    closer = (kind == own_kind) & np.where(kind == LOWER, value > own_value, value < own_value)
    better = (own_kind != EXACT) & ((kind == EXACT) | closer)
    more: NDArray[np.bool_] = (depth > own_depth) | ((depth == own_depth) & better)
    return more


def _depths(data: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (data >> DEPTH_AT & _BYTE).astype(np.int64)
