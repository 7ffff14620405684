"""Looks for decisive moves in 64 states at once.

What is missing to an ending is found by words of lanes: in which lanes at least one, two of its facts are missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.tree.decisive.makers import MOST_CONDITIONS
from games.bits.inner import inner_kernel
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
    """(fluents + groups + 1) what f stands for in a condition: one of `group[group_first[f] : group_first[f + 1]]`."""
    group: NDArray[np.int32]
    """(n) indices of fluents."""


class DecisiveWorkspace(NamedTuple):
    """What `find_decisive` writes to."""

    lanes: NDArray[np.uint64]
    """(threats) where there is one; all 0 between calls."""
    met: NDArray[np.int32]
    """(threats) those there are."""
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
        np.zeros(roles, np.uint64),
        np.zeros(MOST_FOUND, np.int32),
        np.zeros(MOST_FOUND, np.uint64),
    )


@inner_kernel()
def _holding(moves, row, slots, lanes):
    """The lanes (a word) in which the conditions of a row of `DecisiveMoves` hold."""
    for i in range(MOST_CONDITIONS):
        fact, other = np.int64(row[1 + 2 * i]), np.int64(row[2 + 2 * i])
        if fact == 0:
            break
        group = abs(fact) - 1
        some = slots[FIRST_FLUENT + other - 1] if other != 0 else ZERO
        for place in range(moves.group_first[group], moves.group_first[group + 1]):
            some |= slots[FIRST_FLUENT + np.int64(moves.group[place])]
        lanes &= some if fact > 0 else ~some
    return lanes


@inner_kernel()
def _find_threats(moves, slots, lanes, work):
    """Notes in `work` which threats there are in `lanes` (a word); returns how many."""
    n_met = 0
    first, fact = moves.first, moves.fact
    for ending in range(np.uint64(len(first) - 1)):
        begin, end = np.uint64(first[ending]), np.uint64(first[ending + ONE])
        one, two = ZERO, ZERO
        for place in range(begin, end):
            absent = ~slots[np.uint64(fact[place]) + _FLUENTS]
            two |= one & absent
            one |= absent
            if lanes & ~two == ZERO:
                # Far from complete everywhere, as most endings are.
                break
        lone = one & ~two & lanes
        if lone == ZERO:
            continue
        for place in range(begin, end):
            here = lone & ~slots[np.uint64(fact[place]) + _FLUENTS]
            if here != ZERO:
                threat = moves.threat[place]
                if work.lanes[threat] == ZERO:
                    work.met[n_met] = threat
                    n_met += 1
                work.lanes[threat] |= here
    return n_met


@inner_kernel()
def _take(moves, rows, begin, end, legal_slot, slots, lanes, role, work, n):
    """Chooses the moves of some rows of `DecisiveMoves` for a role where they are legal in `lanes` (a word), their
    conditions hold, and none was chosen yet; returns how many moves were found by now, of which there were n before."""
    for i in range(begin, end):
        move = rows[i, 0]
        here = lanes & slots[legal_slot[move]] & ~work.decided[role]
        if here != ZERO and n < MOST_FOUND:
            here = _holding(moves, rows[i], slots, here)
            if here != ZERO:
                work.decided[role] |= here
                work.move[n] = move
                work.word[n] = here
                n += 1
    return n


@inner_kernel()
def find_decisive(moves, legal_slot, slots, lanes, work):
    """Finds a winning move in each of `lanes` (a word) where there is one, else one that stops another role's.

    `moves` is a `DecisiveMoves`, `legal_slot` that of `CircuitPrograms`, `slots` (uint64[slots]) has the states and
    their legal programs, `work` is a `DecisiveWorkspace`. Returns how many moves were found: `work.move[:n]`, in the
    lanes of `work.word[:n]`; `work.decided` is the lanes in which each role has one.
    """
    n_met = _find_threats(moves, slots, lanes, work)
    for role in range(len(work.decided)):
        work.decided[role] = ZERO
    n = 0
    for i in range(n_met):
        threat = np.int64(work.met[i])
        begin, end = moves.win_first[threat], moves.win_first[threat + 1]
        role = np.int64(moves.role[threat])
        n = _take(moves, moves.win, begin, end, legal_slot, slots, work.lanes[threat], role, work, n)
    won = ZERO
    for role in range(len(work.decided)):
        won |= work.decided[role]
    for i in range(n_met):
        threat = np.int64(work.met[i])
        rest = work.lanes[threat] & ~won
        work.lanes[threat] = ZERO
        begin, end = moves.block_first[threat], moves.block_first[threat + 1]
        if rest != ZERO and begin < end:
            # Only what could be made true by the next move has to be stopped.
            near = ZERO
            for row in range(moves.win_first[threat], moves.win_first[threat + 1]):
                near |= _holding(moves, moves.win[row], slots, rest)
            blocker = np.int64(moves.blocker[threat])
            n = _take(moves, moves.block, begin, end, legal_slot, slots, near, blocker, work, n)
    return n
