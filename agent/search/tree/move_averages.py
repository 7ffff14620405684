"""Average results of moves, wherever they are made, which guide playouts (MAST, Finnsson & Bjornsson 2008).

Playouts draw some moves at random and play the one with the best average. This tournament selection takes only a few
more random numbers, where Gibbs sampling would need all legal moves of each lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from games.bits.inner import inner_kernel
from games.bits.words import popcount
from games.gdl.running.kernels import ZERO

if TYPE_CHECKING:
    from agent.search.tree.workspace import SearchWorkspace

DRAWS = 4
"""Moves that a playout draws to choose from: 61 % against uniformly random moves (see docs/experiments.md)."""
FADING = 0.5
"""Weight of earlier results after a turn."""
UNKNOWN = 1.0
"""Worth of a move that was never made: it gets tried."""


def forget(workspace: SearchWorkspace) -> None:
    """Forgets all averages."""
    workspace.made[:] = 0
    workspace.move_workspace.worth[:] = UNKNOWN


def fade(workspace: SearchWorkspace) -> None:
    """Makes earlier results count less, for another position."""
    workspace.made[:] *= FADING


@inner_kernel()
def note_moves(role_start, made, worth, n_goals, goal_value, goal_word, which, played, draws):
    """Counts the moves of the matches in the lanes of `which` (a word), for roles that choose by averages.

    `role_start` is that of `CircuitPrograms`, `played` uint64[moves], `draws` that of `Parameters`; the others are
    parts of a `SearchWorkspace` whose goals are sorted.
    """
    for role in range(len(role_start) - 1):
        if draws[role] == 1:
            continue
        values = n_goals[role]
        value, of_value = goal_value[role, 0], goal_word[role, 0]
        # Unsigned indices: Numba checks signed ones for counting from the end.
        for move in range(np.uint64(role_start[role]), np.uint64(role_start[role + 1])):
            word = played[move] & which
            if word != ZERO:
                total = value * popcount(word & of_value)
                for i in range(1, values):
                    total += goal_value[role, i] * popcount(word & goal_word[role, i])
                matches = popcount(word)
                made[move] += np.float32(matches)
                worth[move] += np.float32((total - matches * worth[move]) / made[move])
