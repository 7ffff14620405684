"""The rules of the Reversi family: boards up to 8x8, blocked cells, both ways of passing, both ways of winning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from numba import njit

from games.bits.board8x8 import FULL, capture_targets, flips
from games.bits.compiling import KERNEL
from games.bits.words import popcount


@njit(inline="always")
def legal_moves(player, opponent, empty):
    """The cells of `empty` on which the side to move captures something; all are uint64 sets."""
    return capture_targets(player, opponent) & empty


@njit("uint64(uint64, uint64, uint64)", **KERNEL)
def _legal_moves(player, opponent, empty):
    """`legal_moves` for calls from Python."""
    return legal_moves(player, opponent, empty)


@njit("uint64(int64, uint64, uint64)", **KERNEL)
def _flips(cell, player, opponent):
    """`flips` for calls from Python."""
    return flips(cell, player, opponent)


class ReversiPosition(NamedTuple):
    """A position: a bitboard (Python int) per colour, and the colour to move."""

    discs: tuple[int, int]
    """The discs of colour 0 and of colour 1."""
    turn: int
    """The colour to move."""

    @property
    def player(self) -> int:
        """The discs of the side to move."""
        return self.discs[self.turn]

    @property
    def opponent(self) -> int:
        """The discs of the other side."""
        return self.discs[1 - self.turn]


@dataclass(frozen=True)
class ReversiVariant:
    """One member of the family."""

    playable: int = FULL
    """The cells (bitboard) on which discs may lie."""
    start: tuple[int, int] = (0x0000001008000000, 0x0000000810000000)
    """The discs of colour 0 and colour 1 in the first position."""
    first: int = 0
    """The colour that moves first."""
    noop: bool = True
    """Whether a player without a capture makes a passing move; otherwise the other player keeps control."""
    minority: bool = False
    """Whether the player with *fewer* discs wins (suicide Reversi)."""

    @property
    def cells(self) -> int:
        """Number of playable cells."""
        return self.playable.bit_count()

    @property
    def sign(self) -> int:
        """+1 where more discs are better, -1 where fewer are."""
        return -1 if self.minority else 1

    def initial(self) -> ReversiPosition:
        """The first position."""
        return ReversiPosition(self.start, self.first)

    def empty(self, position: ReversiPosition) -> int:
        """The playable cells without a disc."""
        return self.playable & ~(position.discs[0] | position.discs[1])

    def moves(self, position: ReversiPosition, colour: int | None = None) -> int:
        """The cells (bitboard) on which `colour` (default: the side to move) captures something."""
        colour = position.turn if colour is None else colour
        return self.moves_of(position.discs[colour], position.discs[1 - colour])

    def moves_of(self, player: int, opponent: int) -> int:
        """The cells (bitboard) on which the owner of `player` captures something."""
        return int(_legal_moves(player, opponent, self.playable & ~(player | opponent)))

    def terminal(self, position: ReversiPosition) -> bool:
        """Whether neither side can capture."""
        return not self.moves(position) and not self.moves(position, 1 - position.turn)

    def play(self, position: ReversiPosition, cell: int | None) -> ReversiPosition:
        """The position after a legal move on `cell`, or after a pass (None, only with `noop`)."""
        turn = position.turn
        if cell is None:
            return ReversiPosition(position.discs, 1 - turn)
        opponent, player = play(position.player, position.opponent, cell)
        after = ReversiPosition((opponent, player) if turn else (player, opponent), 1 - turn)
        if not self.noop and not self.moves(after):
            return ReversiPosition(after.discs, turn)
        return after

    def result(self, position: ReversiPosition, colour: int) -> int:
        """Result of the finished game for `colour`: +1 for a win, 0 for a draw, -1 for a loss."""
        margin = self.sign * (position.discs[colour].bit_count() - position.discs[1 - colour].bit_count())
        return (margin > 0) - (margin < 0)


def central_start(columns: int, rows: int, playable: int) -> ReversiVariant:
    """The usual four discs in the middle of a `columns` x `rows` board, colour 0 on the main diagonal."""
    left, top = columns // 2 - 1, rows // 2 - 1
    corner = 1 << (8 * top + left)
    return ReversiVariant(playable, (corner | corner << 9, corner << 1 | corner << 8))


def play(player: int, opponent: int, cell: int) -> tuple[int, int]:
    """The board after a legal move, from the other side: (its discs, the mover's discs)."""
    turned = int(_flips(cell, player, opponent))
    return opponent & ~turned, player | turned | 1 << cell


def rectangle(columns: int, rows: int, blocked: int = 0) -> int:
    """The playable cells of a `columns` x `rows` board in the corner of the 8x8 bitboard, without `blocked`."""
    return sum(((1 << columns) - 1) << (8 * row) for row in range(rows)) & ~blocked


def cells_of(board: int) -> Iterator[int]:
    """The indices of the set bits, lowest first."""
    while board:
        yield (board & -board).bit_length() - 1
        board &= board - 1


@njit(inline="always")
def final_score(player, opponent, cells, sign):
    """The score of a finished game for the side to move, in discs: the winner also gets the empty cells.

    `player` and `opponent` are uint64 sets, `cells` is the number of playable cells, `sign` that of the variant.
    """
    difference = popcount(player) - popcount(opponent)
    empties = cells - popcount(player | opponent)
    if difference > 0:
        difference += empties
    elif difference < 0:
        difference -= empties
    return sign * difference
