"""The native rules of the Reversi family."""

from __future__ import annotations

import random

import pytest

from games.native.reversi.rules import ReversiPosition, ReversiVariant, cells_of, rectangle
from tests.games.bits.test_board8x8 import plain_flips
from tests.instruments.reversi_perft import perft

SIX_BY_SIX = ReversiVariant(rectangle(6, 6), (1 << 19 | 1 << 26, 1 << 18 | 1 << 27))


@pytest.mark.parametrize(("depth", "leaves"), [(0, 1), (1, 4), (5, 1396), (9, 3005288)])
def test_perft_standard(depth: int, leaves: int) -> None:
    """The standard board has the published leaf counts, passes being plies and finished games one leaf."""
    assert perft(ReversiVariant(), depth) == leaves


def test_perft_six_by_six() -> None:
    """A smaller board is embedded without its missing cells ever being played on."""
    assert perft(SIX_BY_SIX, 9, count_finished=False) == 2114912


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
            cell: plain_flips(cell, position.player, position.opponent) for cell in cells_of(variant.empty(position))
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
