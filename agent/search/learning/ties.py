"""Features that share a weight because symmetries of the game map one to the other.

A symmetry that keeps the roles maps a state to one of equal worth; one that swaps them, to one of opposite worth. So
there are fewer weights to learn from as many positions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agent.search.evaluation.features import Features
from games.gdl.running.machine import CircuitMachine
from games.gdl.running.rebuilding import is_cyclic, unfactored
from games.gdl.structure.symmetry import Symmetry, find_symmetries

MAX_INPUTS = 200_000
"""Limit on gate inputs of circuits searched for symmetries."""
SECONDS = 1.0
"""Limit on CPU time of that search."""


MOST_VIEWS = 16
"""Limit on images of a position that are learnt from."""


def views_of(features: Features, symmetries: Sequence[Symmetry]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Returns the images (views, features) of features under symmetries that these generate, -1 for none, and whether
    each (views) swaps the roles."""
    n = features.n_fluents
    same = np.arange(n)
    found = [(same, False)]
    known = {same.tobytes()}
    for images, swaps in found:
        for one in symmetries:
            both = one.fluents[images]
            if both.tobytes() not in known and len(found) < MOST_VIEWS:
                known.add(both.tobytes())
                found.append((both, swaps != one.swaps_roles))
    views = np.array([_images(features, images) for images, _ in found], np.int32)
    return views, np.array([swaps for _, swaps in found], np.bool_)


def _images(features: Features, to: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns (features) the image of each where fluents have these images (fluents); -1 if it is not a feature."""
    images = np.full(features.n, -1, np.int64)
    images[: features.n_fluents] = to
    sets = [tuple(features.fact[begin:end].tolist()) for begin, end in _ranges(features.first)]
    places = {frozenset(chosen): c for c, chosen in enumerate(sets)}
    for c, chosen in enumerate(sets):
        image = places.get(frozenset(to[list(chosen)].tolist()))
        if image is not None:
            images[features.column[c]] = features.column[image]
    threat = dict(zip(features.fact.tolist(), features.threat.tolist(), strict=False))
    for fact, place in threat.items():
        images[place] = threat.get(int(to[fact]), -1)
    pairs = {frozenset(pair): place for place, pair in enumerate(features.pair.tolist(), features.n_single)}
    for pair, place in pairs.items():
        images[place] = pairs.get(frozenset(to[list(pair)].tolist()), -1)
    return images


def _ranges(first: NDArray[np.int32]) -> list[tuple[int, int]]:
    return list(zip(first[:-1].tolist(), first[1:].tolist(), strict=True))


def symmetries_of(machine: CircuitMachine) -> list[Symmetry]:
    """Returns generators of a game's symmetries, as far as found within the time limit."""
    programs = machine.programs
    inputs = sum(len(one.inputs) for one in (programs.legal, programs.next, programs.goal))
    if inputs > MAX_INPUTS or is_cyclic(machine):
        return []
    circuit = unfactored(machine)
    return [] if circuit is None else find_symmetries(circuit, seconds=SECONDS).generators
