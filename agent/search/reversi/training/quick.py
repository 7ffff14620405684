"""Quick learning: weights for an untrained variant, made in seconds while the match begins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from agent.search.alphabeta.table import new_table
from agent.search.reversi.evaluation import BoardRules
from agent.search.reversi.search import ReversiSearcher
from agent.search.reversi.selectivity import margins
from agent.search.reversi.training.fit import Design, finished, fit
from agent.search.reversi.training.self_play import LabelledPositions, SelfPlaySettings, play_games
from agent.search.reversi.weights.shipped import WeightSet
from games.native.reversi.rules import ReversiVariant

ROUNDS = (
    (SelfPlaySettings(depth=3, solve=10, random=(2, 14)), 8000),
    (SelfPlaySettings(depth=4, solve=10, random=(2, 14)), 12000),
)
"""Settings and number of games of each round."""
_SHARD = 250
_EPOCHS = 8


def learn_quickly(
    variant: ReversiVariant,
    start: WeightSet,
    stop: npt.NDArray[np.uint8],
    rounds: Sequence[tuple[SelfPlaySettings, int]] = ROUNDS,
) -> WeightSet | None:
    """Better weights than `start`, from thousands of games of self-play; None if `stop[0]` was set meanwhile."""
    weights = start
    board = BoardRules.of(variant)
    table = new_table(4)
    for number, (play, games) in enumerate(rounds):
        searcher = ReversiSearcher(board, weights.evaluation.tables, margins(weights.coefficients), table)
        searcher.stop = stop
        parts = []
        for seed in range(0, games, _SHARD):
            parts.append(play_games(variant, searcher, play, _SHARD, 1_000_000 * number + seed))
            if stop[0]:
                return None
        patterns = weights.evaluation.patterns
        design = Design.of(LabelledPositions.join(parts), board, patterns)
        evaluation = finished(fit(design, patterns, None, epochs=_EPOCHS, stop=stop), patterns)
        if stop[0]:
            return None
        weights = WeightSet(evaluation, start.coefficients, "learnt")
    return weights
