"""Drawing positions of the squares of a board of two coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from agent.boards.board import Square

ROW = math.sqrt(3) / 2
"""Distance between rows of hexagons whose centres are one cell apart."""
NESTED_GAP, PLANE_GAP = 0.3, 0.8
"""Gaps between the boards of a board of boards, and between planes (room for a caption), in cells."""


def grid_places(
    squares: Iterable[Square], axes: Sequence[Sequence[str]], across: int, up: int, lean: int
) -> dict[Square, tuple[float, float]]:
    """Returns the centre of each square: columns to the right, rows upwards, planes beside and below one another."""
    planes = [index for index in range(len(axes)) if index not in (across, up)]
    width, height = len(axes[across]), len(axes[up])
    row_height = ROW if lean else 1.0
    plane_width = width + (height - 1) / 2 if lean else width
    plane_height = 1 + (height - 1) * row_height
    at = [{value: index for index, value in enumerate(axis)} for axis in axes]
    count = math.prod(len(axes[plane]) for plane in planes)
    wide = max(1, min(count, math.ceil(math.sqrt(count * plane_height / plane_width) - 0.01)))
    found = {}
    for square in sorted(squares, key=lambda square: [at[plane][square[plane]] for plane in planes]):
        column, row = at[across][square[across]], at[up][square[up]]
        x = column + (row / 2 if lean > 0 else (height - 1 - row) / 2 if lean else 0.0)
        y = (height - 1 - row) * row_height
        if len(planes) == 2:
            right, above = (at[plane][square[plane]] for plane in planes)
            x += right * (plane_width + NESTED_GAP)
            y += (len(axes[planes[1]]) - 1 - above) * (plane_height + NESTED_GAP)
        else:
            index = 0
            for plane in planes:
                index = index * len(axes[plane]) + at[plane][square[plane]]
            x += index % wide * (plane_width + PLANE_GAP)
            y += index // wide * (plane_height + PLANE_GAP)
        found[square] = x, y
    return found
