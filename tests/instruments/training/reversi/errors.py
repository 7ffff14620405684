"""The error model of Multi-ProbCut, fitted to the differences between the engine's own searches."""

from __future__ import annotations

import numpy as np

from agent.search.reversi.search import ReversiSearcher
from agent.search.reversi.selectivity import EXACT, Coefficients, probe_depth
from agent.search.reversi.training.self_play import LabelledPositions

MIN_EMPTIES = 12
_BUCKET = 6
"""Empty cells of a bucket."""
_MIN_SAMPLES = 12


def measure(
    searcher: ReversiSearcher, positions: LabelledPositions, max_depth: int
) -> list[tuple[float, int, int, float, int]]:
    """Searches positions to all depths up to `max_depth`, 0 included, without statistical cut-offs.

    Returns (empty cells, depth, probe depth, standard deviation in discs, samples) by empty cells and depths.
    """
    samples: dict[tuple[int, int, int], list[int]] = {}
    cells = searcher.board.cells
    for player, opponent in zip(positions.player.tolist(), positions.opponent.tolist(), strict=True):
        empties = cells - (player | opponent).bit_count()
        deepest = min(max_depth, empties - 1)
        scores = [searcher.score(player, opponent, -cells, cells, depth, EXACT) for depth in range(deepest + 1)]
        for depth in range(2, deepest + 1):
            for probe in {0, max(1, probe_depth(depth))}:
                bucket = samples.setdefault((empties // _BUCKET, depth, probe), [])
                bucket.append(scores[depth] - scores[probe])
    return [
        ((bucket + 0.5) * _BUCKET, depth, probe, float(np.std(differences)), len(differences))
        for (bucket, depth, probe), differences in samples.items()
        if len(differences) >= _MIN_SAMPLES
    ]


def fit_errors(measured: list[tuple[float, int, int, float, int]]) -> Coefficients:
    """Returns the coefficients of `selectivity.deviation` that fit best (weighted least squares)."""
    empties, depth, probe, deviation, count = (np.array(column, np.float64) for column in zip(*measured, strict=True))
    design = np.stack([np.ones_like(empties), empties, empties**2, np.log(depth), np.log(probe + 1)], axis=1)
    weight = np.sqrt(count)
    target = np.log(np.maximum(deviation, 0.5))
    solution, *_ = np.linalg.lstsq(design * weight[:, None], target * weight, rcond=None)
    a, b, c, p, q = (float(value) for value in solution)
    return a, b, c, p, q
