"""Iterative deepening at the root, until stopped or nothing is left to find out.

Several threads search the same root with one transposition table (lazy SMP: the others only fill it). The main thread
searches the root moves one by one, so that a better move is known as soon as it is found.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.search.alphabeta.table import new_table
from agent.search.engine import StopFlag
from agent.search.evaluation.features import Features
from agent.search.evaluation.network import MOVERS, WIN, WON, NetworkEvaluation
from agent.search.pvs.expansion import place_root
from agent.search.pvs.search import STOPPED, search
from agent.search.pvs.table import SIDE_KEY
from agent.search.pvs.workspace import (
    CHANGED,
    CHANGES,
    DATE,
    EVALUATED,
    EXPANSIONS,
    PAIRED,
    PLIES,
    QUIET,
    REFUSED,
    ROOT_CHILDREN,
    SIDE,
    UNKNOWN,
    WIDE,
    PvsGame,
    new_workspace,
)
from games.bits.short_rows import aligned_rows
from games.gdl.running.machine import CircuitMachine

MAX_DEPTH = PLIES - 8
"""Limit on iterations."""
QUIET_PLIES = 6
"""Limit on plies of quiescence."""


@dataclass(frozen=True)
class PvsVerdict:
    """The best move known, from the view of the side that chooses."""

    move: int
    """Numbered over all roles."""
    score: int
    """On the scale of `agent.search.evaluation.network`."""
    depth: int
    """In plies."""
    proven: bool
    """Whether the score is certain: the move wins, all moves lose, or no evaluation played a part."""


@dataclass(frozen=True)
class SearchProgress:
    """State of an iteration."""

    depth: int
    """In plies."""
    child: int
    """Index of the best of the root's children so far."""
    score: int
    """Its score; that of the last iteration until the new one is `known`."""
    known: bool
    order: tuple[int, ...]
    """The children in search order: the best one of the last iteration, then by nodes taken, most first."""


