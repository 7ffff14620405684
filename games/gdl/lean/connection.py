"""Connection of two sets of cells through cells of one kind, as gates without cycles.

Cells are eliminated one by one: the neighbours of a cell that goes become connected with each other if it is of the
kind (Gaussian elimination on a closed semiring; Lehmann, "Algebraic structures for transitive closure", 1977). The cell
that joins the fewest new pairs goes first, as for sparse matrices (Tinney and Walker 1967). On a board of hexagons a
side of 9 takes 5,000 gate inputs, as many as a few rounds of spreading from neighbour to neighbour.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

from games.gdl.circuit.builder import CircuitBuilder
from games.gdl.circuit.pool import FALSE, TRUE


def connect(
    builder: CircuitBuilder,
    cells: Sequence[int],
    neighbours: Sequence[Collection[int]],
    one: Collection[int],
    other: Collection[int],
    most: int,
) -> int | None:
    """The literal of "a path of cells leads from `one` set to the `other`"; None if it takes more than `most` gates.

    `cells` are literals that say whether a cell is of the kind; `neighbours` are cells by number, each way.
    """
    start, end = len(cells), len(cells) + 1
    around = [set(some) for some in neighbours] + [set(one), set(other)]
    for side in (start, end):
        for cell in around[side]:
            around[cell].add(side)
    linked = {(a, b): TRUE for a, some in enumerate(around) for b in some if a < b}
    """Per pair, whether a path through eliminated cells leads from one to the other."""

    def joined(cell: int) -> int:
        """The new pairs that its elimination makes."""
        return sum(b not in around[a] for a, b in combinations(around[cell], 2))

    costs = {cell: joined(cell) for cell in range(len(cells))}
    gates = 0
    while costs:
        cell = min(costs, key=lambda cell: (costs[cell], cell))
        del costs[cell]
        others = sorted(around[cell])
        changed = set(others)
        link = {a: linked[min(a, cell), max(a, cell)] for a in others}
        reached = {a: builder.both(link[a], cells[cell]) for a in others}
        for a in others:
            around[a].discard(cell)
        for a, b in combinations(others, 2):
            before = linked.get((a, b), FALSE)
            if before == TRUE:
                continue
            linked[a, b] = builder.either(before, builder.both(reached[a], link[b]))
            gates += 1
            if b not in around[a]:
                around[a].add(b)
                around[b].add(a)
                changed |= around[a] & around[b]
        if gates > most:
            return None
        costs.update((a, joined(a)) for a in changed if a in costs)
    return linked.get((start, end), FALSE)
