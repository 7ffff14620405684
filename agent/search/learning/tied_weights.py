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


class TiedWeights:
    """Features with a common weight, possibly of opposite sign."""

    def __init__(self, features: Features, symmetries: Sequence[Symmetry]) -> None:
        """`symmetries` are those of the game, or generate them; none where features are patterns of fluents."""
        n = features.n
        self.odd = any(one.swaps_roles for one in symmetries)
        """Whether roles can be swapped: the evaluation then has no constant term."""
        groups = _Groups(n)
        for one in symmetries:
            sign = -1 if one.swaps_roles else 1
            for feature, image in enumerate(_images(features, one.fluents).tolist()):
                if image >= 0:
                    groups.join(feature, image, sign)
        place, sign_of = groups.numbered()
        self.n = int(place.max(initial=-1)) + 1
        """Number of weights."""
        self.n_single = int(place[: features.n_single].max(initial=-1)) + 1
        """Number of weights without those of pairs."""
        self._members = np.zeros((n, self.n), np.float32)
        known = place >= 0
        self._members[np.flatnonzero(known), place[known]] = sign_of[known]
        self._sizes = np.maximum(np.abs(self._members).sum(axis=0), 1).astype(np.float64)
        self._trivial = self.n == n

    def reduce(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns the weights' factors (states, n) in states with these features (states, features)."""
        return x if self._trivial else x @ self._members

    def mean(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the weights (n) nearest to those of all features (features)."""
        return weights if self._trivial else (weights @ self._members) / self._sizes

    def expand(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the weights of all features (features)."""
        return weights if self._trivial else (self._members @ weights).astype(np.float64)

    def patterns(self, patterns: NDArray[np.float32]) -> NDArray[np.float64]:
        """Returns (n, n) the patterns shared by weights, by those shared by features (features, features)."""
        if self._trivial:
            return patterns.astype(np.float64)
        shares = (self._members / self._sizes).astype(np.float32)
        common: NDArray[np.float64] = (shares.T @ patterns @ shares).astype(np.float64)
        return common


MOST_VIEWS = 16
"""Limit on images of a position that are learnt from."""


def views_of(features: Features, symmetries: Sequence[Symmetry]) -> NDArray[np.int32]:
    """Returns the images (views, features) of features under symmetries that keep the roles and that these generate.

    -1 stands for none.
    """
    same = np.arange(features.n_fluents)
    found = [(same, False)]
    known = {(same.tobytes(), False)}
    for images, swapped in found:
        for one in symmetries:
            both = one.fluents[images], swapped != one.swaps_roles
            if (both[0].tobytes(), both[1]) not in known and len(found) < 2 * MOST_VIEWS:
                known.add((both[0].tobytes(), both[1]))
                found.append(both)
    views = [np.arange(features.n)] + [_images(features, images) for images, swapped in found[1:] if not swapped]
    return np.array(views[:MOST_VIEWS], np.int32)


class _Groups:
    """Groups of equal or opposite things: union-find with signs."""

    def __init__(self, n: int) -> None:
        self._parent = list(range(n))
        self._sign = [1] * n
        """Relative to the parent."""
        self._nothing: set[int] = set()
        """Roots of groups with a member that is its own opposite."""

    def _find(self, one: int) -> tuple[int, int]:
        sign = 1
        while self._parent[one] != one:
            sign *= self._sign[one]
            one = self._parent[one]
        return one, sign

    def join(self, one: int, other: int, sign: int) -> None:
        """Joins two things as equal, or as opposite with `sign` -1."""
        (root, first), (absorbed, second) = self._find(one), self._find(other)
        if root == absorbed:
            if first != second * sign:
                self._nothing.add(root)
            return
        # The first one represents the group: weights of pairs come last.
        if absorbed < root:
            root, absorbed = absorbed, root
        self._parent[absorbed] = root
        self._sign[absorbed] = first * second * sign
        if absorbed in self._nothing:
            self._nothing.add(root)

    def numbered(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns each one's group, numbered by first members (-1 where it is its own opposite), and its sign there."""
        roots = [self._find(one) for one in range(len(self._parent))]
        numbers: dict[int, int] = {}
        for root, _ in roots:
            if root not in self._nothing:
                numbers.setdefault(root, len(numbers))
        place = np.array([numbers.get(root, -1) for root, _ in roots], np.int64)
        return place, np.array([sign for _, sign in roots], np.int64)


def _images(features: Features, to: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns (features) the image of each where those of fluents are `to` (fluents); -1 if it is not a feature."""
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
