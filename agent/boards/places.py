"""Drawing positions of the squares of a board of two coordinates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

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
    on_planes: dict[Square, dict[Square, tuple[float, float]]] = {
        values: {} for values in itertools.product(*(axes[plane] for plane in planes))
    }
    for square in squares:
        column, row = at[across][square[across]], at[up][square[up]]
        x: float = column
        if lean:
            x += row / 2 if lean > 0 else (height - 1 - row) / 2
        on_planes[tuple(square[plane] for plane in planes)][square] = x, (height - 1 - row) * row_height
    if len(planes) == 2:
        return {
            square: (
                x + at[planes[0]][right] * (plane_width + NESTED_GAP),
                y + (len(axes[planes[1]]) - 1 - at[planes[1]][above]) * (plane_height + NESTED_GAP),
            )
            for (right, above), places in on_planes.items()
            for square, (x, y) in places.items()
        }
    return _in_rows([places for places in on_planes.values() if places], plane_width / plane_height)


def _in_rows(planes: Sequence[Mapping[Square, tuple[float, float]]], shape: float) -> dict[Square, tuple[float, float]]:
    """Arranges planes beside and below one another, each without its empty margins."""
    if len(planes) <= 1:
        return dict(planes[0]) if planes else {}
    wide = plane_columns(len(planes), shape)
    lows = [(min(x for x, _ in plane.values()), min(y for _, y in plane.values())) for plane in planes]
    highs = [(max(x for x, _ in plane.values()), max(y for _, y in plane.values())) for plane in planes]
    widths, heights = [0.0] * wide, [0.0] * math.ceil(len(planes) / wide)
    for index, (low, high) in enumerate(zip(lows, highs, strict=True)):
        widths[index % wide] = max(widths[index % wide], high[0] - low[0] + 1 + PLANE_GAP)
        heights[index // wide] = max(heights[index // wide], high[1] - low[1] + 1 + PLANE_GAP)
    return {
        square: (
            x - lows[index][0] + sum(widths[: index % wide]),
            y - lows[index][1] + sum(heights[: index // wide]),
        )
        for index, plane in enumerate(planes)
        for square, (x, y) in plane.items()
    }


def plane_columns(count: int, shape: float) -> int:
    """Returns the number of planes side by side that makes the picture about square, or wider."""
    return max(1, min(count, math.ceil(math.sqrt(count / shape) - 0.01)))
