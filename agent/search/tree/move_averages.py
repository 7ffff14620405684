"""How good moves are on average, wherever they are made: what playouts choose by (MAST, Finnsson & Bjornsson 2008).

Of some moves drawn at random the one is played that did best in the playouts so far: tournament selection, which takes
nothing but a few more random numbers, where Gibbs sampling would have to look at all legal moves in each lane.
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
"""Moves that are drawn where playouts choose by averages. Against uniformly random moves, at 0.2 s a move, four got
0.61 of the points (125 matches, ten games), two 0.51 (133, twelve games), eight as much as four (27, eight games)."""
FADING = 0.5
"""What is left of earlier results after a turn. Set by hand; not tuned."""
UNKNOWN = 1.0
"""Worth of a move that was never made: it is tried. Set by hand; not tuned."""


def forget(workspace: SearchWorkspace) -> None:
    """Begins anew."""
    workspace.made[:] = 0
    workspace.move_workspace.worth[:] = UNKNOWN


def fade(workspace: SearchWorkspace) -> None:
    """Has earlier results count less, as another position is searched."""
    workspace.made[:] *= FADING


@inner_kernel()
def note_moves(role_start, lanes, which, played, parameters):
    """Counts the moves of the matches of the lanes in `which` (a word), for the roles that choose by averages.

    `role_start` is that of `CircuitPrograms`, `lanes` a `SearchWorkspace` whose goals are sorted, `played`
    uint64[moves], `parameters` a `Parameters`.
    """
    made, worth = lanes.made, lanes.move_workspace.worth
    for role in range(len(role_start) - 1):
        if parameters.draws[role] == 1:
            continue
        n_goals = lanes.n_goals[role]
        value, of_value = lanes.goal_value[role, 0], lanes.goal_word[role, 0]
        # Unsigned indices: Numba looks whether a signed one counts from the end.
        for move in range(np.uint64(role_start[role]), np.uint64(role_start[role + 1])):
            word = played[move] & which
            if word != ZERO:
                total = value * popcount(word & of_value)
                for i in range(1, n_goals):
                    total += lanes.goal_value[role, i] * popcount(word & lanes.goal_word[role, i])
                matches = popcount(word)
                made[move] += np.float32(matches)
                worth[move] += np.float32((total - matches * worth[move]) / made[move])
