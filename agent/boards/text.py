"""Drawing of boards as lines of text, for a terminal."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

from agent.boards.board import Board, Content, Reading, Square

EMPTY, BLOCKED = ".", "#"


def board_text(
    board: Board,
    contents: Mapping[Square, Mapping[Content, Reading]],
    places: Mapping[Square, tuple[float, float]],
    pieces: Iterable[Content],
) -> str:
    """Draws one board: a sign for each square where a picture would have it, and the names of columns and rows."""
    signs = symbols(pieces)
    columns, rows = board.headings()
    width = max(map(len, (EMPTY, *columns.values(), *(board.axes[0] if board.lattice == "stacks" else signs.values()))))
    margin = max(map(len, rows.values()), default=0)
    lines: dict[float, list[tuple[float, str]]] = defaultdict(list)
    line = -math.inf
    for square, (x, y) in sorted(places.items(), key=lambda item: item[1][1]):
        here = contents.get(square, {})
        standing = board.pieces(here)
        sign = signs.get(standing[0], "?") if standing else BLOCKED if board.is_blocked(here) else EMPTY
        if board.lattice == "stacks":
            sign = "/".join([square[0], *(content[-1] for content in standing if board.amounts)])
        # Points that are nearly level stand on one line.
        line = line if y < line + 0.4 else y
        lines[line].append((x, sign))
    drawn = [f"{rows.get(y, ''):>{margin}} " + _line(lines[y], width) for y in lines]
    return "\n".join([*drawn, " " * (margin + 1) + _line(columns.items(), width)]).rstrip()


def _line(signs: Iterable[tuple[float, str]], width: int) -> str:
    line = ""
    for x, sign in sorted(signs):
        line = line.ljust(round(x * (width + 1))) + f" {sign:>{width}}"
    return line


def symbols(contents: Iterable[Content]) -> dict[Content, str]:
    """Returns a short sign for each content: as many first letters as tell all apart."""
    texts = {content: "-".join(content) or "*" for content in contents}
    longest = max(map(len, texts.values()), default=1)
    for length in range(1, longest + 1):
        signs = {content: text[:length] for content, text in texts.items()}
        if len(set(signs.values())) == len(signs):
            return signs
    return texts
