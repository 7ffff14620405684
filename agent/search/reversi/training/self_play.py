"""Self-play: positions labelled by the engine's own games.

A game starts with random plies (not recorded), goes on with searches of a fixed depth, and ends with exact play. A
position with few empty cells is labelled with its true score, others with the temporal-difference return (R. Sutton,
1988): the final score and the scores of searches on the way, later ones weighing less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from agent.search.alphabeta.table import probe
from agent.search.reversi.endings import INFINITE, SMALL
from agent.search.reversi.search import ReversiSearcher, search
from agent.search.reversi.selectivity import EXACT
from agent.search.reversi.table import NO_MOVE, first_move, position_key
from games.bits.board8x8 import flips
from games.bits.words import lowest, popcount
from games.native.reversi.rules import ReversiVariant, final_score, legal_moves

_ONE = np.uint64(1)


@dataclass(frozen=True)
class LabelledPositions:
    """Labelled positions, from the side to move."""

    player: npt.NDArray[np.uint64]
    opponent: npt.NDArray[np.uint64]
    score: npt.NDArray[np.float32]
    """float32: the label, in discs for the side to move."""

    def __len__(self) -> int:
        return len(self.score)

    @classmethod
    def join(cls, parts: list[LabelledPositions]) -> LabelledPositions:
        """All positions of several sets."""
        return cls(
            np.concatenate([part.player for part in parts]),
            np.concatenate([part.opponent for part in parts]),
            np.concatenate([part.score for part in parts]),
        )


class SelfPlaySettings(NamedTuple):
    """Settings of self-play."""

    depth: int = 4
    level: int = 1
    """The selectivity level of the searches before the ending."""
    solve: int = 14
    """Most empty cells for exact play."""
    random: tuple[int, int] = (4, 18)
    """Fewest and most random plies at the start."""
    decay: float = 0.95
    """Weight of later scores against a position's own search in its label (1: only the final score)."""


@njit(cache=True, nogil=True)
def choose(tools, stop, player, opponent, depth, level, date):
    """The best move's cell and its score by a search of that depth, exact for the last cells.

    There must be a legal move. The arguments are those of `search`.
    """
    board = tools.board
    empty = board.playable & ~(player | opponent)
    if not (depth >= popcount(empty) and popcount(empty) <= SMALL) and depth >= 3:
        bound = board.cells
        score = search(tools, stop, player, opponent, -bound, bound, depth, level, date)
        data = probe(tools.table, position_key(player, opponent))
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
        value = -search(tools, stop, other, own, -INFINITE, -best, depth - 1, level, date)
        if value > best:
            best, choice = value, cell
    return choice, best


@njit(cache=True, nogil=True)
def _play_games(tools, stop, seed, games, start, settings, players, opponents, scores):
    """Play games and write their labelled positions to `players`, `opponents` (uint64) and `scores` (float32).

    `tools` is a SearchTools, `stop` uint8[1], `start` the discs of the side to move and the other one (two uint64),
    `settings` a SelfPlaySettings. The arrays have room for a position per playable cell and game, and one more each.
    Returns the number of positions, without those of a game that was stopped.
    """
    board = tools.board
    np.random.seed(seed)
    sides = np.zeros(128, np.int8)
    count = 0
    for game in range(games):
        player, opponent = start
        randoms = np.random.randint(settings.random[0], settings.random[1] + 1)
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
                if popcount(empty) <= settings.solve:
                    plies, certainty = popcount(empty), EXACT
                else:
                    plies, certainty = settings.depth, settings.level
                cell, scores[count - 1] = choose(tools, stop, player, opponent, plies, certainty, game & 255)
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
            if popcount(board.playable & ~taken) > settings.solve:
                score = np.float32(settings.decay) * score + np.float32(1 - settings.decay) * scores[index]
            scores[index] = score
    return count


def play_games(
    variant: ReversiVariant, searcher: ReversiSearcher, play: SelfPlaySettings, games: int, seed: int
) -> LabelledPositions:
    """Play games, fewer if the searcher is stopped; return the positions after the random opening plies."""
    room = games * (variant.cells + 1)
    players, opponents = np.zeros(room, np.uint64), np.zeros(room, np.uint64)
    scores = np.zeros(room, np.float32)
    start = variant.initial()
    discs = np.uint64(start.player), np.uint64(start.opponent)
    count = _play_games(searcher.tools, searcher.stop, seed, games, discs, play, players, opponents, scores)
    return LabelledPositions(players[:count].copy(), opponents[:count].copy(), scores[:count].copy())
