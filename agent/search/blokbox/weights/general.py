"""Files of the weights of evaluation and priors for variants without a network."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from agent.search.blokbox.guiding.tuning import GeneralWeights

FILE = "general.npz"
"""Name of the file beside the networks."""
SHIPPED = Path(__file__).parent / FILE


def load(path: Path = SHIPPED) -> GeneralWeights:
    """Read weights from a file (.npz), the shipped one by default."""
    with np.load(path) as arrays:
        return GeneralWeights(arrays["evaluation"], arrays["priors"])


def save(path: Path, weights: GeneralWeights) -> None:
    """Write weights to a file (.npz)."""
    np.savez(path, evaluation=weights.evaluation, priors=weights.priors)
