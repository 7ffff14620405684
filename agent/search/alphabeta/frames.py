"""The stack of an alpha-beta search: one record per ply, and the textbook steps between a node and its child.

Scores are integers from the side to move, of whatever unit the family chooses. All searches are fail-soft.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

FRAME = np.dtype(
    [
        # The window that the node was entered with: it does not change while the node is searched.
        ("alpha", np.int64),
        ("beta", np.int64),
        # Plies left to search.
        ("depth", np.int64),
        # The highest score of a move so far, and that move; NO_SCORE and NO_MOVE before the first.
        ("best", np.int64),
        ("best_move", np.int64),
        # How many moves there are, how many of them were searched, and the one that is being searched.
        ("count", np.int64),
        ("tried", np.int64),
        ("move", np.int64),
        # What the child is searched for: one of the constants below.
        ("stage", np.int64),
        # The node's score, once it is known.
        ("value", np.int64),
    ],
    align=True,
)
"""A node on the way from the root to where the search is."""

NO_SCORE = -(1 << 30)
"""Less than any score."""
NO_MOVE = -1

PRINCIPAL, SCOUT, REDUCED, FAMILY = range(4)
"""Stages: a move in the full window; in a null window, to see whether it is better than the best one; the same, less
deeply (late move reduction); and from FAMILY on what the family itself searches the child for, such as a pass."""


def new_frames(plies: int) -> NDArray[Any]:
    """A stack (FRAME[plies]) for searches that go less than that many plies deep."""
    return np.zeros(plies, FRAME)


@njit(inline="always")
def set_window(frame, alpha, beta, depth):
    """Prepare a FRAME record for the search of its node: window in its own side's view, `depth` in plies (int64)."""
    frame.alpha = alpha
    frame.beta = beta
    frame.depth = depth


@njit(inline="always")
def start_moves(frame, count):
    """Begin to search the `count` (int64) moves of a FRAME record's node."""
    frame.best = NO_SCORE
    frame.best_move = NO_MOVE
    frame.count = count
    frame.tried = 0


@njit(inline="always")
def select_move(frame, moves, scores):
    """Move the highest of the `scores` of untried moves to place `frame.tried`, and its move with it; set `frame.move`.

    Returns the place where it was, for what else the family lists of each move.
    """
    index = frame.tried
    best = index
    for other in range(index + 1, frame.count):
        if scores[other] > scores[best]:
            best = other
    moves[index], moves[best] = moves[best], moves[index]
    scores[index], scores[best] = scores[best], scores[index]
    frame.move = moves[index]
    return best


@njit(inline="always")
def lower_limit(frame):
    """What a move of a FRAME record's node has to exceed: alpha, raised to the best score so far."""
    return max(frame.alpha, frame.best)


@njit(inline="always")
def open_child(frame, child, reduction):
    """Give `child` (FRAME record) the window of the next move of `frame`, and its depth, less `reduction` plies.

    Only the first move, which is probably the best, gets the full window. The others need only be shown to be no
    better, for which a null window is enough, and a reduced depth often is.
    """
    alpha = lower_limit(frame)
    if frame.tried == 0:
        frame.stage = PRINCIPAL
        set_window(child, -frame.beta, -alpha, frame.depth - 1)
    else:
        frame.stage = REDUCED if reduction > 0 else SCOUT
        set_window(child, -alpha - 1, -alpha, frame.depth - 1 - reduction)


@njit(inline="always")
def reopen_child(frame, child):
    """Whether the move whose null-window search has ended must be searched again; `child` is then ready for it.

    A reduced search that says "better" is not trusted: the same null window is asked at full depth. A full-depth one
    that says "better", but not that the node is cut, leaves the score open: the full window finds it.
    """
    alpha = lower_limit(frame)
    value = -child.value
    if frame.stage == REDUCED and value > alpha:
        frame.stage = SCOUT
        set_window(child, -alpha - 1, -alpha, frame.depth - 1)
        return True
    if frame.stage == SCOUT and alpha < value < frame.beta:
        frame.stage = PRINCIPAL
        set_window(child, -frame.beta, -alpha, frame.depth - 1)
        return True
    return False


@njit(inline="always")
def take_score(frame, child):
    """Count the move that `child` (FRAME record) has the score of as searched, and keep it if it is the best one."""
    value = -child.value
    if value > frame.best:
        frame.best = value
        frame.best_move = frame.move
    frame.tried += 1
