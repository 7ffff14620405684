"""Weights from self-play and constants of the tree search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.blokbox.guiding.evaluation import N_FEATURES, N_STAGES, room
from agent.search.blokbox.guiding.network import Network, no_network
from agent.search.blokbox.guiding.priors import N_COUNTS
from games.native.blokbox.variant import BlokboxVariant


@dataclass(frozen=True)
class GeneralWeights:
    """Weights for variants without a network, fitted by `tests.instruments.training.blokbox.regression`."""

    evaluation: NDArray[np.float64]
    """[N_STAGES, evaluation.N_FEATURES + 1]: see `evaluation.value_logit`."""
    priors: NDArray[np.float64]
    """[priors.N_COUNTS]: see `priors.move_priors`."""

    @classmethod
    def none(cls) -> GeneralWeights:
        """Weights of 0."""
        return cls(np.zeros((N_STAGES, N_FEATURES + 1)), np.zeros(N_COUNTS))


class Tuning(NamedTuple):
    """Weights and constants in the form of the kernels."""

    network: Network
    """Network, without rows where the variant has none; then the weights below are used."""
    prior_weights: NDArray[np.float64]
    """`GeneralWeights.priors`"""
    evaluation: NDArray[np.float64]
    """`GeneralWeights.evaluation`"""
    room: int
    """Room of the first position (see `evaluation.room`)."""
    playout_share: float
    """Share of the playout in a leaf's value, beside the evaluation: with a network, 64 % against 0.3 (see
    docs/experiments.md)."""
    exploration: float
    """PUCT's constant: with a network, 55 % against 1.6 and 57 % against 0.6 (see docs/experiments.md)."""
    first_play: float
    """Value of an unvisited move below its parent's; 0 and 0.25 chose no better or worse moves."""
    patience: int
    """Visits before a node is expanded; 6 was no better (see docs/experiments.md)."""


def tuning_for(variant: BlokboxVariant, weights: GeneralWeights, network: Network | None = None) -> Tuning:
    """The tuning that won the matches, with a network or without one."""
    pieces = {shape.piece for shape in variant.shapes}
    # A match that begins midway has the stages of the whole one: then the board was nearly empty.
    begun = any(owned != pieces for owned in variant.owned)
    return Tuning(
        network=no_network() if network is None else network,
        prior_weights=weights.priors,
        evaluation=weights.evaluation,
        room=2 * variant.width * variant.height if begun else int(room(variant.start)),
        playout_share=0.5,
        exploration=2.0 if network is None else 1.0,
        first_play=0.1,
        patience=2,
    )
