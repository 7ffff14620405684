"""Regression of the weights on the labels of self-play, by stochastic gradient descent.

A position trains its own stage and the nearest neighbouring one, which smooths the stages. Mirror images of a pattern
share their weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from agent.search.reversi.evaluation import (
    EXTRAS,
    STAGES,
    UNIT,
    BoardRules,
    PatternEvaluation,
    parity_number,
    pattern_workspace,
    stage_of,
)
from agent.search.reversi.patterns import WORDS, PatternSet
from agent.search.reversi.training.self_play import LabelledPositions
from games.bits.vectors import sum_byte_rows
from games.bits.words import popcount
from games.native.reversi.rules import legal_moves


@njit(cache=True, nogil=True)
def _features(players, opponents, board, rows, starts, canonical, numbers, features, empties):
    """Write each position's places of weights in a stage (int32[positions, instances + 3]), and its empty cells."""
    lanes = starts.shape[0]
    size = canonical.shape[0]
    for index in range(players.shape[0]):
        player, opponent = players[index], opponents[index]
        empty = board.playable & ~(player | opponent)
        sum_byte_rows(player, opponent, rows, numbers, WORDS)
        for lane in range(lanes):
            number = np.int64((numbers[lane >> 2] >> np.uint64(16 * (lane & 3))) & np.uint64(0xFFFF))
            features[index, lane] = canonical[starts[lane] + number]
        features[index, lanes] = size + popcount(legal_moves(player, opponent, empty))
        features[index, lanes + 1] = size + EXTRAS + popcount(legal_moves(opponent, player, empty))
        features[index, lanes + 2] = size + 2 * EXTRAS + parity_number(empty)
        empties[index] = popcount(empty)


@njit(cache=True, nogil=True)
def _epoch(order, features, empties, scores, weights, rate):
    """One pass of gradient descent over the positions in the given `order` (int64[positions]).

    `features` is int32[positions, instances + 3], `empties` uint8[positions], `scores` float32[positions], `weights`
    float32[STAGES, weights], `rate` float64.
    """
    width = features.shape[1]
    for place in range(order.shape[0]):
        index = order[place]
        own = stage_of(np.int64(empties[index]))
        near = own + (1 if empties[index] & 3 >= 2 else -1)
        for stage in (own, near):
            if 0 <= stage < STAGES:
                total = np.float32(0)
                for column in range(width):
                    total += weights[stage, features[index, column]]
                step = np.float32(rate) * (np.float32(scores[index]) - total)
                for column in range(width):
                    weights[stage, features[index, column]] += step


@dataclass(frozen=True)
class Design:
    """The regression's view of labelled positions."""

    features: npt.NDArray[np.int32]
    empties: npt.NDArray[np.uint8]
    scores: npt.NDArray[np.float32]

    @classmethod
    def of(cls, positions: LabelledPositions, board: BoardRules, patterns: PatternSet) -> Design:
        """The design of labelled positions."""
        features = np.zeros((len(positions), patterns.count + 3), np.int32)
        empties = np.zeros(len(positions), np.uint8)
        _features(
            positions.player, positions.opponent, board, patterns.row_words, patterns.starts, patterns.canonical,
            pattern_workspace(), features, empties,
        )  # fmt: skip
        return cls(features, empties, positions.score)


def fit(
    design: Design,
    patterns: PatternSet,
    start: PatternEvaluation | None,
    *,
    epochs: int = 20,
    rates: tuple[float, float] = (0.008, 0.0008),
    seed: int = 0,
    stop: npt.NDArray[np.uint8] | None = None,
) -> npt.NDArray[np.float32]:
    """The weights (float32[STAGES, weights]) after `epochs` passes, fewer if `stop[0]` is set.

    The learning rate falls geometrically between `rates`.
    """
    size = len(patterns.canonical)
    weights = np.zeros((STAGES, size + 3 * EXTRAS), np.float32)
    if start is not None:
        weights[:] = start.weights / np.float32(UNIT)
    generator = np.random.default_rng(seed)
    for epoch in range(epochs):
        if stop is not None and stop[0]:
            break
        rate = rates[0] * (rates[1] / rates[0]) ** (epoch / max(1, epochs - 1))
        order = generator.permutation(len(design.scores))
        _epoch(order, design.features, design.empties, design.scores, weights, rate)
    return weights


def finished(weights: npt.NDArray[np.float32], patterns: PatternSet) -> PatternEvaluation:
    """The evaluation with the weights, mirror images filled in, rounded to the shipped unit."""
    size = len(patterns.canonical)
    full = weights.copy()
    full[:, :size] = weights[:, patterns.canonical]
    return PatternEvaluation(patterns, np.clip(np.rint(full * UNIT), -32768, 32767).astype(np.int16))
