"""Principal variation search (Marsland, Campbell 1982; Reinefeld 1983) with an explicit stack, for any family.

A family describes its game to the search by a NamedTuple of its arrays, and five kernels that take it:

- `enter(game, frames, ply)`: look at the node of frame `ply`, whose position, window and depth are set. Returns RETURN
  if its score is known and set in `value` (match over, no depth left, table, pruning); SELECT after listing its moves
  and `start_moves`; DESCEND after preparing frame `ply + 1` for a search of the family's own, with a `stage` of FAMILY
  or above; RESUME to leave the rest to `resume`.
- `resume(game, frames, ply)`: continue after a search of the family's own, whose score is in frame `ply + 1`, or after
  `enter` returned RESUME. Returns as `enter` does.
- `make_move(game, frames, ply)`: select the next move, set `move`, and set the position of frame `ply + 1`. Returns the
  late move reduction in plies, 0 for none; ignored for the first move.
- `scored(game, frames, ply)`: called when `move` has been searched, with its score in frame `ply + 1`, to report root
  moves.
- `finish(game, frames, ply)`: store the result of a node's moves, `best` and `best_move`: table, killers, history.

The loop and these steps are inlined into one kernel of the family: LLVM would optimise separate kernels again at every
call site. They are in other files than the loop, so a cached kernel of a family must be compiled anew when the loop
changes.
"""

from __future__ import annotations

from numba import njit

from agent.search.alphabeta.frames import FAMILY, open_child, reopen_child, take_score

ENTER, RESUME, SELECT, RETURN, DESCEND = range(5)
"""Next step: enter the node, let the family continue (`resume`), select the next move, return `value` to the parent,
descend to the child."""


@njit(inline="always")
def search(enter, resume, make_move, scored, finish, game, frames, highest, stop):
    """Search the node of `frames[0]` (FRAME[plies]), whose position, window and depth are set.

    The first five are the family's kernels, `game` is their argument. A move with score `highest` (int64) ends its
    node, whatever the window. Returns True when `frames[0].value` is the score, and False soon after `stop[0]`
    (uint8[1]) becomes non-zero; `frames[0]` then holds the best root move searched.
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
            # Beta cut-off: the opponent would avoid this node.
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
