"""Alpha-beta at work beside the tree search: deepens from the root until it has proven the result, move by move.

A proof needs all of a position's moves, and alpha-beta visits those of a narrow window only: in the same time it proves
results two to three plies earlier than the tree search's own solver. It is meant to run in a thread of its own; what
it finds out about root moves is read while it runs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agent.search.alphabeta.frames import NO_MOVE
from agent.search.blokbox.guiding.evaluation import room
from agent.search.blokbox.guiding.tuning import Tuning
from agent.search.blokbox.proving.alphabeta import (
    MAX_DEPTH,
    VERDICT_MOVES,
    VERDICT_ROOM,
    WIN,
    BlokboxGame,
    new_table,
    new_workspace,
    search,
)
from agent.search.engine import StopFlag
from games.native.blokbox.variant import BlokboxVariant

TABLE_ENTRIES = 1 << 22
"""Entries of the transposition table, 16 bytes each."""


class BlokboxProver:
    """Searches one root position at a time; the table is kept from one to the next."""

    def __init__(self, variant: BlokboxVariant, tuning: Tuning, *, entries: int = TABLE_ENTRIES) -> None:
        self.lost: NDArray[np.uint8] = np.zeros(len(variant.tables.effects), np.uint8)
        """[moves]: 1 for root moves that are proven to lose; written while the search runs."""
        self.best_move = NO_MOVE
        """The best root move of the last iteration that found one, or NO_MOVE."""
        self.score = 0
        """Its score (see `alphabeta`); `WIN` and `-WIN` are proofs."""
        self.depth = 0
        """The last iteration that was finished."""
        self._game = BlokboxGame(
            variant.tables,
            tuning.evaluation,
            tuning.prior_weights,
            tuning.room,
            new_table(entries),
            new_workspace(variant),
            self.lost,
        )

    @property
    def nodes(self) -> int:
        """Positions visited so far."""
        return int(self._game.work.nodes[0])

    @property
    def proven(self) -> bool:
        """Whether the result of the root is known."""
        return abs(self.score) == WIN

    def forget(self) -> None:
        """Prepare for another root."""
        self.lost[:] = 0
        self.best_move, self.score, self.depth = NO_MOVE, 0, 0

    def run(self, root: NDArray[np.uint64], stop: StopFlag, *, max_depth: int = MAX_DEPTH) -> None:
        """Deepen until the result is proven or `max_depth` is reached; return soon after `stop[0]` is set (1 ms)."""
        early = room(root) > VERDICT_ROOM * self._game.room
        game = self._game._replace(verdict_moves=0 if early else VERDICT_MOVES)
        work = game.work
        work.history[:] = 0
        work.killers[:] = -1
        while not (self.proven or stop[0]) and self.depth < max_depth:
            finished = search(game, root, self.depth + 1, stop)
            result = work.frames[0]
            score = int(result["value"] if finished else result["best"])
            if result["best_move"] != NO_MOVE and (finished or score == WIN):
                self.best_move, self.score = int(result["best_move"]), score
            if not finished:
                return
            self.depth += 1
