"""Principal variation search of Reversi positions, both to a depth and to the end of the game.

One kernel with an explicit stack of frames. A frame is a position with a window, a depth and a selectivity level; a
depth that reaches the number of empty cells makes the search exact. In the order of a visit: the last cells go to
`endings`, the last ply to `evaluation`; then stability cut-off, transposition table, Multi-ProbCut, ordered moves with
enhanced transposition cut-off, and principal variation search over them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from agent.search.reversi.endings import INFINITE, SMALL, small_stack, solve_small
from agent.search.reversi.evaluation import Board, Tables, evaluate, evaluate_1, scratch
from agent.search.reversi.ordering import NO_SHALLOW_SEARCH, order_moves
from agent.search.reversi.selectivity import EXACT, MIN_DEPTH, Margins
from agent.search.reversi.stability import stable_discs
from agent.search.reversi.table import (
    NO_MOVE,
    depth_of,
    first_move,
    level_of,
    lower_bound,
    position_key,
    probe,
    second_move,
    store,
    upper_bound,
)
from games.bits.words import popcount
from games.native.reversi.rules import final_score, legal_moves

STOPPED = 1000
"""What `search` returns when it was told to stop: no score."""

_FRAMES = 192
_WIDTH = 36
_TABLE_MIN = 3
"""The shallowest search to use the transposition table."""
_ETC_MIN = 6
"""The shallowest search to look its moves up before searching any."""

# Columns of a frame's integers.
_ALPHA, _BETA, _LOWER, _BEST, _MOVE, _DEPTH, _LEVEL, _STAGE, _COUNT, _INDEX, _BOUND = range(11)
# What a frame's child was searched for.
_PROBE_HIGH, _PROBE_LOW, _PASS, _FIRST, _SCOUT, _AGAIN = range(6)
# What the loop does next.
_ENTER, _PROBE, _EXPAND, _NEXT, _RETURN = range(5)
_ONE = np.uint64(1)


class Workspace(NamedTuple):
    """One thread's memory."""

    words: npt.NDArray[np.uint64]
    ints: npt.NDArray[np.int64]
    scores: npt.NDArray[np.int64]
    cells: npt.NDArray[np.int64]
    turned: npt.NDArray[np.uint64]
    small_words: npt.NDArray[np.uint64]
    small_ints: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.uint64]
    nodes: npt.NDArray[np.int64]
    """int64[1]: positions visited, never reset by the search."""


def new_workspace() -> Workspace:
    """Memory for one thread."""
    small_words, small_ints = small_stack()
    return Workspace(
        np.zeros((_FRAMES, 3), np.uint64),
        np.zeros((_FRAMES, 11), np.int64),
        np.zeros((_FRAMES, _WIDTH), np.int64),
        np.zeros((_FRAMES, _WIDTH), np.int64),
        np.zeros((_FRAMES, _WIDTH), np.uint64),
        small_words,
        small_ints,
        scratch(),
        np.zeros(1, np.int64),
    )


