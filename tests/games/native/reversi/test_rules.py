"""The native rules of the Reversi family."""

from __future__ import annotations

import random

import pytest

from games.native.reversi.rules import ReversiPosition, ReversiVariant, cells_of, rectangle
from tests.instruments.reversi_perft import perft

SIX_BY_SIX = ReversiVariant(rectangle(6, 6), (1 << 19 | 1 << 26, 1 << 18 | 1 << 27))


def captures(cell: int, player: int, opponent: int) -> int:
    """The discs turned by playing on `cell`, walking one cell at a time."""
    turned = 0
    for row_step in (-1, 0, 1):
        for column_step in (-1, 0, 1):
            row, column = divmod(cell, 8)
            line = 0
            while True:
                row, column = row + row_step, column + column_step
                bit = 1 << (8 * row + column) if 0 <= row < 8 and 0 <= column < 8 else 0
                if not bit & opponent:
                    break
                line |= bit
            if bit & player:
                turned |= line
    return turned


@pytest.mark.parametrize(
    ("depth", "leaves"),
    list(enumerate((1, 4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288, 24571284))),
)
def test_perft_standard(depth: int, leaves: int) -> None:
    """The standard board has the published leaf counts, passes being plies and finished games one leaf."""
    assert perft(ReversiVariant(), depth) == leaves


@pytest.mark.parametrize(("depth", "leaves"), list(enumerate((1364, 7604, 47740, 308716, 2114912, 14976684), start=5)))
def test_perft_six_by_six(depth: int, leaves: int) -> None:
    """A smaller board is embedded without its missing cells ever being played on."""
    assert perft(SIX_BY_SIX, depth, count_finished=False) == leaves


@pytest.mark.parametrize(
    "playable", [rectangle(8, 8), rectangle(5, 7), rectangle(8, 8, 1 << 18 | 1 << 21 | 1 << 42 | 1 << 45)]
)
def test_moves_agree_with_a_walk_over_cells(playable: int) -> None:
    """Mobility and flips are those of a cell-by-cell walk on random boards, also around blocked cells."""
    generator = random.Random(0)
    variant = ReversiVariant(playable)
    for _ in range(300):
        density = generator.random()
        discs = [0, 0]
        for cell in cells_of(playable):
            if generator.random() < density:
                discs[generator.randrange(2)] |= 1 << cell
        position = ReversiPosition((discs[0], discs[1]), generator.randrange(2))
        expected = {
            cell: captures(cell, position.player, position.opponent) for cell in cells_of(variant.empty(position))
        }
        assert variant.moves(position) == sum(1 << cell for cell, turned in expected.items() if turned)
        for cell, turned in expected.items():
            if turned:
                after = variant.play(position, cell)
                assert after.discs[position.turn] == position.player | turned | 1 << cell
                assert after.discs[1 - position.turn] == position.opponent & ~turned


def test_control_stays_where_there_is_no_noop() -> None:
    """Without a noop the player who can move keeps the turn; with it the other side has to pass."""
    # One row, colour 0 on both ends beside colour 1: after cell 2 only colour 0 has a capture left (cell 5).
    start = (1 << 0 | 1 << 7, 1 << 1 | 1 << 6)
    row = rectangle(8, 1)
    stays, passes = ReversiVariant(row, start, noop=False), ReversiVariant(row, start)
    assert stays.play(stays.initial(), 2).turn == 0
    after = passes.play(passes.initial(), 2)
    assert after.turn == 1
    assert not passes.moves(after)
    assert passes.play(after, None) == ReversiPosition(after.discs, 0)


def test_minority_turns_the_result_round() -> None:
    """In suicide Reversi the side with fewer discs wins."""
    position = ReversiPosition((0b111, 0b1000), 0)
    assert ReversiVariant().result(position, 0) == 1
    assert ReversiVariant(minority=True).result(position, 0) == -1