class PvsSearcher:
    """One thread's search of a game."""

    def __init__(
        self,
        machine: CircuitMachine,
        features: Features,
        table: NDArray[np.uint64],
        zobrist: NDArray[np.uint64],
        quiet: int = QUIET_PLIES,
    ) -> None:
        """Threads may share `table` and `zobrist`, a random word for each fluent; `quiet` limits the plies of
        quiescence."""
        self._features = features
        self._random = np.random.default_rng(len(zobrist))
        self.work = new_workspace(machine.programs)
        self.game = PvsGame(
            machine.programs,
            self.work,
            table,
            aligned_rows(len(machine.game.fluents) + features.n),
            aligned_rows(MOVERS + 1),
            *features.kernel_form(),
            zobrist,
            np.array([machine.worths(role)[-1] for role in range(len(machine.roles))]),
            np.zeros(5, np.int64),
        )
        self.game.settings[QUIET] = quiet
        self.root_moves = np.zeros(0, np.int32)
        """(children) the moves of the last root, numbered over all roles."""
        self.root_keys = np.zeros(0, np.uint64)
        """(2 * children) the table's keys of its children, seen by role 0 and by role 1."""
        self._last_node: int | None = None
        """Number of nodes at which the search ends, between two moves of the root; None for no limit."""
        self.progress: SearchProgress | None = None
        """None before the first iteration."""
        self.urgent: int | None = None
        """The child to search next: a helper found it better than the best one."""
        self.current: int | None = None
        """The child being searched, or searched last; None before the first one."""
        self.elsewhere: frozenset[int] = frozenset()
        """Children that helpers are searching at this depth; searched last here."""

    @property
    def nodes(self) -> int:
        """States seen: expanded ones, and leaves."""
        return int(self.work.counts[EXPANSIONS] + self.work.counts[EVALUATED])

    @property
    def _guesses(self) -> int:
        """Number of evaluations used in place of a search."""
        return int(self.work.counts[EVALUATED] + self.work.counts[REFUSED])

    def set_evaluation(self, evaluation: NetworkEvaluation) -> None:
        """Sets the evaluation. The table's owner must clear it."""
        rows, outputs = evaluation.kernel_form()
        whole = np.round(self._features.kernel_rows(rows)).astype(np.int32).ravel()
        self.game.weights[: whole.size] = whole
        self.game.outputs[:] = outputs.ravel()
        self.game.settings[PAIRED] = len(self._features.pair) > 0
        self.game.settings[WIDE] = not evaluation.linear
        self.work.counts[CHANGES] = self.work.counts[CHANGED] = 0

    def analyse(
        self,
        state: NDArray[np.uint64],
        stop: StopFlag,
        publish: Callable[[PvsVerdict], None],
        max_depth: int = MAX_DEPTH,
        max_nodes: int | None = None,
        *,
        confirm: bool = True,
    ) -> bool:
        """Searches a packed state until `stop[0]`, or until nothing is left to find out.

        Publishes every change of the best move, and every finished iteration. Returns whether the state can be searched
        at all (see `expansion.expand`). `confirm` is whether to repeat an iteration to make sure of seemingly certain
        scores other than wins and losses.
        """
        work = self.work
        order = self.place(state)
        if not order:
            return False
        self._last_node = None if max_nodes is None else self.nodes + max_nodes
        for depth in range(1, max_depth + 1):
            before = self._guesses
            found = self.iterate(order, depth, stop, publish)
            if found is None or abs(found) > WON or stop[0]:
                break
            if confirm and self._guesses == before:
                score = self._confirmed(state, order, depth, stop)
                if score is not None:
                    publish(PvsVerdict(int(work.move[ROOT_CHILDREN, order[0]]), score, depth, proven=True))
                    break
        return True

    def place(self, state: NDArray[np.uint64]) -> list[int]:
        """Makes a packed state the root; returns its children, best first by the evaluation, or none if it cannot be
        searched."""
        work, game = self.work, self.game
        game.settings[DATE] = (game.settings[DATE] + 1) & 255
        self.progress = self.urgent = self.current = None
        self.elsewhere = frozenset()
        count = place_root(game, state)
        keys = work.key[ROOT_CHILDREN, :count]
        self.root_moves, self.root_keys = work.move[ROOT_CHILDREN, :count].copy(), np.append(keys, keys ^ SIDE_KEY)
        if count == 0:
            return []
        # Statistics of moves fade from one turn to the next.
        work.history[:] >>= 2
        side = int(work.move[ROOT_CHILDREN, 0] >= game.programs.role_start[1])
        game.settings[SIDE] = 1 - side
        results, evaluations = work.result[ROOT_CHILDREN, :count], work.evaluation[ROOT_CHILDREN, :count]
        values = np.where(results == UNKNOWN, evaluations, results) * (1 - 2 * side)
        order: list[int] = np.argsort(-values, kind="stable").tolist()
        return order

    @property
    def date(self) -> int:
        """Generation of entries in the table, 0..255."""
        return int(self.game.settings[DATE])

    def _confirmed(self, state: NDArray[np.uint64], order: list[int], depth: int, stop: StopFlag) -> int | None:
        """Returns the score of an iteration without the table's old entries, or None if it used the evaluation.

        Scores found in the table may be evaluations, so an ordinary iteration proves nothing. Other Zobrist words hide
        all old entries.
        """
        game, before = self.game, self._guesses
        self.game = game._replace(zobrist=self._random.integers(0, 1 << 64, len(game.zobrist), np.uint64))
        place_root(self.game, state)
        try:
            score = self.iterate(order, depth, stop)
        finally:
            self.game = game
            place_root(game, state)
        return score if self._guesses == before else None

    def iterate(
        self,
        order: list[int],
        depth: int,
        stop: StopFlag,
        publish: Callable[[PvsVerdict], None] = lambda verdict: None,
    ) -> int | None:
        """Searches all root moves, best first, and sorts them for the next iteration; returns the score.

        None after `stop`, or at the limit of nodes.
        """
        best, best_child = -WIN - 1, order[0]
        expected = self.progress.score if self.progress else 0
        self.progress = SearchProgress(depth, best_child, expected, known=False, order=tuple(order))
        effort: dict[int, int] = {}
        waiting = list(order)
        for index in range(len(order)):
            # The first move sets the bound for the others, whatever helpers found.
            child = waiting[0] if index == 0 else self._choose(waiting)
            waiting.remove(child)
            before = self.nodes
            if self._last_node is not None and before >= self._last_node and depth > 1:
                return None
            score = self.score(child, -WIN if index == 0 else best, WIN if index == 0 else best + 1, depth, stop)
            if score is not None and index > 0 and best < score < WIN:
                score = self.score(child, best, WIN, depth, stop)
            if score is None:
                return None
            effort[child] = self.nodes - before
            if score > best:
                best, best_child = score, child
                self.progress = SearchProgress(depth, best_child, best, known=True, order=tuple(order))
                if index > 0 or depth == 1:
                    publish(self._verdict(child, best, depth, finished=False))
                if best > WON:
                    break
        publish(self._verdict(best_child, best, depth, finished=True))
        # A move that took many nodes to refute is likely to become the best one.
        order.sort(key=lambda child: (child != best_child, -effort.get(child, 0)))
        return best

    def _choose(self, waiting: list[int]) -> int:
        """Returns the child to search next."""
        if self.urgent is not None and self.urgent in waiting:
            return self.urgent
        return next((child for child in waiting if child not in self.elsewhere), waiting[0])

    def score(self, child: int, alpha: int, beta: int, depth: int, stop: StopFlag) -> int | None:
        """Returns the fail-soft score of a child of the root for the side that chooses there; None after `stop`."""
        self.current = child
        score = int(search(self.game, ROOT_CHILDREN, child, -beta, -alpha, depth - 1, stop))
        return None if score == STOPPED else -score

    def _verdict(self, child: int, score: int, depth: int, *, finished: bool) -> PvsVerdict:
        move = int(self.work.move[ROOT_CHILDREN, child])
        return PvsVerdict(move, score, depth, score > WON or (finished and score < -WON))


