"""Iterative deepening at the root: deeper and deeper until told to stop, or until nothing is left to find out.

Helper threads search the same root into the same transposition table (lazy SMP: they only warm it up); the main thread
goes through the root moves one by one, so that a better move is known as soon as it is found.
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
from agent.search.evaluation.scale import WIN, WON
from agent.search.pvs.expansion import place_root
from agent.search.pvs.search import STOPPED, search
from agent.search.pvs.table import SIDE_KEY
from agent.search.pvs.workspace import (
    BIAS,
    CHANGED,
    CHANGES,
    DATE,
    EXPANSIONS,
    JUDGED,
    PAIRED,
    PLIES,
    QUIET,
    REFUSED,
    ROOT_CHILDREN,
    SIDE,
    UNKNOWN,
    PvsGame,
    new_workspace,
)
from games.gdl.running.machine import CircuitMachine

MAX_DEPTH = PLIES - 8
"""Deeper iterations are left out."""
QUIET_PLIES = 6
"""Plies of quiescence at most. Set by hand; with 3, matches of 40 in three games at equal nodes came out even."""


@dataclass(frozen=True)
class PvsVerdict:
    """The best move known, from the side that chooses."""

    move: int
    """Numbered over all roles."""
    score: int
    """In the units of `workspace`."""
    depth: int
    """In plies."""
    proven: bool
    """Whether the score is certain: the move wins, all moves lose, or no evaluation played a part."""


@dataclass(frozen=True)
class SearchProgress:
    """How far an iteration is."""

    depth: int
    """In plies."""
    child: int
    """The best one so far, by index among the root's children."""
    score: int
    """Its score, or as long as that is not `known`, that of the last iteration."""
    known: bool
    order: tuple[int, ...]
    """The children as they are searched: the best one of the last iteration, then those that took most nodes."""


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
        """`table` is one of `table.new_table`, `zobrist` a random word for each fluent: threads may share both.

        `quiet` is how many plies quiescence goes on at most.
        """
        self._features = features
        self._random = np.random.default_rng(len(zobrist))
        self.work = new_workspace(machine.programs)
        self.game = PvsGame(
            machine.programs,
            self.work,
            table,
            np.zeros(len(machine.game.fluents), np.int32),
            *features.kernel_form(),
            zobrist,
            np.array([max(values, default=100) for values in machine.game.goals], np.float64),
            np.zeros(5, np.int64),
        )
        self.game.settings[QUIET] = quiet
        self.root_moves = np.zeros(0, np.int32)
        """(children) the moves of the root that was placed last, numbered over all roles."""
        self.root_keys = np.zeros(0, np.uint64)
        """(2 * children) the table's keys of its children, seen by role 0 and by role 1."""
        self._last_node: int | None = None
        """Number of nodes at which the search ends, between two moves of the root; None for no bound."""
        self.progress: SearchProgress | None = None
        """How far the present iteration is; None before the first one."""
        self.urgent: int | None = None
        """A child that is to be searched next: somebody else holds it to be better than the best one."""
        self.current: int | None = None
        """The child that is searched, or was searched last; None before the first one."""
        self.elsewhere: frozenset[int] = frozenset()
        """Children that somebody else searches at this depth: here they come last."""

    @property
    def nodes(self) -> int:
        """States looked at so far: expanded ones, and leaves."""
        return int(self.work.counts[EXPANSIONS] + self.work.counts[JUDGED])

    @property
    def _guesses(self) -> int:
        """How often the evaluation was asked so far, because of the depth or because nothing else was possible."""
        return int(self.work.counts[JUDGED] + self.work.counts[REFUSED])

    def set_evaluation(self, weights: NDArray[np.float64], bias: int) -> None:
        """Judges states by `bias` plus the weights (features) of what holds, in the units of `workspace`.

        What the table knows is then worthless: whoever owns it clears it.
        """
        self.game.weights[:] = np.round(self._features.fluent_weights(weights))
        self._features.set_weights(self.game.conjunctions, self.game.pairs, weights)
        self.game.settings[BIAS] = bias
        self.game.settings[PAIRED] = self.game.pairs.weight.any()
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

        Every change of the best move, and every finished iteration, is published. Returns whether the state can be
        searched at all (see `expansion.expand`). `confirm` is whether to make sure of scores other than wins and
        losses, at the cost of searching once more, where they seem to be certain.
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
        """Makes a packed state the root; its children, best first by the evaluation, none where it cannot be
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
        # What is known of moves fades from one turn to the next.
        work.history[:] >>= 2
        side = int(work.move[ROOT_CHILDREN, 0] >= game.programs.role_start[1])
        game.settings[SIDE] = 1 - side
        results, evaluations = work.result[ROOT_CHILDREN, :count], work.evaluation[ROOT_CHILDREN, :count]
        judged = np.where(results == UNKNOWN, evaluations, results) * (1 - 2 * side)
        order: list[int] = np.argsort(-judged, kind="stable").tolist()
        return order

    @property
    def date(self) -> int:
        """The generation of what is stored in the table, 0..255."""
        return int(self.game.settings[DATE])

    def _confirmed(self, state: NDArray[np.uint64], order: list[int], depth: int, stop: StopFlag) -> int | None:
        """The score by an iteration that knows nothing of the table's entries, if it needs no evaluation.

        An iteration that needs none proves nothing as long as it finds scores in the table that may be evaluations.
        With other Zobrist words no entry is found but its own.
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

        None after `stop`, or when no depth is left.
        """
        best, best_child = -WIN - 1, order[0]
        expected = self.progress.score if self.progress else 0
        self.progress = SearchProgress(depth, best_child, expected, known=False, order=tuple(order))
        effort: dict[int, int] = {}
        waiting = list(order)
        for index in range(len(order)):
            # The first one sets the bound for the others, whatever somebody holds of them.
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
        """Which child is searched next."""
        if self.urgent is not None and self.urgent in waiting:
            return self.urgent
        return next((child for child in waiting if child not in self.elsewhere), waiting[0])

    def score(self, child: int, alpha: int, beta: int, depth: int, stop: StopFlag) -> int | None:
        """The fail-soft score of a child of the root, for whom it is to choose; None after `stop`."""
        self.current = child
        score = int(search(self.game, ROOT_CHILDREN, child, -beta, -alpha, depth - 1, stop))
        return None if score == STOPPED else -score

    def _verdict(self, child: int, score: int, depth: int, *, finished: bool) -> PvsVerdict:
        move = int(self.work.move[ROOT_CHILDREN, child])
        return PvsVerdict(move, score, depth, score > WON or (finished and score < -WON))


class PvsAnalyser:
    """Searches on several cores; keeps its transposition table from one search to the next."""

    def __init__(
        self, machine: CircuitMachine, features: Features, *, threads: int = 1, megabytes: int = 128, seed: int = 0
    ) -> None:
        self._random = np.random.default_rng(seed)
        self.zobrist = self._random.integers(0, 1 << 64, len(machine.game.fluents), np.uint64)
        """(fluents) random words that keys of the table are made of, others for each evaluation."""
        self.table = new_table(megabytes)
        self.searchers = [PvsSearcher(machine, features, self.table, self.zobrist) for _ in range(threads)]

    @property
    def nodes(self) -> int:
        """States looked at so far, by all threads."""
        return sum(searcher.nodes for searcher in self.searchers)

    def set_evaluation(self, weights: NDArray[np.float64], bias: int) -> None:
        """See `PvsSearcher.set_evaluation`; forgets what was searched with another one."""
        # Nothing that the table holds is found under these. To clear it would take longer than may pass after `stop`.
        self.zobrist[:] = self._random.integers(0, 1 << 64, len(self.zobrist), np.uint64)
        for searcher in self.searchers:
            searcher.set_evaluation(weights, bias)

    def analyse(
        self,
        state: NDArray[np.uint64],
        stop: StopFlag,
        publish: Callable[[PvsVerdict], None],
        max_depth: int = MAX_DEPTH,
        max_nodes: int | None = None,
    ) -> bool:
        """See `PvsSearcher.analyse`."""
        main, *helpers = self.searchers
        halt = np.zeros(1, np.uint8)
        with ThreadPoolExecutor(len(self.searchers), "alpha-beta") as pool:
            helping = [
                pool.submit(helper.analyse, state, halt, lambda verdict: None, max_depth, confirm=False)
                for helper in helpers
            ]
            try:
                found = main.analyse(state, stop, publish, max_depth, max_nodes)
            finally:
                halt[0] = 1
        for helped in helping:
            helped.result()
        return found
