"""Iterative deepening at the root: from a one-ply search to the proof of the result, on all cores.

The main thread searches the root moves one by one: a better move is known as soon as it is found. Side threads warm up
the transposition table by searching the same position (lazy SMP).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agent.search.alphabeta.table import new_table
from agent.search.reversi.evaluation import BoardRules, PatternEvaluation
from agent.search.reversi.search import STOPPED, ReversiSearcher
from agent.search.reversi.selectivity import EXACT, Coefficients, margins
from games.native.reversi.rules import ReversiVariant, cells_of, play

MIDGAME_LEVEL = 0
"""The selectivity level of searches that do not reach the end of the game."""
_SIDE_DEPTH = 9
"""Shallowest iteration with side threads: shallower ones end before these have started."""
_DIRECT = 11
"""Most empty cells for exact search without a selective one before it."""


class DeepeningStep(NamedTuple):
    """Kind of an iteration."""

    depth: int
    level: int
    result_only: bool
    """Whether to search for win, draw or loss only, not for the score."""


@dataclass(frozen=True)
class ReversiVerdict:
    """Best move so far, from the side to move."""

    cell: int
    score: int
    """Score in discs; only its sign counts after a search for the result."""
    step: DeepeningStep
    proven: bool
    """Whether the result with best play is certain, and no other move is better."""
    nodes: int


def schedule(empties: int) -> Iterator[DeepeningStep]:
    """The iterations for a position: deeper and deeper, then to the end, less and less selectively."""
    if empties > _DIRECT:
        for depth in range(1, max(empties // 2, empties - 10)):
            yield DeepeningStep(depth, MIDGAME_LEVEL, False)
        yield DeepeningStep(empties, 0, False)
        for level in (1, 3, EXACT):
            yield DeepeningStep(empties, level, True)
    yield DeepeningStep(empties, EXACT, False)


class ReversiAnalyser:
    """Searches positions of a variant, with one transposition table for all searches."""

    def __init__(
        self,
        variant: ReversiVariant,
        evaluation: PatternEvaluation,
        coefficients: Coefficients,
        *,
        threads: int = 1,
        megabytes: int = 128,
    ) -> None:
        board = BoardRules.of(variant)
        table = new_table(megabytes)
        shared = (board, evaluation.tables, margins(coefficients), table)
        self.variant = variant
        self.table = table
        """The transposition table: uint64[entries, 2]."""
        self._searchers = [ReversiSearcher(*shared) for _ in range(threads)]
        self._halt = np.zeros(1, np.uint8)
        for searcher in self._searchers[1:]:
            searcher.stop = self._halt
        self._pool = ThreadPoolExecutor(threads - 1, "reversi") if threads > 1 else None
        self._side_searches: list[Future[int]] = []

    @property
    def nodes(self) -> int:
        """Number of positions visited so far by all threads."""
        return sum(searcher.nodes for searcher in self._searchers)

    def close(self) -> None:
        """End the side threads."""
        if self._pool is not None:
            self._halt[0] = 1
            self._pool.shutdown()

    def analyse(
        self,
        player: int,
        opponent: int,
        stop: npt.NDArray[np.uint8],
        publish: Callable[[ReversiVerdict], None],
        *,
        max_depth: int = 64,
        max_nodes: int | None = None,
    ) -> bool:
        """Search a position with a legal move until `stop[0]` is set or the result is proven.

        Publishes every change of the best move and every finished iteration. Returns whether the search is over (rather
        than stopped). Iterations deeper than `max_depth`, or after `max_nodes` nodes, are left out.
        """
        empty = self.variant.playable & ~(player | opponent)
        moves = self.variant.moves_of(player, opponent)
        children = [(cell, *play(player, opponent, cell)) for cell in cells_of(moves)]
        for searcher in self._searchers:
            searcher.date = (searcher.date + 1) & 255
        main = self._searchers[0]
        main.stop = stop
        before = self.nodes
        for step in schedule(empty.bit_count()):
            if step.depth > max_depth or stop[0] or (max_nodes is not None and self.nodes - before >= max_nodes):
                break
            self._start_side_threads(player, opponent, step)

            def tell(cell: int, value: int, step: DeepeningStep = step, sure: bool = False) -> None:
                publish(ReversiVerdict(cell, value, step, sure, self.nodes))

            try:
                score = self._root(main, children, step, tell)
            finally:
                self._halt[0] = 1  # the next iteration waits for the side threads, this turn need not
            if score is None:
                return False
            # In a lost position the narrowest loss is sought: the opponent may err.
            complete = step.level == EXACT and step.depth == empty.bit_count()
            proven = complete and (score >= 0 or not step.result_only)
            tell(children[0][0], score, step, proven)
            if proven:
                return True
        return False

    def _root(
        self,
        searcher: ReversiSearcher,
        children: list[tuple[int, int, int]],
        step: DeepeningStep,
        tell: Callable[[int, int], None],
    ) -> int | None:
        """Runs one iteration; moves the best child to the front and returns its score, or None when stopped."""
        alpha, beta = self._window(step)
        best = -STOPPED
        depth, level = step.depth - 1, step.level
        for index, (cell, player, opponent) in enumerate(list(children)):
            lower = max(alpha, best)
            upper = beta if index == 0 else lower + 1
            value = -searcher.score(player, opponent, -upper, -lower, depth, level)
            if index and lower < value < beta and upper < beta:
                # The null window says only "better": report the move now, in case time runs out before its score.
                tell(cell, value)
                value = -searcher.score(player, opponent, -beta, -lower, depth, level)
            if abs(value) >= STOPPED:
                return None
            if value > best:
                best = value
                if value > alpha or index == 0:
                    place = next(place for place, child in enumerate(children) if child[0] == cell)
                    children.insert(0, children.pop(place))
                if value > alpha:
                    tell(cell, value)
            if best >= beta:
                break
        return best

    def _window(self, step: DeepeningStep) -> tuple[int, int]:
        """Alpha and beta of an iteration."""
        return (-1, 1) if step.result_only else (-self.variant.cells, self.variant.cells)

    def _start_side_threads(self, player: int, opponent: int, step: DeepeningStep) -> None:
        """Start the side threads on the position, every second one a ply deeper."""
        for search in self._side_searches:
            search.result()
        self._side_searches = []
        if self._pool is None or step.depth < _SIDE_DEPTH:
            return
        self._halt[0] = 0
        alpha, beta = self._window(step)
        self._side_searches = [
            self._pool.submit(searcher.score, player, opponent, alpha, beta, step.depth + index % 2, step.level)
            for index, searcher in enumerate(self._searchers[1:])
        ]
