"""Drawing of a board as a standalone `<svg>` element of any width, with the colours of `style`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.boards.board import Board, Content, Reading, Square
from agent.boards.pieces import Piece
from agent.boards.shapes import MAX_SHOWN, attribute, draw_pieces, draw_tile, text, unknown
from agent.boards.style import STYLE

CELL = 40
"""Width of a square in the picture's own units."""
HALF = CELL // 2
MARGIN = 6
LABEL_HEIGHT, LETTER_WIDTH = 18, 7.5
MAX_LABEL = 8
_SQUARE = f"M-{HALF}-{HALF}h{CELL}v{CELL}h-{CELL}z"
_HEXAGON = "M0-23.1L20-11.5V11.5L0 23.1-20 11.5V-11.5z"
_WALLS = {(1, 0): "M20-20v40", (-1, 0): "M-20-20v40", (0, 1): "M-20-20h40", (0, -1): "M-20 20h40"}
_POINT = "M-17 0a17 17 0 1 1 34 0a17 17 0 1 1-34 0z"


@dataclass(frozen=True)
class BoardView:
    """Everything to be shown on a board."""

    contents: Mapping[Square, Mapping[Content, Reading]]
    pieces: Mapping[Content, Piece]
    changed: Collection[Square]
    last: Collection[Square]
    choices: Collection[Square]
    first: Collection[Square]
    """The choices with which a move can begin; the others follow another square."""
    joined: bool
    """Whether neighbouring squares with the same content are one piece."""
    ids: Mapping[Square, str]


def draw_board(board: Board, view: BoardView) -> str:
    """Draws one board."""
    canvas = _Canvas(board)
    # A group where squares can be chosen: screen readers do not see into an image.
    role = "group" if view.choices else "img"
    summary = _summary(board, view)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="board" role="{role}" aria-label={attribute(summary)} '
        f'viewBox="0 0 {_n(canvas.width)} {_n(canvas.height)}"><title>{text(summary)}</title><style>{STYLE}</style>'
    ]
    parts.extend(_lines(board, canvas))
    alternating = board.lattice == "square" and any(
        piece.glyph in ("chess", "letter") for piece in view.pieces.values()
    )
    for square in board.places:
        parts.append(_square(board, view, canvas, square, alternating))
    parts.extend(_labels(board, canvas))
    parts.append("</svg>")
    return "".join(parts)


class _Canvas:
    """Size of the picture, and positions in it."""

    def __init__(self, board: Board) -> None:
        places = board.places.values()
        points = board.lattice == "points"
        rows = board.axes[board.up] if board.up >= 0 else ()
        longest = max((min(len(row), MAX_LABEL) for row in rows), default=0)
        self.left = MARGIN + (0 if points else longest * LETTER_WIDTH + 6)
        captions = len(board.planes) not in (0, 2) and not points
        self.top = MARGIN + (LABEL_HEIGHT if captions else 0) + (4 if board.lattice == "hex" else 0)
        self.low_x = min((x for x, _ in places), default=0.0)
        self.low_y = min((y for _, y in places), default=0.0)
        wide = max((x for x, _ in places), default=0.0) - self.low_x + 1
        high = max((y for _, y in places), default=0.0) - self.low_y + 1
        self.width = self.left + wide * CELL + MARGIN
        self.height = self.top + high * CELL + (MARGIN if points else LABEL_HEIGHT + MARGIN)
        if board.lattice == "hex":
            self.height += 4

    def at(self, place: tuple[float, float]) -> tuple[float, float]:
        """Returns the centre of a square in the picture."""
        return self.left + (place[0] - self.low_x) * CELL + HALF, self.top + (place[1] - self.low_y) * CELL + HALF


