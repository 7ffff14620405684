"""The principal variation, read from the transposition table for display.

In plain Python: it is needed rarely, and a kernel would have to be compiled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agent.search.alphabeta.table import look_up
from agent.search.engine import LONGEST_LINE
from agent.search.reversi.table import NO_MOVE
from games.native.reversi.rules import ReversiPosition, ReversiVariant

_WORD = (1 << 64) - 1
_FIRST = 32
"""Bit of an entry's best move, see `table`."""


def key_of(player: int, opponent: int) -> int:
    """`table.position_key` in Python."""
    first = player * 0x9E3779B97F4A7C15 & _WORD
    first ^= first >> 32
    second = (opponent ^ 0x5851F42D4C957F2D) * 0xBF58476D1CE4E5B9 & _WORD
    second ^= second >> 29
    key = (first + (second << 1)) * 0x94D049BB133111EB & _WORD
    key ^= key >> 31
    key = key * 0xD6E8FEB86659FD93 & _WORD
    return key ^ key >> 32


def best_known(table: NDArray[np.uint64], player: int, opponent: int) -> int:
    """The cell of the table's (uint64[entries, 2]) best move in a position, or `NO_MOVE`."""
    data = look_up(table, key_of(player, opponent))
    return data >> _FIRST & 0xFF if data else NO_MOVE


def principal_variation(
    table: NDArray[np.uint64], variant: ReversiVariant, position: ReversiPosition, cell: int
) -> list[tuple[int, int]]:
    """The colours and cells of the expected moves, beginning with a legal one, without passes.

    Threads may be writing to the table: an illegal move ends the line.
    """
    line: list[tuple[int, int]] = []
    while len(line) < LONGEST_LINE:
        line.append((position.turn, cell))
        position = variant.play(position, cell)
        if variant.noop and not variant.moves(position):
            position = variant.play(position, None)
        cell = best_known(table, position.player, position.opponent)
        if cell == NO_MOVE or not variant.moves(position) >> cell & 1:
            break
    return line
