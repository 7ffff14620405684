"""Self-play: positions labelled with what the engine itself makes of them.

A game starts with random plies (not recorded), goes on with searches of a fixed depth, and ends with exact play. The
label of a position with few empty cells is its true score; further up it is the temporal-difference return (R. Sutton,
1988): the final score and the scores of the searches on the way, the later ones weighing less and less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from agent.search.reversi.endings import INFINITE, SMALL
from agent.search.reversi.search import Searcher, search
from agent.search.reversi.selectivity import EXACT
from agent.search.reversi.table import NO_MOVE, first_move, position_key, probe
from games.bits.board8x8 import flips
from games.bits.words import lowest, popcount
from games.native.reversi.rules import Variant, final_score, legal_moves

_ONE = np.uint64(1)


@dataclass(frozen=True)
class Positions:
    """Labelled positions, from the side to move."""

    player: npt.NDArray[np.uint64]
    opponent: npt.NDArray[np.uint64]
    score: npt.NDArray[np.float32]
    """float32: the label, in discs for the side to move."""

    def __len__(self) -> int:
        return len(self.score)

    @classmethod
    def join(cls, parts: list[Positions]) -> Positions:
        """All positions of several sets."""
        return cls(
            np.concatenate([part.player for part in parts]),
            np.concatenate([part.opponent for part in parts]),
            np.concatenate([part.score for part in parts]),
        )


@dataclass(frozen=True)
class Play:
    """How self-play plays."""

    depth: int = 4
    level: int = 1
    """The selectivity level of the searches before the ending."""
    solve: int = 14
    """Exact play from so many empty cells."""
    random: tuple[int, int] = (4, 18)
    """The least and the greatest number of random plies at the start."""
    decay: float = 0.95
    """The weight of what follows against a position's own search in its label (1: only the final score)."""


@njit(cache=True, nogil=True)
def choose(player, opponent, depth, level, board, tables, margins, table, date, work, stop):
    """(best move's cell, score) by a search of that depth; exact for the last cells. There must be a legal move."""
    empty = board.playable & ~(player | opponent)
    if not (depth >= popcount(empty) and popcount(empty) <= SMALL) and depth >= 3:
        bound = board.cells
        score = search(player, opponent, -bound, bound, depth, level, board, tables, margins, table, date, work, stop)
        data = probe(table, position_key(player, opponent))
        if data and first_move(data) != NO_MOVE:
            return first_move(data), score
    best, choice = -INFINITE, NO_MOVE
    moves = legal_moves(player, opponent, empty)
    while moves:
        cell = lowest(moves)
        bit = moves & (~moves + _ONE)
        moves ^= bit
        turned = flips(cell, player, opponent)
        own, other = player | turned | bit, opponent ^ turned
        value = -search(other, own, -INFINITE, -best, depth - 1, level, board, tables, margins, table, date, work, stop)
        if value > best:
            best, choice = value, cell
    return choice, best


@njit(cache=True, nogil=True)
def _play_games(
    seed, games, first, second, depth, level, solve, random_low, random_high, decay,
    board, tables, margins, table, work, stop, players, opponents, scores
):  # fmt: skip
    np.random.seed(seed)
    sides = np.zeros(128, np.int8)
    count = 0
    for game in range(games):
        player, opponent = first, second
        randoms = np.random.randint(random_low, random_high + 1)
        side = 0
        begin = count
        while True:
            empty = board.playable & ~(player | opponent)
            moves = legal_moves(player, opponent, empty)
            if moves == 0:
                if legal_moves(opponent, player, empty) == 0:
                    break
                player, opponent, side = opponent, player, 1 - side
                continue
            if randoms > 0:
                randoms -= 1
                for _ in range(np.random.randint(0, popcount(moves))):
                    moves &= moves - _ONE
                cell = lowest(moves)
            else:
                players[count], opponents[count], sides[count - begin] = player, opponent, side
                count += 1
                if popcount(empty) <= solve:
                    plies, certainty = popcount(empty), EXACT
                else:
                    plies, certainty = depth, level
                cell, scores[count - 1] = choose(
                    player, opponent, plies, certainty, board, tables, margins, table, game & 255, work, stop
                )
                if stop[0]:
                    return begin
            turned = flips(cell, player, opponent)
            player, opponent = opponent ^ turned, player | turned | _ONE << np.uint64(cell)
            side = 1 - side
        score = np.float32(final_score(player, opponent, board.cells, board.sign))
        for index in range(count - 1, begin - 1, -1):
            if sides[index - begin] != side:
                score, side = -score, 1 - side
            taken = players[index] | opponents[index]
            if popcount(board.playable & ~taken) > solve:
                score = np.float32(decay) * score + np.float32(1 - decay) * scores[index]
            scores[index] = score
    return count


def play_games(variant: Variant, searcher: Searcher, play: Play, games: int, seed: int) -> Positions:
    """Play that many games, fewer if the searcher is stopped; the positions after the random opening plies."""
    room = games * (variant.cells + 1)
    players, opponents = np.zeros(room, np.uint64), np.zeros(room, np.uint64)
    scores = np.zeros(room, np.float32)
    start = variant.initial()
    words: Any = np.uint64
    count = _play_games(
        seed, games, words(start.player), words(start.opponent),
        play.depth, play.level, play.solve, *play.random, play.decay,
        searcher.board, searcher.tables, searcher.margins, searcher.table, searcher.work, searcher.stop,
        players, opponents, scores,
    )  # fmt: skip
    return Positions(players[:count].copy(), opponents[:count].copy(), scores[:count].copy())
