"""The evaluation: patterns by stage of the game plus mobility and parity, in discs for the side to move.

A stage is four empty cells wide. Weights are `int16` in units of 1/128 disc. A stage's array holds those of the
patterns, own mobility, the opponent's mobility, and parity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from agent.search.reversi.endings import INFINITE, QUADRANTS
from agent.search.reversi.patterns import LANES, WORDS, PatternSet
from games.bits.board8x8 import flips
from games.bits.compiling import INNER, KERNEL
from games.bits.vectors import sum_byte_rows
from games.bits.words import lowest, popcount
from games.native.reversi.rules import ReversiVariant, final_score, legal_moves

STAGES = 16
STAGE_SHIFT = 2
"""Logarithm of the numbers of empty cells in a stage."""
UNIT = 128
"""Weight of a disc."""
EXTRAS = 64
"""Weights for each feature beside the patterns."""
_ONE = np.uint64(1)
_LANE = np.uint64(0xFFFF)


class EvaluationTables(NamedTuple):
    """Tables of the evaluation's kernels."""

    rows: npt.NDArray[np.uint64]
    """uint64[8 * 256, WORDS]: see `PatternSet.row_words`."""
    starts: npt.NDArray[np.uint64]
    """uint64[WORDS, 4]: start of each pattern instance's weights; a zero weight for unused lanes."""
    weights: npt.NDArray[np.int16]
    """int16[STAGES, weights]."""


class BoardRules(NamedTuple):
    """Rules of the variant, for the kernels."""

    playable: np.uint64
    """Bitboard of the playable cells."""
    cells: int
    """Number of playable cells."""
    sign: int
    """1, or -1 where fewer discs win."""

    @classmethod
    def of(cls, variant: ReversiVariant) -> BoardRules:
        """The rules of a variant."""
        return cls(np.uint64(variant.playable), variant.cells, variant.sign)


@njit(inline="always")
def stage_of(empties):
    """The stage (int64) of a position with that many empty cells (int64)."""
    return min(empties >> STAGE_SHIFT, STAGES - 1)


@njit(inline="always")
def parity_number(empty):
    """The parity of `empty` (uint64), below EXTRAS: the number within the stage, and the number of odd quadrants."""
    odd = 0
    for quadrant in QUADRANTS:
        odd += popcount(empty & quadrant) & 1
    return 8 * (popcount(empty) & 3) + odd


