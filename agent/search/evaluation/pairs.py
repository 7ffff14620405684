"""Pairs of facts that moves change together: a piece and its targets, its victims, its guards.

Such relations between neighbours matter in games without conjunctions in `terminal` and `goal`, such as races and games
of capture. Facts are neighbours if single moves of random play change both.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from games.gdl.running.batches import facts_in
from games.gdl.running.machine import CircuitMachine
from games.machine import Term

MAX_PAIRS = 500
"""Limit on pairs, those that change most often: the time of a fit grows with its square."""
MOST_CHANGED = 6
"""Limit on facts changed by a move: larger moves do not show which facts belong together."""
SEEN = 3
"""Moves that must have changed both."""
OFTEN = 0.25
"""Limit on the share of moves that change a fact: more often changed facts, such as the turn, have no neighbours."""
MATCHES = 256
"""Most random matches looked at."""
PLIES, MATCHES_AT_A_PLY = 32, 8
"""Facts that change at the same plies in all matches are clocks: plies examined, and matches needed at a ply."""


class Pairs(NamedTuple):
    """Pairs of facts for kernels, each listed twice: the partners of fact f are `other[first[f] : first[f + 1]]`."""

    first: NDArray[np.int32]
    """(fluents + 1)"""
    other: NDArray[np.int32]
    """Indices of fluents."""
    row: NDArray[np.int32]
    """Row of weights that counts where both facts hold."""


def kernel_form(pairs: NDArray[np.int32], n_fluents: int, row: int) -> Pairs:
    """Returns pairs (n, 2) of fluents for kernels, with rows of weights from `row` on."""
    facts = pairs.ravel()
    order = np.argsort(facts, kind="stable")
    first = np.searchsorted(facts[order], np.arange(n_fluents + 1)).astype(np.int32)
    rows = np.repeat(np.arange(row, row + len(pairs), dtype=np.int32), 2)
    return Pairs(first, pairs[:, ::-1].ravel()[order], rows[order])


def find_pairs(machine: CircuitMachine) -> NDArray[np.int32]:
    """Returns the pairs (n, 2) of a game's fluents, the lower one first; pairs that change together most often come
    first."""
    positions = machine.sample.first(MATCHES)
    return _pairs_of(facts_in(positions.states, len(machine.game.fluents)), positions.match)


def _pairs_of(holds: NDArray[np.bool_], match: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the pairs, by the facts of positions (n, fluents) and the match (n) of each, in order."""
    n = holds.shape[1]
    same = match[1:] == match[:-1]
    changed = (holds[1:] != holds[:-1])[same]
    if not len(changed):
        return np.zeros((0, 2), np.int32)
    changed[:, (changed.mean(axis=0) > OFTEN) | _are_clocks(changed, match[1:][same])] = False
    rows, facts = np.nonzero(changed[changed.sum(axis=1) <= MOST_CHANGED])
    found: list[NDArray[np.int64]] = []
    for apart in range(1, MOST_CHANGED):
        together = rows[apart:] == rows[:-apart]
        found.append(n * facts[:-apart][together] + facts[apart:][together])
    codes, times = np.unique(np.concatenate(found), return_counts=True)
    order = np.argsort(-times, kind="stable")[: int((times >= SEEN).sum())]
    pairs = np.stack(np.divmod(codes[order], n), axis=1).astype(np.int32)
    # Two pieces on one cell never hold together.
    by_fact = np.ascontiguousarray(holds.T)
    both = [bool((by_fact[f] & by_fact[g]).any()) for f, g in pairs[: 2 * MAX_PAIRS].tolist()]
    return pairs[: 2 * MAX_PAIRS][np.array(both, np.bool_)][:MAX_PAIRS]


def _are_clocks(changed: NDArray[np.bool_], match: NDArray[np.int32]) -> NDArray[np.bool_]:
    """(fluents) whether a fact changes at the same plies in all matches, by the facts that each ply (n, fluents) of a
    match (n) changes."""
    begins = np.flatnonzero(np.diff(match, prepend=-1))
    ply = np.arange(len(match)) - np.repeat(begins, np.diff(begins, append=len(match)))
    clocks = np.ones(changed.shape[1], np.bool_)
    for at in range(PLIES):
        there = changed[ply == at]
        if len(there) >= MATCHES_AT_A_PLY:
            clocks &= there.all(axis=0) | ~there.any(axis=0)
    # Facts first changed later are not known to be clocks.
    return clocks & changed[ply < PLIES].any(axis=0)


def shared_patterns(fluents: Sequence[Term], pairs: NDArray[np.int32]) -> NDArray[np.float32]:
    """Returns (n, n) the number of patterns that pairs (n, 2) of these fluents share, on the scale of single facts.

    Patterns: both relations, which arguments are equal, and in addition one argument of each fact.
    """
    members: dict[tuple[object, ...], list[int]] = {}
    for index, (f, g) in enumerate(pairs.tolist()):
        one, other = fluents[f], fluents[g]
        if not isinstance(one, tuple) or not isinstance(other, tuple):
            continue
        equal = tuple(a == b for a, b in zip(one[1:], other[1:], strict=False))
        shape = one[0], len(one), other[0], len(other), equal
        members.setdefault(shape, []).append(index)
        for i, j in product(range(1, len(one)), range(1, len(other))):
            members.setdefault((*shape, i, one[i], j, other[j]), []).append(index)
    shared = np.zeros((len(pairs), len(pairs)), np.float32)
    for group in members.values():
        if len(group) > 1:
            # There are more patterns of two facts than of one.
            shared[np.ix_(group, group)] += 0.5
    return shared
