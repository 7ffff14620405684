"""The stack of an alpha-beta search: one record per ply, and the textbook steps between a node and its child.

Scores are integers from the view of the side to move, in the family's units. All searches are fail-soft.
"""

from __future__ import annotations

import numpy as np
from numba import njit

FRAME = np.dtype(
    [
        # The node's window; constant while the node is searched.
        ("alpha", np.int64),
        ("beta", np.int64),
        # Plies left to search.
        ("depth", np.int64),
        # The highest score so far and its move; NO_SCORE and NO_MOVE before the first.
        ("best", np.int64),
        ("best_move", np.int64),
        # The number of moves, the number already searched, and the move being searched.
        ("count", np.int64),
        ("tried", np.int64),
        ("move", np.int64),
        # Why the child is searched: one of the stages below.
        ("stage", np.int64),
        # The node's score, once known.
        ("value", np.int64),
    ],
    align=True,
)
"""A node on the path from the root to the current node."""

NO_SCORE = -(1 << 30)
"""Below any score."""
NO_MOVE = -1

PRINCIPAL, SCOUT, REDUCED, FAMILY = range(4)
"""Stages: a move in the full window; in a null window, to see whether it beats the best move; the same at reduced depth
(late move reduction). FAMILY and above are the family's own searches of the child, such as a pass."""


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
    """Move the best untried move and its score to place `frame.tried`; set `frame.move`.

    Returns its former place, for other lists that run parallel to the moves.
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
    """Return the score that the next move of a FRAME record's node must exceed: alpha, raised to the best score so
    far."""
    return max(frame.alpha, frame.best)


@njit(inline="always")
def open_child(frame, child, reduction):
    """Give `child` (FRAME record) the window and depth of the next move of `frame`, reduced by `reduction` plies.

    Only the first move, probably the best, gets the full window. The others need only be refuted: a null window is
    enough, and often a reduced depth.
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
    """Whether the move whose null-window search has ended must be searched again; prepares `child` for it.

    A reduced search that fails high is repeated at full depth. A full-depth one that fails high without a cut-off
    leaves the score open: the full window finds it.
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
    """Count the move that led to `child` (FRAME record) as searched, and keep it if it is the best so far."""
    value = -child.value
    if value > frame.best:
        frame.best = value
        frame.best_move = frame.move
    frame.tried += 1