@njit(**KERNEL)
def evaluate(player, opponent, board, tables, numbers):
    """The heuristic score in discs (int64) for the side to move; exact where the game is over.

    `player` and `opponent` (uint64) are discs, `board` is a BoardRules, `tables` an EvaluationTables, `numbers`
    uint64[WORDS] of `pattern_workspace`.
    """
    empty = board.playable & ~(player | opponent)
    own = popcount(legal_moves(player, opponent, empty))
    other = popcount(legal_moves(opponent, player, empty))
    if own == 0 and other == 0:
        return final_score(player, opponent, board.cells, board.sign)
    sum_byte_rows(player, opponent, tables.rows, numbers, WORDS)
    weights = tables.weights[stage_of(popcount(empty))]
    starts = tables.starts
    extras = weights.shape[0] - 3 * EXTRAS
    total = np.int64(weights[extras + own]) + np.int64(weights[extras + EXTRAS + other])
    total += np.int64(weights[extras + 2 * EXTRAS + parity_number(empty)])
    for word in range(WORDS):
        four = numbers[word]
        total += (
            np.int64(weights[starts[word, 0] + (four & _LANE)])
            + np.int64(weights[starts[word, 1] + (four >> np.uint64(16) & _LANE)])
            + np.int64(weights[starts[word, 2] + (four >> np.uint64(32) & _LANE)])
            + np.int64(weights[starts[word, 3] + (four >> np.uint64(48))])
        )
    limit = board.cells - 2
    return max(-limit, min(limit, (total + UNIT // 2) >> 7))


@njit(**INNER)
def evaluate_1(player, opponent, alpha, beta, board, tables, numbers, nodes):
    """The fail-soft score of a search of depth 1; `nodes` (int64[1]) counts, for the rest see `evaluate`."""
    empty = board.playable & ~(player | opponent)
    for side in range(2):
        moves = legal_moves(player, opponent, empty)
        best = -INFINITE
        while moves:
            cell = lowest(moves)
            bit = moves & (~moves + _ONE)
            moves ^= bit
            turned = flips(cell, player, opponent)
            nodes[0] += 1
            best = max(best, -evaluate(opponent & ~turned, player | turned | bit, board, tables, numbers))
            if best >= beta:
                break
        if best > -INFINITE:
            return -best if side else best
        player, opponent, alpha, beta = opponent, player, -beta, -alpha
    return final_score(player, opponent, board.cells, board.sign)


@njit(**INNER)
def evaluate_2(player, opponent, alpha, beta, board, tables, numbers, nodes):
    """The fail-soft score of a search of depth 2; `nodes` (int64[1]) counts, for the rest see `evaluate`."""
    empty = board.playable & ~(player | opponent)
    for side in range(2):
        moves = legal_moves(player, opponent, empty)
        best = -INFINITE
        while moves:
            cell = lowest(moves)
            bit = moves & (~moves + _ONE)
            moves ^= bit
            turned = flips(cell, player, opponent)
            own, other = player | turned | bit, opponent & ~turned
            nodes[0] += 1
            best = max(best, -evaluate_1(other, own, -beta, -max(alpha, best), board, tables, numbers, nodes))
            if best >= beta:
                break
        if best > -INFINITE:
            return -best if side else best
        player, opponent, alpha, beta = opponent, player, -beta, -alpha
    return final_score(player, opponent, board.cells, board.sign)


@dataclass(frozen=True)
class PatternEvaluation:
    """Patterns and their weights for boards of one shape."""

    patterns: PatternSet
    weights: npt.NDArray[np.int16]
    """int16[STAGES, pattern weights + 3 * EXTRAS]."""

    @property
    def tables(self) -> EvaluationTables:
        """Tables for the kernels."""
        # No position has EXTRAS - 1 moves, so that weight stays zero.
        starts = np.full(LANES, self.patterns.class_starts[-1] + EXTRAS - 1, np.uint64)
        starts[: self.patterns.count] = self.patterns.starts
        return EvaluationTables(self.patterns.row_words, starts.reshape(WORDS, 4), np.ascontiguousarray(self.weights))

    def save(self, path: Path, **notes: Any) -> None:
        """Write the weights, without mirror images, to a compressed .npz file."""
        kept = self.patterns.canonical == np.arange(len(self.patterns.canonical))
        size = len(kept)
        np.savez_compressed(
            path,
            board=np.array([self.patterns.columns, self.patterns.rows]),
            patterns=np.ascontiguousarray(self.weights[:, :size][:, kept]),
            extras=np.ascontiguousarray(self.weights[:, size:]),
            **notes,
        )

    @classmethod
    def load(cls, path: Path) -> PatternEvaluation:
        """Read a file of `save`. Raises `OSError` or `KeyError` for anything else."""
        with np.load(path) as data:
            patterns = pattern_set(int(data["board"][0]), int(data["board"][1]))
            canonical = patterns.canonical
            size = len(canonical)
            weights = np.zeros((STAGES, size + 3 * EXTRAS), np.int16)
            weights[:, :size][:, canonical == np.arange(size)] = data["patterns"]
            weights[:, :size] = weights[:, canonical]
            weights[:, size:] = data["extras"]
        return cls(patterns, weights)

    @classmethod
    def heuristic(cls, columns: int, rows: int, sign: int) -> PatternEvaluation:
        """An untrained evaluation by mobility, corners and the cells beside them, at the end discs."""
        patterns = pattern_set(columns, rows)
        size = int(patterns.class_starts[-1])
        weights = np.zeros((STAGES, size + 3 * EXTRAS), np.float64)
        late = np.maximum(0.0, 1 - np.arange(STAGES) / 5)[:, None]
        moves = np.arange(EXTRAS - 1, dtype=np.float64)
        mobility = (1 - late) * 6 * np.log2(1 + moves)
        weights[:, size : size + EXTRAS - 1] = mobility
        weights[:, size + EXTRAS : size + 2 * EXTRAS - 1] = -mobility
        if "corner 3x3" in patterns.names:
            index = patterns.names.index("corner 3x3")
            numbers = np.arange(patterns.class_sizes[index])
            # From the most significant digit: the corner, a C cell, an unused one, a C cell, the X cell; 1 if the side
            # to move owns it, -1 if the opponent does.
            corner, edge, _, other_edge, diagonal = ((numbers // 3 ** (8 - place) + 1) % 3 - 1 for place in range(5))
            risk = 3.0 * diagonal + 1.0 * (edge + other_edge)
            value = sign * (8.0 * corner - np.where(corner == 0, risk, 0.0))
            start = int(patterns.class_starts[index])
            weights[:, start : start + len(numbers)] = value * np.maximum(0.3, 1 - late)
        return cls(patterns, np.clip(np.rint(weights * UNIT), -32768, 32767).astype(np.int16))


@lru_cache(maxsize=8)
def pattern_set(columns: int, rows: int) -> PatternSet:
    """The patterns of a board, cached: their tables take a moment to build."""
    return PatternSet.of_board(columns, rows)


def pattern_workspace() -> npt.NDArray[np.uint64]:
    """uint64[WORDS]: the memory of the evaluation's kernels."""
    return np.zeros(WORDS, np.uint64)
