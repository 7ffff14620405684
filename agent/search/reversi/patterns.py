"""Patterns of the evaluation on boards of any size, and tables of their numbers.

A pattern is a set of cells, each empty (0), own (1) or the opponent's (2); its contents are a number in base 3. The
shapes are those of Logistello (M. Buro, "Improving heuristic mini-max search by supervised learning", 2002) and Edax:
lines, corners, and edges with the cells beside the corners. Instances that are symmetric images of each other share
their weights. Blocked cells count as empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

LANES = 48
"""Most pattern instances: 16-bit lanes, four to a 64-bit word."""
WORDS = LANES // 4

Cell = tuple[int, int]
"""(column, row), from a corner of the board."""


def _shapes(columns: int, rows: int) -> dict[str, list[Cell]]:
    """The patterns at one corner or side of a board that fit, by name."""
    last = columns - 1
    shapes: dict[str, list[Cell]] = {
        "corner 3x3": [(x, y) for y in range(3) for x in range(3)],
        "corner angle": [(0, 4), (0, 3), (0, 2), (0, 1), (0, 0), (1, 1), (1, 0), (2, 0), (3, 0), (4, 0)],
        "edge and X": [(1, 1), *((x, 0) for x in range(columns)), (last - 1, 1)],
        "edge block": [(0, 0), (2, 0), (3, 0), (2, 1), (3, 1), (4, 1), (5, 1), (4, 0), (5, 0), (7, 0)],
    }
    for row in (1, 2, 3):
        if row <= (rows - 1) // 2:
            shapes[f"row {row + 1}"] = [(x, row) for x in range(columns)]
    for length in range(4, 9):
        if length <= min(columns, rows):
            shapes[f"diagonal {length}"] = [(x, length - 1 - x) for x in range(length)]
    return {
        name: cells
        for name, cells in shapes.items()
        if all(0 <= x < columns and 0 <= y < rows for x, y in cells) and len(set(cells)) == len(cells)
    }


@dataclass(frozen=True)
class PatternSet:
    """The patterns of a board of `columns` x `rows` cells in the corner of the 8x8 bitboard."""

    columns: int
    rows: int
    names: tuple[str, ...]
    """Name of each class of patterns that share their weights."""
    classes: tuple[int, ...]
    """Per instance, its class."""
    cells: tuple[tuple[int, ...], ...]
    """Per instance, the bitboard cells from the most significant digit down."""

    @classmethod
    def of_board(cls, columns: int, rows: int) -> PatternSet:
        """All instances of all shapes on a board."""
        names: list[str] = []
        classes: list[int] = []
        instances: list[tuple[int, ...]] = []
        seen: set[frozenset[int]] = set()
        for transposed in (False, True) if columns != rows else (False,):
            width, height = (rows, columns) if transposed else (columns, rows)
            for name, shape in _shapes(width, height).items():
                name = f"{name} transposed" if transposed else name
                for image in range(8):
                    cells = []
                    for x, y in shape:
                        if image & 1:
                            x = width - 1 - x
                        if image & 2:
                            y = height - 1 - y
                        if transposed or (image & 4 and columns == rows):
                            x, y = y, x
                        cells.append(8 * y + x)
                    if frozenset(cells) not in seen and len(instances) < LANES:
                        seen.add(frozenset(cells))
                        if name not in names:
                            names.append(name)
                        classes.append(len(names) - 1)
                        instances.append(tuple(cells))
        return cls(columns, rows, tuple(names), tuple(classes), tuple(instances))

    @property
    def count(self) -> int:
        """The number of instances."""
        return len(self.cells)

    @cached_property
    def class_sizes(self) -> tuple[int, ...]:
        """Per class, the number of possible contents."""
        lengths = dict(zip(self.classes, map(len, self.cells), strict=True))
        return tuple(3 ** lengths[index] for index in range(len(self.names)))

    @cached_property
    def class_starts(self) -> npt.NDArray[np.int64]:
        """int64[classes + 1]: start of each class in the array of weights."""
        return np.concatenate([[0], np.cumsum(self.class_sizes)]).astype(np.int64)

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """int64[count]: start of each instance's class in the array of weights."""
        return self.class_starts[list(self.classes)]

    @cached_property
    def row_words(self) -> npt.NDArray[np.uint64]:
        """uint64[8 * 256, WORDS]: per row of the board and its contents, the terms of the instances' numbers.

        The instances' numbers are the sum over the board's rows of this table at the own discs plus twice the table at
        the opponent's discs, in 16-bit lanes that never overflow.
        """
        digits = np.zeros((64, LANES), np.uint16)
        for lane, cells in enumerate(self.cells):
            for place, cell in enumerate(reversed(cells)):
                digits[cell, lane] = 3**place
        table = np.zeros((8, 256, LANES), np.uint16)
        for contents in range(256):
            for column in range(8):
                if contents >> column & 1:
                    table[:, contents] += digits[column::8]
        return np.ascontiguousarray(table).view("<u8").reshape(8 * 256, WORDS)

    @cached_property
    def canonical(self) -> npt.NDArray[np.int32]:
        """int32[weights]: per weight, the one that it shares with its image under the shape's own symmetry."""
        result = np.arange(self.class_starts[-1], dtype=np.int32)
        for index in range(len(self.names)):
            cells = self.cells[self.classes.index(index)]
            order = self._own_symmetry(cells)
            if order is None:
                continue
            numbers = np.arange(self.class_sizes[index])
            mirrored = np.zeros_like(numbers)
            for place, source in enumerate(order):
                digit = numbers // 3 ** (len(cells) - 1 - source) % 3
                mirrored += digit * 3 ** (len(cells) - 1 - place)
            start = self.class_starts[index]
            result[start : start + len(numbers)] = start + np.minimum(numbers, mirrored)
        return result

    def _own_symmetry(self, cells: tuple[int, ...]) -> list[int] | None:
        """The reordering of `cells` by a symmetry of the board, other than the identity, that keeps the set."""
        square = self.columns == self.rows
        for image in range(1, 8 if square else 4):
            mapped = []
            for cell in cells:
                y, x = divmod(cell, 8)
                if image & 1:
                    x = self.columns - 1 - x
                if image & 2:
                    y = self.rows - 1 - y
                if image & 4:
                    x, y = y, x
                mapped.append(8 * y + x)
            if set(mapped) == set(cells) and mapped != list(cells):
                return [mapped.index(cell) for cell in cells]
        return None
