"""Principal variation search (Marsland, Campbell 1982; Reinefeld 1983) with an explicit stack, for any family.

A family brings a NamedTuple type, whose values hold the rules' tables, the evaluation and all memory of one search, and
five kernels that take it: `enter`, `resume`, `make_move`, `scored` and `finish`. `register` makes Numba choose them by
that type, so the loop below is compiled once per family with its kernels inlined.

The kernels stand in other files than the loop: whoever caches compiled kernels must compile `search` anew when they
change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit, types
from numba.extending import overload

from agent.search.alphabeta.frames import FAMILY, open_child, reopen_child, take_score
from games.bits.compiling import KERNEL, STEP

ENTER, RESUME, SELECT, RETURN, DESCEND = range(5)
"""What comes next: enter the node, let the family go on with it (`resume`), select its next move, return its `value` to
its parent, descend to its child."""


_INLINED: Any = {name: value for name, value in STEP.items() if name != "cache"}


def enter(game: Any, frames: Any, ply: int) -> int:
    """Look at the node of frame `ply`, whose position, window and depth are set.

    Returns RETURN if its score is known and stands in `value` (match over, no depth left, table, pruning); SELECT
    after listing its moves and `start_moves`; DESCEND after preparing frame `ply + 1` for a search of the family's own,
    with a `stage` from FAMILY on; RESUME to leave the rest to `resume`.
    """
    raise NotImplementedError


def resume(game: Any, frames: Any, ply: int) -> int:
    """Go on after a search of the family's own, whose score stands in frame `ply + 1`, or where `enter` has left off.

    Returns what `enter` may return.
    """
    raise NotImplementedError


def make_move(game: Any, frames: Any, ply: int) -> int:
    """Select the next move, set `move`, and set the position of frame `ply + 1`. Returns the late move reduction.

    The reduction is in plies, 0 for none; it is not asked of the first move.
    """
    raise NotImplementedError


def scored(game: Any, frames: Any, ply: int) -> None:
    """Notice that `move` has been searched, with the score of frame `ply + 1`: what reports root moves stands here."""
    raise NotImplementedError


def finish(game: Any, frames: Any, ply: int) -> None:
    """Store what the search of a node's moves has found, `best` and `best_move`: table, killers, history."""
    raise NotImplementedError


def register(game_type: type, **kernels: Callable[..., Any]) -> None:
    """Let `search` use these kernels, one for each of the functions above, by name, for a family's NamedTuple type."""
    for stub in (enter, resume, make_move, scored, finish):
        _implement(stub, game_type, kernels.pop(stub.__name__))
    if kernels:
        raise TypeError(f"no steps of the search: {', '.join(kernels)}")


def _implement(stub: Callable[..., Any], game_type: type, kernel: Callable[..., Any]) -> None:
    """Let kernels that call `stub` with a `game_type` call `kernel` instead."""

    def choose(game, frames, ply):  # not annotated, as Numba compares it with the kernel below
        if isinstance(game, types.NamedTuple) and game.instance_class is game_type:
            return lambda game, frames, ply: kernel(game, frames, ply)
        return None

    overload(stub, jit_options=_INLINED)(choose)


@njit(**KERNEL)
def search(game, frames, highest, stop):
    """Search the node of `frames[0]` (FRAME[plies]), whose position, window and depth are set.

    `game` is of a registered type; `highest` (int64) is a score that makes the other moves of a node needless, whatever
    its window. Returns True when `frames[0].value` is the score, and False soon after `stop[0]` (uint8[1]) becomes
    non-zero; `frames[0]` then holds the best of the root moves that were searched.
    """
    ply = 0
    phase = ENTER
    while True:
        if phase == ENTER:
            if stop[0]:
                return False
            phase = enter(game, frames, ply)
        elif phase == RESUME:
            phase = resume(game, frames, ply)
        elif phase == SELECT:
            frame = frames[ply]
            # Beta cut-off: the other side would not have let it come to this.
            if frame.tried == frame.count or frame.best >= min(frame.beta, highest):
                frame.value = frame.best
                finish(game, frames, ply)
                phase = RETURN
            else:
                reduction = make_move(game, frames, ply)
                open_child(frame, frames[ply + 1], reduction)
                phase = DESCEND
        else:
            if ply == 0:
                return True
            ply -= 1
            frame, child = frames[ply], frames[ply + 1]
            if frame.stage >= FAMILY:
                phase = RESUME
            elif reopen_child(frame, child):
                phase = DESCEND
            else:
                take_score(frame, child)
                scored(game, frames, ply)
                phase = SELECT
        if phase == DESCEND:
            ply += 1
            phase = ENTER
