"""What matches and self-play decided: how playouts, priors, evaluation and the tree search are weighted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.blokbox.guiding.evaluation import N_FEATURES, N_STAGES, room
from agent.search.blokbox.guiding.network import Net
from agent.search.blokbox.guiding.priors import N_FEATURES as N_PRIORS
from agent.search.blokbox.weights.networks import no_net
from games.native.blokbox.variant import Variant

SHIPPED = Path(__file__).parents[1] / "weights" / "general.npz"


@dataclass(frozen=True)
class Weights:
    """What `regression` finds."""

    evaluation: NDArray[np.float64]
    """[stages, features + 1]: see `evaluation`."""
    priors: NDArray[np.float64]
    """[features]: see `priors`."""

    @classmethod
    def load(cls, path: Path = SHIPPED) -> Weights:
        """Weights from a file."""
        with np.load(path) as arrays:
            return cls(arrays["evaluation"], arrays["priors"])

    @classmethod
    def none(cls) -> Weights:
        """Weights that know nothing."""
        return cls(np.zeros((N_STAGES, N_FEATURES + 1)), np.zeros(N_PRIORS))

    def save(self, path: Path) -> None:
        """Write the weights to a file (.npz)."""
        np.savez(path, evaluation=self.evaluation, priors=self.priors)


class Tuning(NamedTuple):
    """Everything that the tree search can be tuned by, as its kernels take it."""

    shape_weights: NDArray[np.int64]
    """[shapes]: how much likelier a playout chooses one move than another."""
    net: Net
    """Without rows where there is none for the variant; the weights that follow are used then."""
    prior_weights: NDArray[np.float64]
    evaluation: NDArray[np.float64]
    room: int
    """That of the first position (see `evaluation`)."""
    playout_share: float
    """How much of a leaf's value comes from a playout; the rest comes from the evaluation."""
    exploration: float
    """PUCT's constant."""
    first_play: float
    """How much worse than its parent an unvisited move is taken to be."""
    patience: int
    """Visits before a node is expanded."""


def tuning_for(variant: Variant, weights: Weights, net: Net | None = None) -> Tuning:
    """The tuning that won the matches, with a network or without one."""
    return Tuning(
        shape_weights=np.ones(len(variant.shapes), np.int64),
        net=no_net() if net is None else net,
        prior_weights=weights.priors,
        evaluation=weights.evaluation,
        room=int(room(variant.start)),
        playout_share=0.5,
        exploration=2.0 if net is None else 1.0,
        first_play=0.1,
        patience=2,
    )