def _n(value: float) -> str:
    """Formats a number with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


def _summary(board: Board, view: BoardView) -> str:
    sizes = " by ".join(str(len(axis)) for axis in board.axes)
    kind = {"square": "board", "hex": "hexagonal board", "points": "board of points"}[board.lattice]
    standing = sum(bool(board.pieces(contents)) for contents in view.contents.values())
    return f"{kind}, {sizes}; squares with something on them: {standing}"


def _lines(board: Board, canvas: _Canvas) -> Iterator[str]:
    """Draws the lines between points."""
    if board.edges:
        ends = [(canvas.at(board.places[a]), canvas.at(board.places[b])) for a, b in board.edges]
        path = "".join(f"M{_n(ax)} {_n(ay)}L{_n(bx)} {_n(by)}" for (ax, ay), (bx, by) in ends)
        yield f'<path class="edge" d="{path}"/>'


def _square(board: Board, view: BoardView, canvas: _Canvas, square: Square, alternating: bool) -> str:
    x, y = canvas.at(board.places[square])
    contents = view.contents.get(square, {})
    pieces = board.pieces(contents)
    blocked = not pieces and board.is_blocked(contents)
    said = _say(square, board, contents, pieces)
    classes = ["sq"]
    if square in view.choices:
        classes.append("choice first" if square in view.first else "choice")
    if square in view.last:
        classes.append("last")
    if square in view.changed:
        classes.append("changed")
    extra = ' tabindex="0" role="button"' if square in view.choices else ""
    shape = {"square": _SQUARE, "hex": _HEXAGON, "points": _POINT}[board.lattice]
    tone = "b" if blocked else "e" if alternating and _is_dark(board, square) else "s"
    shown = [view.pieces.get(content) or unknown(content) for content in pieces]
    return "".join(
        (
            f'<g data-square={attribute(view.ids[square])} class="{" ".join(classes)}"{extra} '
            f'transform="translate({_n(x)} {_n(y)})"><title>{text(said)}</title><path class="{tone}" d="{shape}"/>',
            _hatching(board, contents) if blocked else "",
            "" if view.joined and pieces else _news(board, view, square, shape),
            _standing(board, view, square, pieces, shown),
            *_marks(contents, shown),
            ('<circle class="r" r="17.5"/>' if pieces else '<circle class="o" r="5"/>')
            if square in view.choices
            else "",
            "</g>",
        )
    )


def _hatching(board: Board, contents: Mapping[Content, Reading]) -> str:
    """Draws the hatching of a blocked square, with a word where a board has several kinds."""
    word = f'<text class="w" y="6">{text(_first(contents)[:2])}</text>' if len(board.blocked) > 1 else ""
    return f'<path class="h" d="M-12 12L12-12M-12 0L0-12M0 12L12 0"/>{word}'


def _news(board: Board, view: BoardView, square: Square, shape: str) -> str:
    """Draws the mark of a square of the last move, or of a changed one."""
    if square in view.last:
        if board.lattice == "square":
            return '<path class="l" d="M-17.5-17.5h35v35h-35z"/>'
        return f'<path class="l" transform="scale(.9)" d="{shape}"/>'
    if square in view.changed:
        if board.lattice == "square":
            return '<path class="t" d="M-19-19h9l-9 9z"/>'
        return '<circle class="t" cy="-15" r="3.5"/>'
    return ""


def _standing(board: Board, view: BoardView, square: Square, pieces: Sequence[Content], shown: Sequence[Piece]) -> str:
    """Draws the pieces on a square, and a point's name where there is room."""
    if view.joined and len(pieces) == 1:
        news = '<circle class="new" r="6"/>' if square in view.changed else ""
        return draw_tile(board, view.contents, square, pieces[0], shown[0]) + news
    drawn = draw_pieces(shown)
    if board.lattice != "points":
        return drawn
    counts = len(shown) == 1 and shown[0].glyph == "text"
    if counts:
        drawn = f'<g transform="translate(0 -4)">{drawn}</g>'
    if len(square[0]) <= 4 and (counts or not shown):
        drawn += f'<text class="j" y="14">{text(square[0])}</text>'
    return drawn


