"""Principal variation search of Reversi positions, both to a depth and to the end of the game.

The family's steps of `alphabeta.search`. A node has a depth and a selectivity level; a depth of all empty cells makes
the search exact. A visit goes on in this order: last cells (`endings`), last ply (`evaluation`), stability cut-off,
transposition table, Multi-ProbCut, ordered moves with enhanced transposition cut-off.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from agent.search.alphabeta.frames import FAMILY, FRAME, select_move, set_window, start_moves
from agent.search.alphabeta.search import DESCEND, RESUME, RETURN, SELECT
from agent.search.alphabeta.search import search as search_frames
from agent.search.alphabeta.table import probe
from agent.search.reversi.endings import INFINITE, SMALL, small_stack, solve_small
from agent.search.reversi.evaluation import BoardRules, EvaluationTables, evaluate, evaluate_1, pattern_workspace
from agent.search.reversi.ordering import NO_SHALLOW_SEARCH, MoveList, order_moves
from agent.search.reversi.selectivity import EXACT, MIN_DEPTH, Margins
from agent.search.reversi.stability import stable_discs
from agent.search.reversi.table import (
    NO_MOVE,
    depth_of,
    first_move,
    level_of,
    lower_bound,
    position_key,
    second_move,
    store,
    upper_bound,
)
from games.bits.arrays import allocate, array
from games.bits.compiling import KERNEL
from games.bits.words import popcount
from games.native.reversi.rules import final_score, legal_moves

STOPPED = 1000
"""Result of a stopped `search`: no score."""

_PLIES = 192
"""Room for 60 moves, as many passes, and a ply for each probe of Multi-ProbCut."""
_MAX_MOVES = 36
"""Room for the moves of a position; the most known of any is 33."""
_TABLE_MIN = 3
"""Shallowest search that uses the transposition table."""
_ETC_MIN = 6
"""Shallowest search with enhanced transposition cut-off."""

# Stages of a node beside those of its moves: purpose of the child's search, and progress of Multi-ProbCut.
_PASS, _PROBE, _PROBED_HIGH, _PROBED_LOW, _EXPAND = range(FAMILY, FAMILY + 5)
_PLAYER, _OPPONENT, _KEY = range(3)
_ONE = np.uint64(1)


class ReversiWorkspace(NamedTuple):
    """One thread's memory."""

    small_words: npt.NDArray[np.uint64]
    """See `endings.solve_small`, like the next one."""
    small_ints: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.uint64]
    """uint64[WORDS]: memory of the evaluation."""
    frames: npt.NDArray[Any] = array(FRAME, _PLIES)
    positions: npt.NDArray[np.uint64] = array(np.uint64, _PLIES, 3)
    """Discs of the side to move, of the opponent, and the position's key where the table is used."""
    bounds: npt.NDArray[np.int64] = array(np.int64, _PLIES)
    """Score for a probe of Multi-ProbCut to pass."""
    scores: npt.NDArray[np.int64] = array(np.int64, _PLIES, _MAX_MOVES)
    """See `ordering.MoveList`, like the next two."""
    cells: npt.NDArray[np.int64] = array(np.int64, _PLIES, _MAX_MOVES)
    turned: npt.NDArray[np.uint64] = array(np.uint64, _PLIES, _MAX_MOVES)
    nodes: npt.NDArray[np.int64] = array(np.int64, 1)
    """Number of positions visited, never reset by the search."""


class SearchTools(NamedTuple):
    """Everything that the searches of one thread with one set of weights read and write."""

    board: BoardRules
    tables: EvaluationTables
    margins: Margins
    table: npt.NDArray[np.uint64]
    """Transposition table, which threads may share."""
    work: ReversiWorkspace


class ReversiGame(NamedTuple):
    """`SearchTools` with the parameters of one search, for its steps."""

    board: BoardRules
    tables: EvaluationTables
    margins: Margins
    table: npt.NDArray[np.uint64]
    work: ReversiWorkspace
    level: int
    """The selectivity level."""
    date: int
    """The transposition table's generation."""


