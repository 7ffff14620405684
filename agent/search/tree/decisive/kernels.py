"""Looks for decisive moves in 64 states at once.

What is missing to an ending is found by words of lanes: in which lanes at least one, two of its facts are missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.tree.decisive.makers import MOST_CONDITIONS
from games.bits.inner import inner_kernel, step
from games.gdl.running.kernels import ONE, ZERO
from games.gdl.running.layout import FIRST_FLUENT

MOST_FOUND = 256
"""Different decisive moves in 64 states at most; more are left to chance."""

ROW = 1 + 2 * MOST_CONDITIONS
"""Length of a row of `DecisiveMoves.win` and `block`: the move, numbered over all roles, and its conditions, see
`makers.Condition`; (0, 0) after the last one."""

_FLUENTS = np.uint64(FIRST_FLUENT)


class DecisiveMoves(NamedTuple):
    """What ends a match by a win, and which moves bring it about. Ending e has the places `first[e] : first[e + 1]`.

    A *threat* is a fact that is all that a role's ending lacks.
    """

    first: NDArray[np.int32]
    """(endings + 1)"""
    fact: NDArray[np.int32]
    """(places) indices of fluents."""
    threat: NDArray[np.int32]
    """(places) the threat that there is where only that fact is missing."""
    role: NDArray[np.int32]
    """(threats) whose it is."""
    blocker: NDArray[np.int32]
    """(threats) who keeps it from that; -1 for nobody."""
    win_first: NDArray[np.int32]
    """(threats + 1) that role's moves that make the fact true are rows `win_first[t] : win_first[t + 1]` of `win`."""
    win: NDArray[np.int32]
    """(n, ROW)"""
    block_first: NDArray[np.int32]
    """(threats + 1) the same for `block`, the moves of `blocker` that put another fact in its place."""
    block: NDArray[np.int32]
    """(n, ROW)"""
    group_first: NDArray[np.int32]
    """(groups + 1) group g has the facts `group[group_first[g] : group_first[g + 1]]`."""
    group: NDArray[np.int32]
    """(n) indices of fluents."""


class DecisiveWorkspace(NamedTuple):
    """What `find_decisive` writes to."""

    lanes: NDArray[np.uint64]
    """(threats) where there is one; all 0 between calls."""
    met: NDArray[np.int32]
    """(threats) those there are."""
    near: NDArray[np.uint64]
    """(threats) for each of these, where the next move can make the fact true."""
    decided: NDArray[np.uint64]
    """(roles) the lanes in which a move was found for each role."""
    move: NDArray[np.int32]
    """(MOST_FOUND) the moves that were found."""
    word: NDArray[np.uint64]
    """(MOST_FOUND) in which lanes."""


def no_decisive_moves() -> DecisiveMoves:
    """Those of a game of which nothing is known."""

    def none(*shape: int) -> NDArray[np.int32]:
        return np.zeros(shape, np.int32)

    places = none(0), none(0), none(0), none(0)
    return DecisiveMoves(none(1), *places, none(1), none(0, ROW), none(1), none(0, ROW), none(1), none(0))


def new_decisive_workspace(threats: int, roles: int) -> DecisiveWorkspace:
    """A workspace for so many threats in a game of so many roles."""
    return DecisiveWorkspace(
        np.zeros(threats, np.uint64),
        np.zeros(threats, np.int32),
        np.zeros(threats, np.uint64),
        np.zeros(roles, np.uint64),
        np.zeros(MOST_FOUND, np.int32),
        np.zeros(MOST_FOUND, np.uint64),
    )


@inner_kernel()
def _find_threats(first, fact, threats, slots, lanes, work):
    """Notes in `work` which threats there are in `lanes` (a word); returns how many."""
    # Hardly any branches: the processor could not foresee them.
    waiting = work.lanes
    for ending in range(np.uint64(len(first) - 1)):
        begin, end = np.uint64(first[ending]), np.uint64(first[ending + ONE])
        one, two = ZERO, ZERO
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
    """Finds a winning move in each of `lanes` (a word) where there is one, else one that stops another role's.

    `moves` is a `DecisiveMoves` of a game of so many fluents, `legal_slot` that of `CircuitPrograms`, `slots`
    (uint64[slots]) has the states and their legal programs, `work` is a `DecisiveWorkspace`. Returns how many moves
    were found: `work.move[:n]`, in the lanes of `work.word[:n]`; `work.decided` is in which lanes each role has one.
    """
    n_met = _find_threats(moves.first, moves.fact, moves.threat, slots, lanes, work)
    decided = work.decided
    for role in range(len(decided)):
        decided[role] = ZERO
    won = ZERO
    n = 0
    # First what wins, then what stops that: one loop, as conditions are long when compiled.
    for stopping in range(2):
        firsts, rows = (moves.block_first, moves.block) if stopping else (moves.win_first, moves.win)
        roles = moves.blocker if stopping else moves.role
        for i in range(n_met):
            threat = np.uint64(work.met[i])
            # Only what could be made true by the next move has to be stopped.
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