def _is_dark(board: Board, square: Square) -> bool:
    columns, rows = board.axes[board.across], board.axes[board.up]
    return (columns.index(square[board.across]) + rows.index(square[board.up])) % 2 == 0


def _say(square: Square, board: Board, contents: Mapping[Content, Reading], pieces: Collection[Content]) -> str:
    """Describes a square in words."""
    words = [" ".join(content) or "occupied" for content in pieces]
    if not words:
        words = [f"blocked ({_first(contents)})" if board.is_blocked(contents) else "empty"]
    words += sorted(" ".join(content) for content, reading in contents.items() if reading.use == "mark")
    return f"{' '.join(square)}: {', '.join(words)}"


def _first(contents: Mapping[Content, Reading]) -> str:
    return min((" ".join(content) for content, reading in contents.items() if reading.use != "mark"), default="")


def _marks(contents: Mapping[Content, Reading], shown: Sequence[Piece]) -> Iterator[str]:
    """Draws walls and marks; the first mark stands on a stone that has no sign of its own."""
    ink = f" c{shown[0].colour}" if len(shown) == 1 and shown[0].glyph == "stone" and not shown[0].sign else ""
    for reading in contents.values():
        if reading.side is not None:
            yield f'<path class="wall" d="{_WALLS[reading.side]}"/>'
    marks = sorted(content for content, reading in contents.items() if reading.use == "mark" and reading.side is None)
    for index, content in enumerate(marks[:MAX_SHOWN]):
        x, y = ((-14, 14), (14, 14), (14, -14), (-14, -14))[index]
        if len(content) == 1:
            yield f'<circle class="y" cx="{x}" cy="{y}" r="3"/>'
        elif ink and not index:
            yield f'<text class="m{ink}" y="4">{text(content[-1][:3])}</text>'
        else:
            yield f'<text class="j" x="{x}" y="{y + 3}">{text(content[-1][:3])}</text>'


def _labels(board: Board, canvas: _Canvas) -> Iterator[str]:
    """Draws coordinates on the edges, and captions of planes."""
    if board.lattice == "points":
        return
    planes = board.planes
    corners: dict[Square, tuple[float, float]] = {}
    for square, place in board.places.items():
        plane = tuple(square[index] for index in planes)
        x, y = canvas.at(place)
        low = corners.get(plane, (x, y))
        corners[plane] = min(low[0], x), min(low[1], y)
    if len(planes) not in (0, 2):
        for plane, (x, y) in corners.items():
            yield f'<text class="cap" x="{_n(x - HALF)}" y="{_n(y - HALF - 6)}">{text(" ".join(plane))}</text>'
    columns: dict[float, set[str]] = defaultdict(set)
    rows: dict[float, set[str]] = defaultdict(set)
    left: dict[float, float] = {}
    bottom = max((canvas.at(place)[1] for place in board.places.values()), default=0.0)
    for square, place in board.places.items():
        x, y = canvas.at(place)
        rows[y].add(square[board.up])
        left[y] = min(left.get(y, x), x)
        if board.lattice == "square" or abs(y - bottom) < 1:
            columns[x].add(square[board.across])
    if len(planes) not in (0, 2) and any(len(names) > 1 for names in (*columns.values(), *rows.values())):
        # Planes of different sizes: squares in line have different coordinates.
        return
    step = HALF + (4 if board.lattice == "hex" else 0)
    for x, names in sorted(columns.items()):
        yield f'<text class="lab" x="{_n(x)}" y="{_n(bottom + step + 14)}">{text(_cut(min(names)))}</text>'
    leftmost = min(left.values(), default=0.0)
    for y, names in sorted(rows.items()):
        at = (left[y] if board.lattice == "hex" else leftmost) - HALF - 5
        yield f'<text class="lab row" x="{_n(at)}" y="{_n(y + 4)}">{text(_cut(min(names)))}</text>'


def _cut(name: str) -> str:
    return name if len(name) <= MAX_LABEL else name[: MAX_LABEL - 1] + "…"
