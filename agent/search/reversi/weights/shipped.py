"""The shipped weights, and the choice of a variant's.

An untrained variant gets the weights of the nearest trained one: same shape of board and way of winning, fewest
different cells. Other shapes of board begin with `PatternEvaluation.heuristic`, until the engine has learnt better ones
(`training.quick`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from agent.search.reversi.evaluation import PatternEvaluation
from agent.search.reversi.selectivity import DEFAULT_COEFFICIENTS, Coefficients
from games.bits.board8x8 import FULL
from games.native.reversi.rules import ReversiVariant, cells_of

FOLDER = Path(__file__).parent
INNER_CORNERS = 1 << 18 | 1 << 21 | 1 << 42 | 1 << 45
"""The cells (3,3), (3,6), (6,3), (6,6)."""
HEURISTIC = "heuristic"
"""Source of the weights of `PatternEvaluation.heuristic`."""

TRAINED: dict[str, ReversiVariant] = {
    "standard": ReversiVariant(),
    "blocked": ReversiVariant(playable=FULL & ~INNER_CORNERS),
    "suicide": ReversiVariant(minority=True),
}
"""Trained variants by the names of their files."""


@dataclass(frozen=True)
class WeightSet:
    """An evaluation and the error model of its searches."""

    evaluation: PatternEvaluation
    coefficients: Coefficients
    source: str
    """Trained variant that the weights come from, HEURISTIC, or another origin."""


def weights_for(variant: ReversiVariant, folder: Path = FOLDER) -> WeightSet:
    """The best weights at hand for a variant."""
    columns, rows = extent(variant.playable)
    nearest = [
        ((trained.playable ^ variant.playable).bit_count(), name)
        for name, trained in TRAINED.items()
        if trained.minority == variant.minority and (columns, rows) == (8, 8) and (folder / f"{name}.npz").exists()
    ]
    if nearest:
        return load_weights(folder / f"{min(nearest)[1]}.npz")
    return WeightSet(PatternEvaluation.heuristic(columns, rows, variant.sign), DEFAULT_COEFFICIENTS, HEURISTIC)


@lru_cache(maxsize=4)
def load_weights(path: Path) -> WeightSet:
    """Read a file of `save_weights`."""
    with np.load(path) as data:
        coefficients = tuple(float(value) for value in data["coefficients"])
    return WeightSet(PatternEvaluation.load(path), coefficients, path.stem)  # type: ignore[arg-type]


def save_weights(path: Path, evaluation: PatternEvaluation, coefficients: Coefficients) -> None:
    """Write weights to a compressed .npz file."""
    evaluation.save(path, coefficients=np.array(coefficients))


def extent(playable: int) -> tuple[int, int]:
    """(columns, rows) of the smallest rectangle in the bitboard's corner that holds all playable cells."""
    cells = list(cells_of(playable))
    return max(cell % 8 for cell in cells) + 1, max(cell // 8 for cell in cells) + 1
