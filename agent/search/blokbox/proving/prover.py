"""Alpha-beta beside the tree search: deepens at the root until the result is proven.

It proves results two to three plies earlier than the tree search's own solver. It runs in a thread of its own; results
for root moves are read meanwhile.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agent.search.alphabeta.frames import NO_MOVE
from agent.search.blokbox.guiding.tuning import Tuning
from agent.search.blokbox.proving import alphabeta
from agent.search.engine import StopFlag
from games.native.blokbox.variant import BlokboxVariant

TABLE_ENTRIES = 1 << 22
"""Entries of the transposition table, 16 bytes each."""


class BlokboxProver:
    """Proves results of root positions, one after the other, with one transposition table."""

    def __init__(self, variant: BlokboxVariant, tuning: Tuning, *, entries: int = TABLE_ENTRIES) -> None:
        self.lost: NDArray[np.uint8] = np.zeros(len(variant.tables.effects), np.uint8)
        """[moves]: 1 for root moves proven to lose; written during the search."""
        self.best_move = NO_MOVE
        """Best root move of the last iteration that found one, or NO_MOVE."""
        self.score = 0
        """Its score (see `alphabeta`); `WIN` and `-WIN` are proofs."""
        self.depth = 0
        """Last finished iteration."""
        self._game = alphabeta.BlokboxGame(
            variant.tables,
            tuning.evaluation,
            tuning.prior_weights,
            tuning.room,
            alphabeta.new_table(entries),
            alphabeta.new_workspace(variant),
            self.lost,
        )

    @property
    def nodes(self) -> int:
        """Number of positions visited so far."""
        return int(self._game.work.nodes[0])

    @property
    def proven(self) -> bool:
        """Whether the result of the root is proven."""
        return abs(self.score) == alphabeta.WIN

    def forget(self) -> None:
        """Prepare for another root."""
        self.lost[:] = 0
        self.best_move, self.score, self.depth = NO_MOVE, 0, 0

    def run(self, root: NDArray[np.uint64], stop: StopFlag, *, max_depth: int = alphabeta.MAX_DEPTH) -> None:
        """Deepen until the result is proven or `max_depth` is reached; return within 1 ms of `stop[0]`."""
        game, work = self._game, self._game.work
        work.history[:] = 0
        work.killers[:] = -1
        while not (self.proven or stop[0]) and self.depth < max_depth:
            finished = alphabeta.search(game, root, self.depth + 1, stop)
            result = work.frames[0]
            score = int(result["value"] if finished else result["best"])
            if result["best_move"] != NO_MOVE and (finished or score == alphabeta.WIN):
                self.best_move, self.score = int(result["best_move"]), score
            if not finished:
                return
            self.depth += 1
