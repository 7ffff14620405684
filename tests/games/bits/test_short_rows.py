"""Rows of sixteen integers: sums, and the output of clipped units."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from games.bits.short_rows import COLUMNS, FULL_SHIFT, add_row, aligned_rows, copy_row, subtract_row, unit_output

RANDOM = np.random.default_rng(1)


@njit(cache=True)
def combined(target, rows, at, row, what, wide):
    """One operation on two rows."""
    if what == 0:
        add_row(target, at, rows, row, wide)
    elif what == 1:
        subtract_row(target, at, rows, row, wide)
    else:
        copy_row(target, at, rows, row, wide)


@njit(cache=True)
def output(sums, at, outputs, row, wide):
    """What a row of sums means."""
    return unit_output(sums, at, outputs, row, wide)


def rows_of(values: NDArray[np.int64]) -> NDArray[np.int32]:
    """The same rows (n, COLUMNS) for kernels."""
    flat = aligned_rows(len(values))
    flat[:] = values.ravel()
    return flat


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize(
    ("what", "expected"),
    [(0, lambda a, b: a + b), (1, lambda a, b: a - b), (2, lambda a, b: b)],
    ids=["+", "-", "copy"],
)
def test_one_row_changes_by_another(what: int, expected: object, wide: bool) -> None:
    """Or its first column alone."""
    target, rows = RANDOM.integers(-1000, 1000, (2, 5, COLUMNS))
    flat = rows_of(target)
    combined(flat, rows_of(rows), 3, 1, what, wide)
    columns = COLUMNS if wide else 1
    target[3, :columns] = expected(target[3], rows[1])[:columns]  # type: ignore[operator]
    assert (flat.reshape(-1, COLUMNS) == target).all()


def test_output_is_the_linear_part_and_the_clipped_units() -> None:
    """Column 0 counts as it is, a unit from 0 to full; rounded down."""
    for _ in range(200):
        sums = RANDOM.integers(-3 << FULL_SHIFT, 3 << FULL_SHIFT, (2, COLUMNS))
        outputs = RANDOM.integers(-20000, 20000, (3, COLUMNS))
        units = int(np.clip(sums[1, 1:], 0, 1 << FULL_SHIFT) @ outputs[2, 1:])
        expected = int(sums[1, 0] + outputs[2, 0]) + (units >> FULL_SHIFT)
        assert output(rows_of(sums), 1, rows_of(outputs), 2, True) == expected
        assert output(rows_of(sums), 1, rows_of(outputs), 2, False) == sums[1, 0] + outputs[2, 0]