@njit(inline="always")
def _shallow_depth(depth, empties, wide):
    """How deep the search is that orders a frame's moves (cf. Edax's `movelist_evaluate`)."""
    minimum = 9
    if empties <= 27:
        minimum += (30 - empties) // 3
    if depth < minimum:
        return 0 if wide and depth >= 4 else NO_SHALLOW_SEARCH
    return max(0, min(2, (depth - 15) // 3 + (1 if empties >= 27 else 0)))


@njit(cache=True, nogil=True)
def search(player, opponent, alpha, beta, depth, level, board, tables, margins, table, date, work, stop):
    """The fail-soft score of a position in the window (`alpha`, `beta`), in discs for the side to move.

    `depth` in plies, clipped to the empty cells; `level` of `selectivity`; `table` of `table.new_table`, `date` its
    generation (0..255). Returns STOPPED soon after `stop[0]` becomes non-zero.
    """
    words, ints, nodes = work.words, work.ints, work.nodes
    playable, cells, sign = board.playable, board.cells, board.sign
    words[0, 0], words[0, 1] = player, opponent
    ints[0, _ALPHA], ints[0, _BETA], ints[0, _DEPTH], ints[0, _LEVEL] = alpha, beta, depth, level
    frame = 0
    value = 0
    todo = _ENTER
    while True:
        player, opponent = words[frame, 0], words[frame, 1]
        if todo == _ENTER:
            if stop[0]:
                return STOPPED
            empty = playable & ~(player | opponent)
            empties = popcount(empty)
            alpha, beta, depth, level = (
                ints[frame, _ALPHA],
                ints[frame, _BETA],
                ints[frame, _DEPTH],
                ints[frame, _LEVEL],
            )
            exact = depth >= empties
            todo = _RETURN
            if exact and empties <= SMALL:
                value = solve_small(
                    player, opponent, alpha, beta, playable, cells, sign, work.small_words, work.small_ints, nodes
                )
                continue
            nodes[0] += 1
            if exact:
                depth = empties
                ints[frame, _DEPTH] = depth
            elif depth <= 0:
                value = evaluate(player, opponent, board, tables, work.numbers)
                continue
            elif depth == 1:
                value = evaluate_1(player, opponent, alpha, beta, board, tables, work.numbers, nodes)
                continue
            ints[frame, _LOWER], ints[frame, _BEST], ints[frame, _MOVE] = alpha, -INFINITE, NO_MOVE
            moves = legal_moves(player, opponent, empty)
            if moves == 0:
                if legal_moves(opponent, player, empty) == 0:
                    value = final_score(player, opponent, cells, sign)
                    continue
                ints[frame, _STAGE], ints[frame, _COUNT], ints[frame, _INDEX] = _PASS, 0, 0
                frame += 1
                words[frame, 0], words[frame, 1] = opponent, player
                ints[frame, _ALPHA], ints[frame, _BETA] = -beta, -alpha
                ints[frame, _DEPTH], ints[frame, _LEVEL] = depth, level
                todo = _ENTER
                continue
            if exact:
                # Stable discs bound the score: most of the others can at best all become the other side's.
                if sign > 0 and alpha >= cells - 2 * empties - 8 and alpha > 0:
                    bound = cells - 2 * popcount(stable_discs(opponent, player, playable))
                    if bound <= alpha:
                        value = bound
                        continue
                elif sign < 0 and -beta >= cells - 2 * empties - 8 and beta < 0:
                    bound = 2 * popcount(stable_discs(opponent, player, playable)) - cells
                    if bound >= beta:
                        value = bound
                        continue
            if depth >= _TABLE_MIN:
                key = position_key(player, opponent)
                words[frame, 2] = key
                data = probe(table, key)
                if data and depth_of(data) >= depth and level_of(data) >= level:
                    lower, upper = lower_bound(data), upper_bound(data)
                    if lower >= beta or lower == upper:
                        value = lower
                        continue
                    if upper <= alpha:
                        value = upper
                        continue
                if level < EXACT and depth >= MIN_DEPTH and beta - alpha == 1:
                    todo = _PROBE
                    ints[frame, _STAGE] = _PROBE_HIGH
                    continue
            todo = _EXPAND
        elif todo == _PROBE:
            depth, level, alpha, beta = (
                ints[frame, _DEPTH],
                ints[frame, _LEVEL],
                ints[frame, _ALPHA],
                ints[frame, _BETA],
            )
            empties = popcount(playable & ~(player | opponent))
            margin, static = margins.probe[level, empties, depth], margins.static[level, empties, depth]
            estimate = evaluate(player, opponent, board, tables, work.numbers)
            todo = _EXPAND
            if ints[frame, _STAGE] == _PROBE_HIGH:
                bound = beta + margin
                ints[frame, _STAGE] = _PROBE_LOW
                if estimate >= beta - static and bound < cells:
                    ints[frame, _STAGE], ints[frame, _BOUND] = _PROBE_HIGH, bound
                    lower = bound - 1
                    todo = _ENTER
            if todo != _ENTER:
                bound = alpha - margin
                if estimate < alpha + static and bound > -cells:
                    ints[frame, _BOUND] = bound
                    lower = bound
                    todo = _ENTER
            if todo == _ENTER:
                frame += 1
                words[frame, 0], words[frame, 1] = player, opponent
                ints[frame, _ALPHA], ints[frame, _BETA] = lower, lower + 1
                ints[frame, _DEPTH], ints[frame, _LEVEL] = margins.probe_depth[depth], level
        elif todo == _EXPAND:
            depth, beta = ints[frame, _DEPTH], ints[frame, _BETA]
            empty = playable & ~(player | opponent)
            empties = popcount(empty)
            first, second = NO_MOVE, NO_MOVE
            if depth >= _TABLE_MIN:
                data = probe(table, words[frame, 2])
                if data:
                    first, second = first_move(data), second_move(data)
            count = order_moves(
                player,
                opponent,
                legal_moves(player, opponent, empty),
                ints[frame, _ALPHA],
                _shallow_depth(depth, empties, depth < empties),
                first,
                second,
                board,
                tables,
                work.numbers,
                nodes,
                work.scores[frame],
                work.cells[frame],
                work.turned[frame],
            )
            ints[frame, _COUNT], ints[frame, _INDEX], ints[frame, _STAGE] = count, 0, _FIRST
            todo = _NEXT
            if depth >= _ETC_MIN:
                level = ints[frame, _LEVEL]
                for index in range(count):
                    turned = work.turned[frame, index]
                    bit = _ONE << np.uint64(work.cells[frame, index])
                    data = probe(table, position_key(opponent ^ turned, player | turned | bit))
                    if data and depth_of(data) >= depth - 1 and level_of(data) >= level and -upper_bound(data) >= beta:
                        value = -upper_bound(data)
                        ints[frame, _MOVE] = work.cells[frame, index]
                        todo = _RETURN
                        break
        elif todo == _NEXT:
            index, count = ints[frame, _INDEX], ints[frame, _COUNT]
            best, beta = ints[frame, _BEST], ints[frame, _BETA]
            if index == count or best >= beta:
                value = best
                todo = _RETURN
                depth = ints[frame, _DEPTH]
                if depth >= _TABLE_MIN and ints[frame, _STAGE] != _PASS:
                    lower = best if best > ints[frame, _LOWER] else -cells
                    upper = best if best < beta else cells
                    move, level = ints[frame, _MOVE], ints[frame, _LEVEL]
                    store(table, words[frame, 2], lower, upper, depth, level, move, date)
                continue
            scores, squares, turned_by = work.scores[frame], work.cells[frame], work.turned[frame]
            pick = index
            for other in range(index + 1, count):
                if scores[other] > scores[pick]:
                    pick = other
            scores[index], scores[pick] = scores[pick], scores[index]
            squares[index], squares[pick] = squares[pick], squares[index]
            turned_by[index], turned_by[pick] = turned_by[pick], turned_by[index]
            alpha = max(ints[frame, _ALPHA], best)
            turned = turned_by[index]
            ints[frame, _STAGE] = _FIRST if index == 0 else _SCOUT
            depth, level = ints[frame, _DEPTH] - 1, ints[frame, _LEVEL]
            frame += 1
            words[frame, 0] = opponent ^ turned
            words[frame, 1] = player | turned | _ONE << np.uint64(squares[index])
            ints[frame, _ALPHA], ints[frame, _BETA] = -beta if index == 0 else -alpha - 1, -alpha
            ints[frame, _DEPTH], ints[frame, _LEVEL] = depth, level
            todo = _ENTER
        else:
            if frame == 0:
                return value
            frame -= 1
            stage = ints[frame, _STAGE]
            if stage == _PROBE_HIGH:
                if value >= ints[frame, _BOUND]:
                    value = ints[frame, _BETA]
                else:
                    ints[frame, _STAGE] = _PROBE_LOW
                    todo = _PROBE
                continue
            if stage == _PROBE_LOW:
                if value <= ints[frame, _BOUND]:
                    value = ints[frame, _ALPHA]
                else:
                    todo = _EXPAND
                continue
            value = -value
            if stage == _PASS:
                continue
            index = ints[frame, _INDEX]
            alpha, beta = max(ints[frame, _ALPHA], ints[frame, _BEST]), ints[frame, _BETA]
            if stage == _SCOUT and alpha < value < beta:
                ints[frame, _STAGE] = _AGAIN
                frame += 1
                ints[frame, _ALPHA], ints[frame, _BETA] = -beta, -alpha
                ints[frame, _DEPTH], ints[frame, _LEVEL] = ints[frame - 1, _DEPTH] - 1, ints[frame - 1, _LEVEL]
                todo = _ENTER
                continue
            if value > ints[frame, _BEST]:
                ints[frame, _BEST], ints[frame, _MOVE] = value, work.cells[frame, index]
            ints[frame, _INDEX] = index + 1
            todo = _NEXT


class Searcher:
    """One variant's search: its tables, one thread's memory, and a table shared with others."""

    def __init__(self, board: Board, tables: Tables, margins: Margins, table: Any) -> None:
        self.board, self.tables, self.margins, self.table = board, tables, margins, table
        self.work = new_workspace()
        self.stop = np.zeros(1, np.uint8)
        self.date = 0

    def score(self, player: int, opponent: int, alpha: int, beta: int, depth: int, level: int = EXACT) -> int:
        """Search a position; see `search`."""
        return int(
            search(
                np.uint64(player),
                np.uint64(opponent),
                alpha,
                beta,
                depth,
                level,
                self.board,
                self.tables,
                self.margins,
                self.table,
                self.date,
                self.work,
                self.stop,
            )
        )

    @property
    def nodes(self) -> int:
        """Positions visited so far."""
        return int(self.work.nodes[0])
