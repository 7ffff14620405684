"""Alpha-beta at work beside the tree search: deepens from the root until it has proven the result, move by move.

A proof needs all of a position's moves, and alpha-beta visits those of a narrow window only: in the same time it proves
results two to three plies earlier than the tree search's own solver. It is meant to run in a thread of its own; what
it finds out about root moves is read while it runs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agent.search.blokbox.guiding.tuning import Tuning
from agent.search.blokbox.proving.alphabeta import (
    BEST_MOVE,
    FINISHED,
    MAX_DEPTH,
    NODES,
    SCORE,
    WIN,
    iterate,
    new_stacks,
    new_table,
)
from agent.search.engine import StopFlag
from games.native.blokbox.variant import Variant

TABLE_ENTRIES = 1 << 22
"""Entries of the transposition table, 16 bytes each."""


class Prover:
    """Searches one root position at a time; the table is kept from one to the next."""

    def __init__(self, variant: Variant, tuning: Tuning, *, entries: int = TABLE_ENTRIES) -> None:
        self._tables = variant.tables
        self._tuning = tuning
        self._stacks = new_stacks(variant)
        self._table = new_table(entries)
        self.lost: NDArray[np.uint8] = np.zeros(len(variant.tables.effects), np.uint8)
        """[moves]: 1 for root moves that are proven to lose; written while the search runs."""
        self.best_move = -1
        """The best root move of the last iteration that found one, or -1."""
        self.score = 0
        """Its score (see `alphabeta`); `WIN` and `-WIN` are proofs."""
        self.depth = 0
        """The last iteration that was finished."""
        self.nodes = 0

    @property
    def proven(self) -> bool:
        """Whether the result of the root is known."""
        return abs(self.score) == WIN

    def forget(self) -> None:
        """Prepare for another root."""
        self.lost[:] = 0
        self.best_move, self.score, self.depth = -1, 0, 0

    def run(self, root: NDArray[np.uint64], stop: StopFlag, *, max_depth: int = MAX_DEPTH) -> None:
        """Deepen until the result is proven, `max_depth` is reached or `stop[0]` is not 0 (then within a millisecond)."""
        result = np.zeros(4, np.int64)
        self._stacks.history[:] = 0
        self._stacks.killers[:] = -1
        tuning = self._tuning
        while not (self.proven or stop[0]) and self.depth < max_depth:
            iterate(
                self._tables,
                root,
                self.depth + 1,
                self._stacks,
                self._table,
                tuning.evaluation,
                tuning.prior_weights,
                tuning.room,
                self.lost,
                stop,
                result,
            )
            self.nodes += int(result[NODES])
            if result[BEST_MOVE] >= 0 and (result[FINISHED] or result[SCORE] == WIN):
                self.best_move, self.score = int(result[BEST_MOVE]), int(result[SCORE])
            if not result[FINISHED]:
                return
            self.depth += 1
