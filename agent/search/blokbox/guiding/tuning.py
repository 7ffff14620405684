"""How playouts, priors, evaluation and the tree search are weighted: by weights from self-play, and constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.blokbox.guiding.evaluation import N_FEATURES, N_STAGES, room
from agent.search.blokbox.guiding.network import Network, no_network
from agent.search.blokbox.guiding.priors import N_FEATURES as N_PRIORS
from games.native.blokbox.variant import BlokboxVariant


@dataclass(frozen=True)
class GeneralWeights:
    """The weights that variants without a network are played with; `training.regression` finds them."""

    evaluation: NDArray[np.float64]
    """[N_STAGES, evaluation.N_FEATURES + 1]: see `evaluation.value_logit`."""
    priors: NDArray[np.float64]
    """[priors.N_FEATURES]: see `priors.move_priors`."""

    @classmethod
    def none(cls) -> GeneralWeights:
        """Weights that know nothing."""
        return cls(np.zeros((N_STAGES, N_FEATURES + 1)), np.zeros(N_PRIORS))


class Tuning(NamedTuple):
    """Everything that the tree search can be tuned by, as its kernels take it."""

    network: Network
    """Without rows where there is none for the variant; the weights that follow are used then."""
    prior_weights: NDArray[np.float64]
    """`GeneralWeights.priors`"""
    evaluation: NDArray[np.float64]
    """`GeneralWeights.evaluation`"""
    room: int
    """That of the first position (see `evaluation.room`)."""
    playout_share: float
    """How much of a leaf's value comes from a playout; the rest comes from the evaluation.

    With a network, half instead of 0.3 won 51 of 80 games (53-73 %) at 0.12 s a move."""
    exploration: float
    """PUCT's constant. With a network, 1.6 and 0.6 scored 36 and 34 of 80 games against 1.0; without, set by hand."""
    first_play: float
    """How much worse than its parent an unvisited move is taken to be. 0 and 0.25 chose no better or worse moves."""
    patience: int
    """Visits before a node is expanded. 6 scored 38 of 80 games against 2."""


def tuning_for(variant: BlokboxVariant, weights: GeneralWeights, network: Network | None = None) -> Tuning:
    """The tuning that won the matches, with a network or without one."""
    return Tuning(
        network=no_network() if network is None else network,
        prior_weights=weights.priors,
        evaluation=weights.evaluation,
        room=int(room(variant.start)),
        playout_share=0.5,
        exploration=2.0 if network is None else 1.0,
        first_play=0.1,
        patience=2,
    )
