"""The symmetries of a game: permutations of fluents, moves and roles that preserve its rules.

Automorphisms of the circuit's graph are found by individualisation and refinement (McKay: Practical graph isomorphism,
1981), one for each vertex of a cell not yet known as an image of the individualised one. There is no backtracking:
some symmetries may be missed. Each one found is verified edge by edge.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.checking.symmetries.graph import CircuitGraph, circuit_graph
from games.gdl.circuit.circuit import Circuit
from games.gdl.refinement import Colours

Permutation = NDArray[np.int64]
"""int64[n]: image of each element."""

SEARCH_SECONDS = 5.0
"""CPU time of a search, in seconds."""

LISTED_ELEMENTS = 64
"""Largest group that is enumerated, to choose its simplest generators."""

_CHOSEN = np.uint64(0xD1B54A32D192ED03)


@dataclass(frozen=True, eq=False)
class Symmetry:
    """Images of fluents, moves (of all roles in order) and roles."""

    fluents: Permutation
    """Images of fluents; those without influence stay."""
    moves: Permutation
    roles: Permutation
    used: NDArray[np.int64]
    """Fluents with influence."""

    @property
    def moved(self) -> int:
        """Number of elements that move."""
        return sum(int((one != np.arange(len(one))).sum()) for one in (self.fluents, self.moves, self.roles))

    @property
    def swaps_roles(self) -> bool:
        """Whether some role maps to another."""
        return bool((self.roles != np.arange(len(self.roles))).any())

    def keeps(self, initial: NDArray[np.bool_]) -> bool:
        """Whether a set of fluents (bool[fluents]) is preserved."""
        return bool((initial[self.fluents] == initial)[self.used].all())


@dataclass(frozen=True)
class Symmetries:
    """A group of symmetries."""

    generators: list[Symmetry]
    order: int
    """Number of symmetries, with the identity; a lower bound unless `complete`."""
    complete: bool
    """Whether the search finished. Even then, some may be missed."""


def find_symmetries(circuit: Circuit, *, seconds: float = SEARCH_SECONDS) -> Symmetries:
    """The symmetries of an unfactored circuit, within this CPU time of the process."""
    graph = circuit_graph(circuit)
    search = _Search(graph, time.process_time() + seconds)
    search.run()
    restricted = {}
    for found in search.found:
        one = _restricted(graph, found)
        if one.moved:
            restricted[_key(one)] = one
    generators = list(restricted.values())
    order = search.order
    if not generators:
        order = 1
    elif order <= LISTED_ELEMENTS:
        elements = _generated(generators)
        generators, order = _simplest(elements), len(elements)
    return Symmetries(generators, order, search.complete)


def _restricted(graph: CircuitGraph, found: Permutation) -> Symmetry:
    number = np.full(len(found), -1, np.int64)
    number[graph.fluents] = np.arange(len(graph.fluents))
    number[graph.moves] = np.arange(len(graph.moves))
    number[graph.roles] = np.arange(len(graph.roles))
    fluents = np.arange(graph.n_fluents)
    fluents[graph.used] = graph.used[number[found[graph.fluents]]]
    return Symmetry(fluents, number[found[graph.moves]], number[found[graph.roles]], graph.used)


def _key(one: Symmetry) -> bytes:
    return one.fluents.tobytes() + one.moves.tobytes() + one.roles.tobytes()


def _then(first: Symmetry, second: Symmetry) -> Symmetry:
    return Symmetry(second.fluents[first.fluents], second.moves[first.moves], second.roles[first.roles], first.used)


def _generated(generators: Sequence[Symmetry]) -> dict[bytes, Symmetry]:
    """All products of the generators, with the identity."""
    some = generators[0]
    fluents, moves, roles = (np.arange(len(one)) for one in (some.fluents, some.moves, some.roles))
    identity = Symmetry(fluents, moves, roles, some.used)
    elements = {_key(identity): identity}
    waiting = [identity]
    while waiting:
        one = waiting.pop()
        for generator in generators:
            product = _then(one, generator)
            if elements.setdefault(_key(product), product) is product:
                waiting.append(product)
    return elements


def _simplest(elements: dict[bytes, Symmetry]) -> list[Symmetry]:
    """Generators of a small group: preferably involutions that keep roles and move little."""

    def effort(one: Symmetry) -> tuple[bool, bool, int, bytes]:
        twice = _then(one, one)
        return bool(twice.moved), one.swaps_roles, one.moved, _key(one)

    chosen: list[Symmetry] = []
    reached: dict[bytes, Symmetry] = {}
    for one in sorted(elements.values(), key=effort):
        if one.moved and _key(one) not in reached:
            chosen.append(one)
            reached = _generated(chosen)
        if len(reached) == len(elements):
            break
    return chosen


class _Search:
    """One search; its result is `found`."""

    def __init__(self, graph: CircuitGraph, deadline: float) -> None:
        self._graph = graph
        self._deadline = deadline
        whole, part, kind = graph.edges
        self._edges = _sorted_edges(whole, part, kind)
        self.found: list[Permutation] = []
        self.order = 1
        self.complete = False

    def run(self) -> None:
        refine = self._graph.graph.refine
        levels = [refine(self._graph.colours)]
        base: list[int] = []
        while (vertex := _choose(levels[-1])) is not None:
            if self._late():
                return
            base.append(vertex)
            levels.append(refine(_individualised(levels[-1], vertex)))
        for depth in reversed(range(len(base))):
            # Those found so far fix the vertices chosen before this one.
            orbit = self._orbit(base[depth])
            for vertex in np.flatnonzero(levels[depth] == levels[depth][base[depth]]).tolist():
                if vertex in orbit:
                    continue
                if self._late():
                    return
                image = self._image(levels, base, depth, vertex)
                if image is not None:
                    self.found.append(image)
                    orbit = self._orbit(base[depth])
            self.order *= len(orbit)
        self.complete = True

    def _late(self) -> bool:
        return time.process_time() > self._deadline

    def _orbit(self, vertex: int) -> set[int]:
        reached, waiting = {vertex}, [vertex]
        while waiting:
            one = waiting.pop()
            for permutation in self.found:
                image = int(permutation[one])
                if image not in reached:
                    reached.add(image)
                    waiting.append(image)
        return reached

    def _image(self, levels: list[Colours], base: list[int], depth: int, vertex: int) -> Permutation | None:
        """An automorphism from the base vertex at that depth to another vertex; None if the guesses find none."""
        colours = levels[depth]
        for level in range(depth, len(base)):
            if level > depth:
                if self._late():
                    return None
                alike = np.flatnonzero(colours == levels[level][base[level]])
                # Keep fixed points where possible: symmetries become simpler.
                vertex = base[level] if base[level] in alike else int(alike[0])
            colours = self._graph.graph.refine(_individualised(colours, vertex))
            if not (np.sort(colours) == np.sort(levels[level + 1])).all():
                return None
        image = np.empty(len(colours), np.int64)
        image[np.argsort(levels[-1])] = np.argsort(colours)
        return image if self._verified(image) else None

    def _verified(self, image: Permutation) -> bool:
        colours = self._graph.colours
        if not (colours[image] == colours).all():
            return False
        whole, part, kind = self._graph.edges
        mapped = _sorted_edges(image[whole], image[part], kind)
        return all((one == other).all() for one, other in zip(mapped, self._edges, strict=True))


def _sorted_edges(whole: Permutation, part: Permutation, kind: Colours) -> tuple[Permutation, Permutation, Colours]:
    order = np.lexsort((kind, part, whole))
    return whole[order], part[order], kind[order]


def _choose(colours: Colours) -> int | None:
    """The first vertex of the largest cell; None if every cell is a single vertex."""
    _, first, count = np.unique(colours, return_index=True, return_counts=True)
    largest = int(count.argmax())
    return int(first[largest]) if count[largest] > 1 else None


def _individualised(colours: Colours, vertex: int) -> Colours:
    result = colours.copy()
    result[vertex : vertex + 1] = result[vertex : vertex + 1] * np.uint64(0x9E3779B97F4A7C15) ^ _CHOSEN
    return result