def new_workspace() -> ReversiWorkspace:
    """Memory for one thread."""
    small_words, small_ints = small_stack()
    given = {"small_words": small_words, "small_ints": small_ints, "numbers": pattern_workspace()}
    return allocate(ReversiWorkspace, given)


@njit(inline="always")
def _enter(game, frames, ply):
    """`alphabeta.search.enter` for a ReversiGame, FRAME[plies] and int64."""
    frame, work, board = frames[ply], game.work, game.board
    player, opponent = work.positions[ply, _PLAYER], work.positions[ply, _OPPONENT]
    empty = board.playable & ~(player | opponent)
    empties = popcount(empty)
    exact = frame.depth >= empties
    # Step 1. The last cells are played out by a solver of their own.
    if exact and empties <= SMALL:
        frame.value = solve_small(
            player,
            opponent,
            frame.alpha,
            frame.beta,
            board.playable,
            board.cells,
            board.sign,
            work.small_words,
            work.small_ints,
            work.nodes,
        )
        return RETURN
    work.nodes[0] += 1
    # Step 2. Leaf, or one ply above the leaves: the evaluation.
    if exact:
        frame.depth = empties
    elif frame.depth <= 0:
        frame.value = evaluate(player, opponent, board, game.tables, work.numbers)
        return RETURN
    elif frame.depth == 1:
        frame.value = evaluate_1(
            player, opponent, frame.alpha, frame.beta, board, game.tables, work.numbers, work.nodes
        )
        return RETURN
    # Step 3. No move: the match is over, or the other side moves, at no depth.
    if legal_moves(player, opponent, empty) == 0:
        if legal_moves(opponent, player, empty) == 0:
            frame.value = final_score(player, opponent, board.cells, board.sign)
            return RETURN
        frame.stage = _PASS
        work.positions[ply + 1, _PLAYER], work.positions[ply + 1, _OPPONENT] = opponent, player
        set_window(frames[ply + 1], -frame.beta, -frame.alpha, frame.depth)
        return DESCEND
    # Step 4. Stable discs alone decide the window.
    if exact and _cut_by_stable_discs(frame, player, opponent, empties, board):
        return RETURN
    frame.stage = _EXPAND
    # Step 5. The transposition table knows enough; else a shallow search may show that a deep one is needless.
    if frame.depth >= _TABLE_MIN:
        key = position_key(player, opponent)
        work.positions[ply, _KEY] = key
        if _cut_by_table(frame, game.table, key, game.level):
            return RETURN
        if game.level < EXACT and frame.depth >= MIN_DEPTH and frame.beta - frame.alpha == 1:
            frame.stage = _PROBE
    return RESUME


@njit(inline="always")
def _resume(game, frames, ply):
    """`alphabeta.search.resume` for a ReversiGame, FRAME[plies] and int64."""
    frame = frames[ply]
    if frame.stage == _PASS:
        frame.value = -frames[ply + 1].value
        return RETURN
    if frame.stage != _EXPAND:
        phase = _probe(game, frames, ply)
        if phase != SELECT:
            return phase
    return _expand(game, frame, ply)


@njit(inline="always")
def _cut_by_stable_discs(frame, player, opponent, empties, board):
    """Whether stable discs alone decide the window; `value` is then the bound. `player`, `opponent` are uint64.

    Sound: at best all other cells become the side's own. Not tried where too few cells are taken for success.
    """
    cells = board.cells
    if board.sign > 0 and frame.alpha >= cells - 2 * empties - 8 and frame.alpha > 0:
        frame.value = cells - 2 * popcount(stable_discs(opponent, player, board.playable))
        return frame.value <= frame.alpha
    if board.sign < 0 and -frame.beta >= cells - 2 * empties - 8 and frame.beta < 0:
        frame.value = 2 * popcount(stable_discs(opponent, player, board.playable)) - cells
        return frame.value >= frame.beta
    return False


