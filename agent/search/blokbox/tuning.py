"""What matches and self-play decided: how playouts, priors and the tree search are weighted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from games.native.blokbox.variant import Variant


class Tuning(NamedTuple):
    """Everything that the tree search can be tuned by."""

    shape_weights: NDArray[np.int64]
    """[shapes]: how much likelier a playout chooses one move than another."""
    prior_weights: NDArray[np.float64]
    """[features]: see `priors`."""
    exploration: float
    """PUCT's constant."""
    first_play: float
    """How much worse than its parent an unvisited move is taken to be."""
    patience: int
    """Visits before a node is expanded."""


def default_tuning(variant: Variant) -> Tuning:
    """The tuning that won the matches."""
    return Tuning(
        shape_weights=np.ones(len(variant.shapes), np.int64),
        prior_weights=np.array([0.5, 0.5, 0.0, -0.2, 0.2, 0.8]),
        exploration=2.0,
        first_play=0.1,
        patience=2,
    )
