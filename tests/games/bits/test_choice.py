"""Choices on bit planes against plain Python: the option of each lane's rank, ranks below the totals, rows of lanes."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from games.bits.choice import (
    BLOCK,
    BLOCK_PLANES,
    begin_ranks,
    choose_in_block,
    count_block,
    draw_ranks,
    new_generator,
    planes_for,
)
from games.bits.rows import any_lane, blend_rows, gather_rows, join_row
from games.bits.words import aligned_words
from tests.lanes import WIDTHS, bits_of, rows_of


def numbers_in(planes: NDArray[np.uint64], width: int) -> NDArray[np.int64]:
    """The number of each lane."""
    bits = bits_of(planes, width).astype(np.int64)
    return (bits << np.arange(len(bits))[:, None]).sum(axis=0)


@njit(cache=True)
def count(slots, option, lanes, counts, totals, planes, width):
    """Counts all blocks; returns whether each has an option in `lanes`."""
    found = np.zeros(len(option) // BLOCK, np.bool_)
    for block in range(len(found)):
        found[block] = count_block(slots, option, block, lanes, counts, block, totals, planes, width) != 0
    return found


@njit(cache=True)
def draw(totals, lanes, greatest, ranks, waiting, drawn, generator, planes, width):
    """Draws a rank in each lane with a total; returns the number of rounds."""
    rounds = 0
    left = begin_ranks(totals, lanes, greatest, ranks, waiting, planes, width)
    while left != 0:
        left = draw_ranks(totals, greatest, ranks, waiting, drawn, generator, planes, width)
        rounds += 1
    return rounds


@njit(cache=True)
def choose(slots, option, counts, ranks, planes, chosen, width):
    """Chooses in all blocks; returns whether any lane's option is in each."""
    found = np.zeros(len(option) // BLOCK, np.bool_)
    for block in range(len(found)):
        some = choose_in_block(slots, option, block, counts, block, ranks, planes, chosen, BLOCK * block, width)
        found[block] = some != 0
    return found


@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("n", [BLOCK, 5 * BLOCK, 20 * BLOCK])
def test_each_lane_gets_the_option_of_its_rank(n: int, width: int) -> None:
    """Ranks are below the totals, and lanes without an option, or not asked, get none."""
    random = np.random.default_rng(n + width)
    lanes = 64 * width
    having = random.random((n, lanes)) < random.choice([0.01, 0.3, 1.0], lanes)
    asked = random.random(lanes) < 0.9
    slots, option = rows_of(having), random.permutation(n).astype(np.int32)
    planes = int(planes_for(np.array([n]))[0])
    assert planes >= max(BLOCK_PLANES, n.bit_length())
    counts, totals = aligned_words(BLOCK_PLANES * n // BLOCK * width), aligned_words(planes * width)
    found = count(slots, option, rows_of(asked[None]), counts, totals, planes, WIDTHS[width])
    in_order = having[option]
    assert found.tolist() == (in_order & asked).reshape(-1, BLOCK * lanes).any(axis=1).tolist()
    # Blocks that no asked lane has an option in are not counted.
    in_order &= np.repeat(found, BLOCK)[:, None]
    sums = in_order.sum(axis=0)
    assert numbers_in(totals, width).tolist() == sums.tolist()
    greatest, ranks, drawn = (aligned_words(planes * width) for _ in range(3))
    waiting, generator = aligned_words(width), aligned_words(2 * width)
    generator[:] = new_generator(7, width)
    assert draw(totals, rows_of(asked[None]), greatest, ranks, waiting, drawn, generator, planes, WIDTHS[width]) > 0
    drawing = asked & (sums > 0)
    rank = numbers_in(ranks, width)
    assert (rank[drawing] < sums[drawing]).all()
    assert (rank[~drawing] == (1 << planes) - 1).all()
    chosen = aligned_words(n * width)
    hit = choose(slots, option, counts, ranks, planes, chosen, WIDTHS[width])
    expected = np.zeros((n, lanes), np.bool_)
    for lane in np.flatnonzero(drawing):
        expected[np.flatnonzero(in_order[:, lane])[rank[lane]], lane] = True
    assert np.array_equal(bits_of(chosen, width), expected)
    assert hit.tolist() == expected.reshape(-1, BLOCK * lanes).any(axis=1).tolist()


@njit(cache=True)
def work_on_rows(target, source, lanes, which, others, gathered, width):
    """One of each operation; returns what `any_lane` says of each row of `source`."""
    join_row(target, 1, source, 2, width)
    blend_rows(target, source, lanes, 3, 5, width)
    gather_rows(gathered, source, which, others, lanes, width)
    return [any_lane(source, row, width) != 0 for row in range(len(source) // len(width))]


@pytest.mark.parametrize("width", [1, 8])
def test_rows_of_lanes(width: int) -> None:
    """Joined, blended and gathered rows, and whether a row has a lane."""
    random = np.random.default_rng(width)
    before, after = (random.random((6, 64 * width)) < 0.5 for _ in range(2))
    after[4] = False
    after[5] = np.arange(64 * width) == 64 * width - 1
    lanes = random.random(64 * width) < 0.5
    which, others = np.array([2, 0, 2], np.int32), np.array([0, 2**64 - 1, 5], np.uint64)
    target, gathered = rows_of(before), aligned_words(3 * width)
    found = work_on_rows(target, rows_of(after), rows_of(lanes[None]), which, others, gathered, WIDTHS[width])
    assert found == after.any(axis=1).tolist()
    expected = before.copy()
    expected[1] |= after[2]
    expected[3:5] = np.where(lanes, after[3:5], before[3:5])
    assert np.array_equal(bits_of(target, width), expected)
    filled = np.tile(np.unpackbits(others.view(np.uint8).reshape(3, 8), axis=1, bitorder="little"), width)
    assert np.array_equal(bits_of(gathered, width), np.where(lanes, after[which], filled.view(np.bool_)))