@njit(inline="always")
def _cut_by_table(frame, table, key, level):
    """Whether the table (see `table`) knows enough of the position with that key (uint64); `value` is then set.

    Sound: only results of searches at least as deep and at most as selective as this one are used.
    """
    data = probe(table, key)
    if data and depth_of(data) >= frame.depth and level_of(data) >= level:
        lower, upper = lower_bound(data), upper_bound(data)
        if lower >= frame.beta or lower == upper:
            frame.value = lower
            return True
        if upper <= frame.alpha:
            frame.value = upper
            return True
    return False


@njit(inline="always")
def _probe(game, frames, ply):
    """Multi-ProbCut (Buro 1999): cut where a shallow search passes the bound by a margin. Arguments as of `_enter`.

    Not sound: the margin is the level's number of standard deviations of the difference between both searches. First
    beta is tried, then alpha, each only if the evaluation makes success likely. Returns DESCEND for a search, RETURN
    after a cut-off, SELECT if there is none.
    """
    frame, child, work = frames[ply], frames[ply + 1], game.work
    if frame.stage == _PROBED_HIGH and child.value >= work.bounds[ply]:
        frame.value = frame.beta
        return RETURN
    if frame.stage == _PROBED_LOW:
        frame.value = frame.alpha
        return RETURN if child.value <= work.bounds[ply] else SELECT
    player, opponent = work.positions[ply, _PLAYER], work.positions[ply, _OPPONENT]
    empties = popcount(game.board.playable & ~(player | opponent))
    margin = game.margins.probe[game.level, empties, frame.depth]
    static = game.margins.static[game.level, empties, frame.depth]
    estimate = evaluate(player, opponent, game.board, game.tables, work.numbers)
    high, low = frame.beta + margin, frame.alpha - margin
    if frame.stage == _PROBE and estimate >= frame.beta - static and high < game.board.cells:
        frame.stage = _PROBED_HIGH
        bound, alpha = high, high - 1
    elif estimate < frame.alpha + static and low > -game.board.cells:
        frame.stage = _PROBED_LOW
        bound, alpha = low, low
    else:
        return SELECT
    work.bounds[ply] = bound
    work.positions[ply + 1, _PLAYER], work.positions[ply + 1, _OPPONENT] = player, opponent
    set_window(child, alpha, alpha + 1, game.margins.probe_depth[frame.depth])
    return DESCEND


@njit(inline="always")
def _expand(game, frame, ply):
    """List and score the moves of a node. Returns SELECT, or RETURN after an enhanced transposition cut-off.

    `game` is a ReversiGame, `frame` a FRAME record, `ply` its number.
    """
    work, board = game.work, game.board
    player, opponent = work.positions[ply, _PLAYER], work.positions[ply, _OPPONENT]
    empty = board.playable & ~(player | opponent)
    empties = popcount(empty)
    hash_moves = (NO_MOVE, NO_MOVE)
    if frame.depth >= _TABLE_MIN:
        data = probe(game.table, work.positions[ply, _KEY])
        if data:
            hash_moves = (first_move(data), second_move(data))
    moves = MoveList(work.scores[ply], work.cells[ply], work.turned[ply])
    count = order_moves(
        player,
        opponent,
        legal_moves(player, opponent, empty),
        frame.alpha,
        _shallow_depth(frame.depth, empties, frame.depth < empties),
        hash_moves,
        board,
        game.tables,
        work.numbers,
        work.nodes,
        moves,
    )
    start_moves(frame, count)
    if frame.depth >= _ETC_MIN and _cut_by_children(game, frame, player, opponent, moves, count):
        return RETURN
    return SELECT


@njit(inline="always")
def _cut_by_children(game, frame, player, opponent, moves, count):
    """Enhanced transposition cut-off (Plaat et al. 1996): whether a move's table entry exceeds beta.

    Sound as `_cut_by_table` is: the move's own search would end with that entry. `player` and `opponent` are uint64,
    `moves` is a MoveList with `count` moves.
    """
    for index in range(count):
        turned = moves.turned[index]
        bit = _ONE << np.uint64(moves.cells[index])
        data = probe(game.table, position_key(opponent ^ turned, player | turned | bit))
        if data and depth_of(data) >= frame.depth - 1 and level_of(data) >= game.level:
            frame.value = -upper_bound(data)
            if frame.value >= frame.beta:
                return True
    return False


