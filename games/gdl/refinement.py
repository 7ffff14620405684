"""Colour refinement (Weisfeiler and Leman 1968) of graphs whose edges have a direction and a kind.

Colours are 64-bit hashes of a vertex's surroundings. They do not depend on the numbering of vertices, so colours of
different graphs, or of one graph after different choices, can be compared.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Colours: TypeAlias = NDArray[np.uint64]


class Graph:
    """The edges in both directions, by target."""

    def __init__(self, vertices: int, whole: NDArray[np.int64], part: NDArray[np.int64], kind: Colours) -> None:
        """Edges lead from `whole` to `part`, both int64[edges]; `kind` are hashes, uint64[edges]."""
        to = np.concatenate([part, whole])
        order = np.argsort(to, kind="stable")
        self._from = np.concatenate([whole, part])[order]
        self._kind = np.concatenate([kind, ~kind])[order]
        self._begin = np.searchsorted(to[order], np.arange(vertices + 1))

    def refine(self, colours: Colours) -> Colours:
        """The coarsest stable refinement of the colours: neighbours tell no more vertices apart."""
        classes = len(np.unique(colours))
        total = np.zeros(len(self._from) + 1, np.uint64)
        while True:
            np.cumsum(_mixed(colours[self._from] ^ self._kind), out=total[1:])
            # Sums modulo 2^64 do not depend on the order of the neighbours.
            seen = total[self._begin[1:]] - total[self._begin[:-1]]
            finer = _mixed(_mixed(colours) + seen)
            found = len(np.unique(finer))
            if found == classes:
                return colours
            colours, classes = finer, found


def _mixed(words: Colours) -> Colours:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014): one to one, each bit depends on all."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
