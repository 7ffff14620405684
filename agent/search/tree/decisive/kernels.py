"""Finds decisive moves in 64 states at once, by words of lanes in which at least one, or two, facts are missing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.tree.decisive.makers import MOST_CONDITIONS
from games.bits.arrays import array
from games.bits.inner import inner_kernel, step
from games.gdl.running.kernels import ONE, ZERO
from games.gdl.running.layout import FIRST_FLUENT

MOST_FOUND = 256
"""Most different decisive moves in 64 states; more are left to chance."""

ROW = 1 + 2 * MOST_CONDITIONS
"""Length of a row of `DecisiveMoves.win` and `block`: the move, numbered over all roles, and its conditions, see
`makers.Condition`; (0, 0) after the last one."""

_FLUENTS = np.uint64(FIRST_FLUENT)


class DecisiveMoves(NamedTuple):
    """Winning endings, and the moves that bring them about. Ending e has the places `first[e] : first[e + 1]`; facts
    `absent[absent_first[e] : absent_first[e + 1]]` must not hold.

    A *threat* is the only missing fact of a role's ending.
    """

    first: NDArray[np.int32]
    """(endings + 1)"""
    fact: NDArray[np.int32]
    """(places) indices of fluents."""
    threat: NDArray[np.int32]
    """(places) threat if only that fact is missing."""
    absent_first: NDArray[np.int32]
    """(endings + 1)"""
    absent: NDArray[np.int32]
    """(n) indices of fluents."""
    role: NDArray[np.int32]
    """(threats) role that makes it."""
    blocker: NDArray[np.int32]
    """(threats) role that stops it; -1 for none."""
    win_first: NDArray[np.int32]
    """(threats + 1) the role's moves that make the fact true are rows `win_first[t] : win_first[t + 1]` of `win`."""
    win: NDArray[np.int32]
    """(n, ROW)"""
    block_first: NDArray[np.int32]
    """(threats + 1) the same for `block`: the blocker's moves that put another fact in its place."""
    block: NDArray[np.int32]
    """(n, ROW)"""
    group_first: NDArray[np.int32]
    """(groups + 1) group g has the facts `group[group_first[g] : group_first[g + 1]]`."""
    group: NDArray[np.int32]
    """(n) indices of fluents."""


class DecisiveWorkspace(NamedTuple):
    """Memory of `find_decisive`."""

    lanes: NDArray[np.uint64] = array(np.uint64, "threats")
    """Lanes of each threat; all 0 between calls."""
    met: NDArray[np.int32] = array(np.int32, "threats")
    """Threats that some lane has, first."""
    near: NDArray[np.uint64] = array(np.uint64, "threats")
    """Lanes in which the next move can carry out each of these."""
    decided: NDArray[np.uint64] = array(np.uint64, "roles")
    """Lanes in which a move was found for each role."""
    move: NDArray[np.int32] = array(np.int32, MOST_FOUND)
    """Moves found."""
    word: NDArray[np.uint64] = array(np.uint64, MOST_FOUND)
    """Their lanes."""


def no_decisive_moves() -> DecisiveMoves:
    """An empty set of decisive moves."""

    def none(*shape: int) -> NDArray[np.int32]:
        return np.zeros(shape, np.int32)

    endings = none(1), none(0), none(0), none(1), none(0)
    threats = none(0), none(0), none(1), none(0, ROW), none(1), none(0, ROW)
    return DecisiveMoves(*endings, *threats, none(1), none(0))


@inner_kernel()
def _find_threats(moves, slots, lanes, work):
    """Notes in `work` the threats in `lanes` (a word); returns their number."""
    # Hardly any branches: they would be mispredicted.
    waiting, first, fact, threats = work.lanes, moves.first, moves.fact, moves.threat
    for ending in range(np.uint64(len(first) - 1)):
        begin, end = np.uint64(first[ending]), np.uint64(first[ending + ONE])
        one, two = ZERO, ZERO
        for place in range(np.uint64(moves.absent_first[ending]), np.uint64(moves.absent_first[ending + ONE])):
            two |= slots[np.uint64(moves.absent[place]) + _FLUENTS]
        for place in range(begin, end):
            absent = ~slots[np.uint64(fact[place]) + _FLUENTS]
            two |= one & absent
            one |= absent
        lone = one & ~two & lanes
        if lone == ZERO:
            continue
        for place in range(begin, end):
            waiting[np.uint64(threats[place])] |= lone & ~slots[np.uint64(fact[place]) + _FLUENTS]
    n_met = 0
    for threat in range(np.uint64(len(waiting))):
        if waiting[threat] != ZERO:
            work.met[n_met] = threat
            n_met += 1
    return n_met


@step
def _holding(moves, rows, row, n_fluents, slots, lanes):
    """The lanes (a word) in which the conditions of a row of `DecisiveMoves` hold."""
    for i in range(MOST_CONDITIONS):
        fact, other = np.int64(rows[row, 1 + 2 * i]), np.int64(rows[row, 2 + 2 * i])
        if fact == 0:
            break
        number = abs(fact) - 1
        some = ZERO
        if number < n_fluents:
            some = slots[np.uint64(number) + _FLUENTS]
            if other != 0:
                some |= slots[np.uint64(other - 1) + _FLUENTS]
        else:
            for place in range(moves.group_first[number - n_fluents], moves.group_first[number - n_fluents + 1]):
                some |= slots[np.uint64(moves.group[place]) + _FLUENTS]
        lanes &= some if fact > 0 else ~some
    return lanes


@inner_kernel()
def find_decisive(moves, n_fluents, legal_slot, slots, lanes, work):
    """Finds a winning move in each of `lanes` (a word), else one that stops another role's.

    `moves` is a `DecisiveMoves`, `legal_slot` that of `CircuitPrograms`, `work` a `DecisiveWorkspace`; `slots`
    (uint64[slots]) hold states and results of the legal program. Returns the number n of moves found: `work.move[:n]`
    in the lanes of `work.word[:n]`. `work.decided` has the lanes by role.
    """
    n_met = _find_threats(moves, slots, lanes, work)
    decided = work.decided
    for role in range(len(decided)):
        decided[role] = ZERO
    won = ZERO
    n = 0
    # First winning moves, then stopping ones: one loop, as the conditions are long when compiled.
    for stopping in range(2):
        firsts, rows = (moves.block_first, moves.block) if stopping else (moves.win_first, moves.win)
        roles = moves.blocker if stopping else moves.role
        for i in range(n_met):
            threat = np.uint64(work.met[i])
            # Only threats that the next move could carry out have to be stopped.
            where = work.near[i] & ~won if stopping else work.lanes[threat]
            near = ZERO
            role = np.int64(roles[threat])
            for row in range(firsts[threat], firsts[threat + ONE]):
                move = rows[row, 0]
                able = slots[legal_slot[move]]
                if stopping and where & able & ~decided[role] == ZERO:
                    continue
                here = _holding(moves, rows, row, n_fluents, slots, where)
                near |= here
                here &= able & ~decided[role]
                if here != ZERO and n < MOST_FOUND:
                    decided[role] |= here
                    work.move[n] = move
                    work.word[n] = here
                    n += 1
            if not stopping:
                work.near[i] = near
                work.lanes[threat] = ZERO
        for role in range(len(decided)):
            won |= decided[role]
    return n
