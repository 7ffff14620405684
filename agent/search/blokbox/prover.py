"""Searches at work beside the tree search, until they have proven the result, move by move.

A proof needs all of a position's moves, and these searches look at as few as they can: in the same time they prove
results some plies earlier than the tree search's own solver. They are meant to run in a thread of their own; what they
find out about root moves is read while they run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from agent.engine import StopFlag
from agent.search.blokbox import dfpn
from agent.search.blokbox.alphabeta import (
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
from agent.search.blokbox.dfpn import BUCKET, new_frames, new_proof_table, prove
from agent.search.blokbox.tuning import Tuning
from games.native.blokbox.variant import Variant

TABLE_ENTRIES = 1 << 22
"""Entries of the transposition table: 16 bytes each for alpha-beta, 20 for proof numbers."""


class RootSearch(ABC):
    """Searches one root position at a time; what it has learned is kept from one to the next."""

    def __init__(self, variant: Variant, tuning: Tuning) -> None:
        self._tables = variant.tables
        self._tuning = tuning
        self.lost: NDArray[np.uint8] = np.zeros(len(variant.tables.effects), np.uint8)
        """[moves]: 1 for root moves that are proven to lose; written while the search runs."""
        self.best_move = -1
        """The best root move that was found, or -1."""
        self.score = 0
        """Its score (see `alphabeta`); `WIN` and `-WIN` are proofs."""
        self.depth = 0
        """The last iteration that was finished, of searches that have any."""
        self.nodes = 0

    @property
    def proven(self) -> bool:
        """Whether the result of the root is known."""
        return abs(self.score) == WIN

    def forget(self) -> None:
        """Prepare for another root."""
        self.lost[:] = 0
        self.best_move, self.score, self.depth = -1, 0, 0

    @abstractmethod
    def run(self, root: NDArray[np.uint64], stop: StopFlag) -> None:
        """Search until the result is proven or `stop[0]` is not 0; returns within a millisecond then."""


class ProofNumberProver(RootSearch):
    """Proof-number search: has no opinion on what it has not proven, and proves the most."""

    def __init__(self, variant: Variant, tuning: Tuning, *, entries: int = TABLE_ENTRIES) -> None:
        super().__init__(variant, tuning)
        self._frames = new_frames(variant)
        self._table = new_proof_table(max(BUCKET, entries))

    def run(self, root: NDArray[np.uint64], stop: StopFlag) -> None:
        result = np.zeros(3, np.int64)
        tuning = self._tuning
        prove(self._tables, root, self._frames, self._table, tuning.evaluation, tuning.room, self.lost, stop, result)
        self.nodes += int(result[dfpn.NODES])
        # The move first: other threads look at the score to see whether there is one.
        self.best_move = int(result[dfpn.BEST_MOVE])
        self.score = WIN * int(result[dfpn.RESULT])


class Prover(RootSearch):
    """Alpha-beta, deepened iteratively: the best move of each iteration that found one."""

    def __init__(self, variant: Variant, tuning: Tuning, *, entries: int = TABLE_ENTRIES) -> None:
        super().__init__(variant, tuning)
        self._stacks = new_stacks(variant)
        self._table = new_table(entries)

    def run(self, root: NDArray[np.uint64], stop: StopFlag) -> None:
        result = np.zeros(4, np.int64)
        self._stacks.history[:] = 0
        self._stacks.killers[:] = -1
        tuning = self._tuning
        while not (self.proven or stop[0]) and self.depth < MAX_DEPTH:
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
