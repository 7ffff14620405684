"""Gradient descent by Adam (Kingma, Ba: Adam, a method for stochastic optimization, 2015).

The result may be an average of the weights on the way (Shamir, Zhang 2013), and weights may decay (Loshchilov, Hutter:
Decoupled weight decay regularization, 2019).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.compiling import KERNEL

_DECAY, _SQUARE_DECAY, _TINY = np.float32(0.9), np.float32(0.999), np.float32(1e-8)
_NONE, _FULL = np.float32(0.0), np.float32(1.0)


class Adam:
    """Weights that step against their gradient."""

    def __init__(self, weights: NDArray[np.float32], decay: float = 0.0) -> None:
        """`weights` (n) are changed in place; `decay` is the share that a step takes away of each, in units of the
        rate."""
        self.weights: Final = weights
        self.gradient: Final = np.zeros_like(weights)
        """(n) to be added to between steps."""
        self.average: Final = weights.copy()
        """(n) of the weights after the steps."""
        self._decay = decay
        self._mean, self._square = np.zeros_like(weights), np.zeros_like(weights)
        self._steps = 0

    def step(self, rate: float, scale: float, share: float = 1.0) -> None:
        """Takes a step of this rate against the gradient times `scale`, which it empties; moves the average by
        `share`."""
        self._steps += 1
        # Both means begin at 0.
        unbiased = rate * np.sqrt(1 - _SQUARE_DECAY**self._steps) / (1 - _DECAY**self._steps)
        factors = (np.float32(one) for one in (unbiased, scale, share, rate * self._decay))
        _descend(self.weights, self.gradient, self._mean, self._square, self.average, *factors)


@njit(**KERNEL)
def _descend(weights, gradient, mean, square, average, rate, scale, share, lost):
    """See `Adam.step`. The first five are float32[n], the others float32; `lost` is the share that decays."""
    for i in range(len(weights)):
        slope = gradient[i] * scale
        gradient[i] = _NONE
        mean[i] = _DECAY * mean[i] + (_FULL - _DECAY) * slope
        square[i] = _SQUARE_DECAY * square[i] + (_FULL - _SQUARE_DECAY) * slope * slope
        weights[i] -= rate * mean[i] / (np.sqrt(square[i]) + _TINY) + lost * weights[i]
        average[i] += share * (weights[i] - average[i])
