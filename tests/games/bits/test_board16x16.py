"""Sets of cells on 16x16 boards against Python sets."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from games.bits.board16x16 import (
    SHIFTED_BYTES,
    SIDE,
    WORDS,
    diagonals,
    fit,
    overlap,
    overlap_beyond,
    spread,
    store_shifted,
)

Cells = frozenset[tuple[int, int]]
EVERYWHERE = frozenset((x, y) for x in range(SIDE) for y in range(SIDE))
SHAPES = [
    [(0, 0)],
    [(0, 0), (1, 0), (1, 1)],
    [(2, 0), (0, 1), (1, 3)],
    [(dx, 0) for dx in range(SIDE)],
    [(0, dy) for dy in range(SIDE)],
]
"""As offsets from the anchor."""


@njit(cache=True)
def run_store_shifted(board, columns, target):
    """All arrays contiguous."""
    store_shifted(board.ctypes.data, columns, target.ctypes.data)


@njit(cache=True)
def run_fit(free, corners, offsets, anchors, legal):
    """All arrays contiguous."""
    return fit(
        free.ctypes.data,
        corners.ctypes.data,
        offsets.ctypes.data,
        len(offsets),
        anchors.ctypes.data,
        legal.ctypes.data,
    )


@njit(cache=True)
def run_spread(padded_anchors, offsets, cells):
    """The anchors come after 32 zero bytes."""
    spread(padded_anchors.ctypes.data + 32, offsets.ctypes.data, len(offsets), cells.ctypes.data)


@njit(cache=True)
def run_diagonals(board, target):
    """All arrays contiguous."""
    diagonals(board.ctypes.data, target.ctypes.data)


@njit(cache=True)
def run_overlaps(one, other, without):
    """Both counts."""
    return (
        overlap(one.ctypes.data, other.ctypes.data),
        overlap_beyond(one.ctypes.data, other.ctypes.data, without.ctypes.data),
    )


def board(cells: Cells) -> NDArray[np.uint64]:
    """A set as uint64[4]."""
    bits = sum(1 << (SIDE * y + x) for x, y in cells)
    return np.array([bits >> (64 * word) & 0xFFFFFFFFFFFFFFFF for word in range(WORDS)], np.uint64)


def cells_of(words: NDArray[np.uint64]) -> Cells:
    """The inverse of `board`."""
    bits = sum(int(word) << (64 * i) for i, word in enumerate(words))
    return frozenset((cell % SIDE, cell // SIDE) for cell in range(256) if bits >> cell & 1)


def shifted(cells: Cells, columns: int) -> NDArray[np.uint64]:
    """The output of `store_shifted` for a set, and one more board of zeros, into which loads may run."""
    target = np.zeros((columns + 1) * SHIFTED_BYTES // 8, np.uint64)
    run_store_shifted(board(cells), columns, target)
    return target


def offsets_of(shape: list[tuple[int, int]]) -> NDArray[np.uint32]:
    """A shape as `fit` takes it."""
    return np.array([SHIFTED_BYTES * dx + 2 * dy for dx, dy in shape], np.uint32)


def plain_fit(free: Cells, corners: Cells, shape: list[tuple[int, int]], anchors: Cells) -> tuple[int, Cells]:
    """The twin of `fit`: its result, and the anchors that it stores."""
    placed = {(x, y): {(x + dx, y + dy) for dx, dy in shape} for x, y in anchors}
    fitting = {anchor for anchor, covered in placed.items() if covered <= free}
    legal = frozenset(anchor for anchor in fitting if placed[anchor] & corners)
    return len(legal) if fitting else -1, legal


def plain_spread(anchors: Cells, shape: list[tuple[int, int]], cells: Cells) -> Cells:
    """The twin of `spread`."""
    return cells | {(x + dx, y + dy) for x, y in anchors for dx, dy in shape}


def plain_diagonals(cells: Cells) -> Cells:
    """The twin of `diagonals`."""
    return frozenset((x + dx, y + dy) for x, y in cells for dx in (-1, 1) for dy in (-1, 1)) & EVERYWHERE


def some_sets() -> list[Cells]:
    """Empty, full, corners, and random ones from sparse to dense."""
    rng = random.Random(3)
    found = [frozenset(), EVERYWHERE, frozenset({(0, 0), (15, 0), (0, 15), (15, 15)})]
    return found + [frozenset(rng.sample(sorted(EVERYWHERE), rng.randrange(257))) for _ in range(40)]


def test_shifts_columns() -> None:
    """Copy dx holds at (x, y) what the board holds at (x + dx, y), with empty rows after it."""
    for cells in some_sets():
        copies = shifted(cells, SIDE).reshape(-1, SHIFTED_BYTES // 8)
        for dx in range(SIDE):
            assert cells_of(copies[dx, :WORDS]) == {(x - dx, y) for x, y in cells if x >= dx}
            assert not copies[dx, WORDS:].any()


@pytest.mark.parametrize("shape", SHAPES)
def test_fits_shapes(shape: list[tuple[int, int]]) -> None:
    """Counts and anchors of the placements that touch a corner; -1 where nothing fits."""
    sets = some_sets()
    rng = random.Random(4)
    columns = 1 + max(dx for dx, _ in shape)
    for free in sets:
        corners, anchors = rng.choice(sets), rng.choice(sets)
        legal = np.zeros(WORDS, np.uint64)
        count = run_fit(shifted(free, columns), shifted(corners, columns), offsets_of(shape), board(anchors), legal)
        assert (count, cells_of(legal)) == plain_fit(free, corners, shape, anchors)


@pytest.mark.parametrize("shape", SHAPES)
def test_spreads_anchors(shape: list[tuple[int, int]]) -> None:
    """The cells that the shape covers from anchors that keep it on the board are added to a set."""
    for cells in some_sets():
        anchors = frozenset((x, y) for x, y in cells if all((x + dx, y + dy) in EVERYWHERE for dx, dy in shape))
        for before in (frozenset(), frozenset({(0, 0), (3, 9)})):
            target = board(before)
            run_spread(np.concatenate((np.zeros(WORDS, np.uint64), board(anchors))), offsets_of(shape), target)
            assert cells_of(target) == plain_spread(anchors, shape, before)


def test_finds_diagonal_neighbours() -> None:
    """Also at the edges, from which nothing wraps round."""
    for cells in some_sets():
        target = np.zeros(WORDS, np.uint64)
        run_diagonals(board(cells), target)
        assert cells_of(target) == plain_diagonals(cells)


def test_counts_common_cells() -> None:
    """On two boards, and on two but not on a third."""
    sets = some_sets()
    rng = random.Random(6)
    for one in sets:
        other, without = rng.choice(sets), rng.choice(sets)
        assert run_overlaps(board(one), board(other), board(without)) == (len(one & other), len(one & other - without))
