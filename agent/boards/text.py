"""Drawing of boards as lines of text, for a terminal."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from agent.boards.board import Board, Content, Reading, Square
from agent.boards.pieces import Piece

EMPTY, BLOCKED = ".", "#"
MAX_WIDTH = 110
"""Most characters of a line; further planes go below."""


def board_text(
    board: Board, contents: Mapping[Square, Mapping[Content, Reading]], pieces: Mapping[Content, Piece]
) -> str:
    """Draws one board: x to the right, y upwards, planes side by side; squares with single names as a list."""
    signs = symbols(pieces)

    def sign(square: Square) -> str:
        if square not in board.places:
            return " "
        here = contents.get(square, {})
        standing = board.pieces(here)
        if standing:
            return signs.get(standing[0], "?")
        return BLOCKED if board.is_blocked(here) else EMPTY

    if board.lattice == "points":
        return _beside([f"{square[0]} {sign(square)}" for square in board.places], "   ")
    columns, rows = board.axes[board.across], board.axes[board.up]
    width = max(map(len, (EMPTY, *columns, *signs.values())))
    margin = max(map(len, rows))
    drawn = []
    for values in itertools.product(*(board.axes[plane] for plane in board.planes)):
        plane = dict(zip(board.planes, values, strict=True))
        lines = [" ".join(values)] if values else []
        for index, row in reversed(list(enumerate(rows))):
            here = []
            for column in columns:
                named = {**plane, board.across: column, board.up: row}
                here.append(sign(tuple(named[part] for part in range(len(board.axes)))))
            lines.append(
                _shift(board, index, len(rows), width) + f"{row:>{margin}} " + "".join(f" {it:>{width}}" for it in here)
            )
        foot = 0 if board.lean >= 0 else len(rows) - 1
        lines.append(
            " " * (foot * (width + 1) // 2) + " " * (margin + 1) + "".join(f" {it:>{width}}" for it in columns)
        )
        drawn.append("\n".join(lines))
    return _beside(drawn, "    ")


def _shift(board: Board, row: int, rows: int, width: int) -> str:
    """Returns the indent of a row of a hexagonal board."""
    if not board.lean:
        return ""
    return " " * ((row if board.lean > 0 else rows - 1 - row) * (width + 1) // 2)


def _beside(blocks: Sequence[str], gap: str) -> str:
    """Puts blocks of lines side by side as far as they fit."""
    rows: list[list[list[str]]] = [[]]
    used = 0
    for block in blocks:
        lines = block.splitlines() or [""]
        wide = max(map(len, lines))
        if rows[-1] and used + len(gap) + wide > MAX_WIDTH:
            rows.append([])
            used = 0
        rows[-1].append(lines)
        used += wide + len(gap)
    result = []
    for row in rows:
        high = max(map(len, row))
        widths = [max(map(len, lines)) for lines in row]
        for index in range(high):
            cells = (lines[index] if index < len(lines) else "" for lines in row)
            result.append(gap.join(f"{cell:<{wide}}" for cell, wide in zip(cells, widths, strict=True)).rstrip())
    return "\n".join(result)


def legend(boards: Iterable[tuple[Board, Mapping[Content, Piece]]]) -> str:
    """Returns the meanings of the signs, on one line."""
    named: dict[str, None] = {}
    for _, pieces in boards:
        for content, sign in sorted(symbols(pieces).items(), key=lambda item: (item[1], item[0])):
            if sign != " ".join(content):
                named[f"{sign} {' '.join(content)}"] = None
    return "  ".join(named)


def symbols(contents: Iterable[Content]) -> dict[Content, str]:
    """Returns a short sign for each content: as many first letters as tell all apart."""
    texts = {content: "-".join(content) or "*" for content in contents}
    longest = max(map(len, texts.values()), default=1)
    for length in range(1, longest + 1):
        signs = {content: text[:length] for content, text in texts.items()}
        if len(set(signs.values())) == len(signs):
            return signs
    return texts