@njit(inline="always")
def _shallow_depth(depth, empties, wide):
    """The depth of the search that orders a node's moves (cf. Edax's `movelist_evaluate`), from int64, int64, bool."""
    minimum = 9
    if empties <= 27:
        minimum += (30 - empties) // 3
    if depth < minimum:
        return 0 if wide and depth >= 4 else NO_SHALLOW_SEARCH
    return max(0, min(2, (depth - 15) // 3 + (1 if empties >= 27 else 0)))


@njit(inline="always")
def _make_move(game, frames, ply):
    """`alphabeta.search.make_move` for a ReversiGame, FRAME[plies] and int64: highest score first, no reductions."""
    frame, work = frames[ply], game.work
    turned_by = work.turned[ply]
    index = frame.tried
    place = select_move(frame, work.cells[ply], work.scores[ply])
    turned_by[index], turned_by[place] = turned_by[place], turned_by[index]
    turned, bit = turned_by[index], _ONE << np.uint64(frame.move)
    work.positions[ply + 1, _PLAYER] = work.positions[ply, _OPPONENT] ^ turned
    work.positions[ply + 1, _OPPONENT] = work.positions[ply, _PLAYER] | turned | bit
    return 0


@njit(inline="always")
def _scored(game, frames, ply):
    """`alphabeta.search.scored`: nothing to report, as root moves are searched one by one (see `analysis`)."""


@njit(inline="always")
def _finish(game, frames, ply):
    """`alphabeta.search.finish` for a ReversiGame, FRAME[plies] and int64: store the bounds."""
    frame, cells = frames[ply], game.board.cells
    if frame.depth >= _TABLE_MIN:
        best = frame.best
        lower = best if best > frame.alpha else -cells
        upper = best if best < frame.beta else cells
        key = game.work.positions[ply, _KEY]
        store(game.table, key, lower, upper, frame.depth, game.level, frame.best_move, game.date)


@njit(**KERNEL)
def search(tools, stop, player, opponent, alpha, beta, depth, level, date):
    """The fail-soft score of a position in the window (`alpha`, `beta`), in discs for the side to move.

    `tools` is a SearchTools; `player` and `opponent` (uint64) are discs; `depth` is in plies, clipped to the empty
    cells; `level` is one of `selectivity`, `date` (0..255) the table's generation. Returns STOPPED soon after `stop[0]`
    (uint8[1]) becomes non-zero.
    """
    work = tools.work
    game = ReversiGame(tools.board, tools.tables, tools.margins, tools.table, work, level, date)
    work.positions[0, _PLAYER], work.positions[0, _OPPONENT] = player, opponent
    set_window(work.frames[0], alpha, beta, depth)
    done = search_frames(_enter, _resume, _make_move, _scored, _finish, game, work.frames, INFINITE, stop)
    return work.frames[0].value if done else STOPPED


class ReversiSearcher:
    """Search of a variant in one thread; the transposition table may be shared."""

    def __init__(
        self, board: BoardRules, tables: EvaluationTables, margins: Margins, table: npt.NDArray[np.uint64]
    ) -> None:
        self.tools = SearchTools(board, tables, margins, table, new_workspace())
        self.stop = np.zeros(1, np.uint8)
        self.date = 0

    @property
    def board(self) -> BoardRules:
        """Rules of the variant."""
        return self.tools.board

    def score(self, player: int, opponent: int, alpha: int, beta: int, depth: int, level: int = EXACT) -> int:
        """Search a position; see `search`."""
        discs = np.uint64(player), np.uint64(opponent)
        return int(search(self.tools, self.stop, *discs, alpha, beta, depth, level, self.date))

    @property
    def nodes(self) -> int:
        """Number of positions visited so far."""
        return int(self.tools.work.nodes[0])