class PvsAnalyser:
    """Searches with several threads; keeps its transposition table from one search to the next."""

    def __init__(
        self, machine: CircuitMachine, features: Features, *, threads: int = 1, megabytes: int = 128, seed: int = 0
    ) -> None:
        self._random = np.random.default_rng(seed)
        self.zobrist = self._random.integers(0, 1 << 64, len(machine.game.fluents), np.uint64)
        """(fluents) random words of the table's keys, others for each evaluation."""
        self.table = new_table(megabytes)
        self.searchers = [PvsSearcher(machine, features, self.table, self.zobrist) for _ in range(threads)]

    @property
    def nodes(self) -> int:
        """States seen by all threads."""
        return sum(searcher.nodes for searcher in self.searchers)

    def set_evaluation(self, evaluation: NetworkEvaluation) -> None:
        """See `PvsSearcher.set_evaluation`; forgets all earlier results."""
        # New keys hide all entries. Clearing the table would take longer than allowed after `stop`.
        self.zobrist[:] = self._random.integers(0, 1 << 64, len(self.zobrist), np.uint64)
        for searcher in self.searchers:
            searcher.set_evaluation(evaluation)

    def analyse(
        self,
        state: NDArray[np.uint64],
        stop: StopFlag,
        publish: Callable[[PvsVerdict], None],
        max_depth: int = MAX_DEPTH,
        max_nodes: int | None = None,
    ) -> bool:
        """See `PvsSearcher.analyse`."""
        main, *others = self.searchers
        halt = np.zeros(1, np.uint8)
        with ThreadPoolExecutor(len(self.searchers), "alpha-beta") as pool:
            running = [
                pool.submit(other.analyse, state, halt, lambda verdict: None, max_depth, confirm=False)
                for other in others
            ]
            try:
                found = main.analyse(state, stop, publish, max_depth, max_nodes)
            finally:
                halt[0] = 1
        for done in running:
            done.result()
        return found
