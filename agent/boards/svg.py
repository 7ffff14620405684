"""Drawing of a board as a standalone `<svg>` element of any width, with the colours of `style`.

Each square is a `<g data-square>`, moved to its place by `transform` alone, with the same name in all positions of a
layout. The pieces on it are its `<g class="pc">`. The last element, `.ring`, is the focus, drawn over all neighbours;
it is unseen until a page gives it a square's `transform`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.boards.board import Board, Content, Reading, Square
from agent.boards.pieces import Piece
from agent.boards.shapes import MAX_SHOWN, attribute, draw_box, draw_pieces, draw_pile, draw_tile, text, unknown
from agent.boards.style import STYLE

CELL = 40
"""Width of a square in the picture's own units."""
HALF = CELL // 2
MARGIN = 6
LABEL_HEIGHT, LETTER_WIDTH = 18, 7.5
MAX_LABEL = 8
_SHAPES = {
    "square": f"M-{HALF}-{HALF}h{CELL}v{CELL}h-{CELL}z",
    "hex": "M0-23.1L20-11.5V11.5L0 23.1-20 11.5V-11.5z",
    "points": "M-17 0a17 17 0 1 1 34 0a17 17 0 1 1-34 0z",
}
_WALLS = {(1, 0): "M20-20v40", (-1, 0): "M-20-20v40", (0, 1): "M-20-20h40", (0, -1): "M-20 20h40"}


@dataclass(frozen=True)
class BoardView:
    """Everything to be shown on a board."""

    contents: Mapping[Square, Mapping[Content, Reading]]
    places: Mapping[Square, tuple[float, float]]
    """Centres of the squares now."""
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
        f'<svg xmlns="http://www.w3.org/2000/svg" class="board {board.lattice}" role="{role}" '
        f'aria-label={attribute(summary)} viewBox="0 0 {_n(canvas.width)} {_n(canvas.height)}">'
        f"<title>{text(summary)}</title><style>{STYLE}</style>"
    ]
    parts.extend(_lines(board, canvas))
    alternating = board.lattice == "square" and any(
        piece.glyph in ("chess", "letter") for piece in view.pieces.values()
    )
    for square in board.places:
        parts.append(_square(board, view, canvas, square, alternating))
    parts.extend(_labels(board, canvas))
    parts.append(f'<path class="ring" d="{_shape(board, next(iter(board.places), ()))}"/></svg>')
    return "".join(parts)


def draw_emblem(piece: Piece, only: bool) -> str:
    """Draws a piece in the looks of its owner, for use beside boards in a page that has their style sheet.

    One that is not the `only` one of its owner is a plain stone.
    """
    plain = replace(piece, extra="", sign="", glyph=piece.glyph if only else "stone")
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="board emblem" viewBox="-20 -20 40 40" aria-hidden="true">'
        f"{draw_pieces([plain])}</svg>"
    )


class _Canvas:
    """Size of the picture, and positions in it."""

    def __init__(self, board: Board) -> None:
        places = board.places.values()
        points = board.lattice in ("points", "bars", "stacks")
        rows = board.axes[board.up] if board.up >= 0 else ()
        longest = max((min(len(row), MAX_LABEL) for row in rows), default=0)
        self.left = MARGIN + (longest * LETTER_WIDTH + 6 if rows else 0)
        captions = board.lattice == "bars" or (len(board.planes) not in (0, 2) and not points)
        self.top = MARGIN + (LABEL_HEIGHT if captions else 0) + (4 if board.lattice == "hex" else 0)
        sides = [(board.places[square][0], board.widths.get(square, 1.0) / 2) for square in board.places]
        self.low_x = min((x - half for x, half in sides), default=0.0) + 0.5
        # A stack may have all things.
        high = -0.8 * len(board.tints or board.amounts) if board.lattice == "stacks" else 0.0
        self.low_y = min((y + high for _, y in places), default=0.0)
        wide = max((x + half for x, half in sides), default=0.0) - self.low_x + 0.5
        high = max((y for _, y in places), default=0.0) - self.low_y + 1
        self.width = self.left + wide * CELL + MARGIN
        self.height = self.top + high * CELL + MARGIN + (LABEL_HEIGHT if board.across >= 0 else 0)
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
    kinds = {
        "square": "board",
        "hex": "hexagonal board",
        "points": "board of points",
        "bars": "bars",
        "stacks": "stacks",
    }
    kind = kinds[board.lattice]
    standing = sum(bool(board.pieces(contents)) for contents in view.contents.values())
    return f"{kind}, {sizes}; squares with something on them: {standing}"


def _lines(board: Board, canvas: _Canvas) -> Iterator[str]:
    """Draws the lines between points."""
    if board.edges:
        ends = [(canvas.at(board.places[a]), canvas.at(board.places[b])) for a, b in board.edges]
        path = "".join(f"M{_n(ax)} {_n(ay)}L{_n(bx)} {_n(by)}" for (ax, ay), (bx, by) in ends)
        yield f'<path class="edge" d="{path}"/>'


def _square(board: Board, view: BoardView, canvas: _Canvas, square: Square, alternating: bool) -> str:
    x, y = canvas.at(view.places[square])
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
    shape = _shape(board, square)
    thing = board.lattice == "stacks" and square in board.tints
    tone = "z" if thing else "b" if blocked else "e" if alternating and _is_dark(board, square) else "s"
    # Where most squares are choices, they are no news.
    dot = 2.5 if 2 * len(view.first) > len(board.places) else 5
    ring = f'<path d="{shape}"/>' if square in board.widths else '<circle r="18"/>'
    shown = [view.pieces.get(content) or unknown(content) for content in pieces]
    return "".join(
        (
            f'<g data-square={attribute(view.ids[square])} class="{" ".join(classes)}"{extra} '
            f'transform="translate({_n(x)} {_n(y)})"><title>{text(said)}</title><path class="{tone}" d="{shape}"/>',
            '<path class="h" d="M-12 12L12-12M-12 0L0-12M0 12L12 0"/>' if blocked else "",
            "" if view.joined and pieces else _news(board, view, square, shape),
            _standing(board, view, square, pieces, shown),
            *_marks(contents, shown),
            (f'<g class="r">{2 * ring}</g>' if pieces or square in board.tints else f'<circle class="o" r="{dot}"/>')
            if square in view.choices
            else "",
            "</g>",
        )
    )


def _shape(board: Board, square: Square) -> str:
    half = board.widths.get(square, 0.0) * HALF
    return f"M-{_n(half)}-15h{_n(2 * half)}v30h-{_n(2 * half)}z" if half else _SHAPES[board.lattice]


def _news(board: Board, view: BoardView, square: Square, shape: str) -> str:
    """Draws the mark of a square of the last move, or of a changed one."""
    if square in view.last:
        if board.lattice == "square":
            return '<path class="l" d="M-17.5-17.5h35v35h-35z"/>'
        scale = ' transform="scale(.9)"' if board.lattice == "hex" else ""
        return f'<path class="l"{scale} d="{shape}"/>'
    if square in view.changed:
        if board.lattice == "square":
            return '<path class="t" d="M-19-19h9l-9 9z"/>'
        return f'<circle class="t" cx="{_n(-HALF * board.widths.get(square, 0.0))}" cy="-15" r="3.5"/>'
    return ""


def _standing(board: Board, view: BoardView, square: Square, pieces: Sequence[Content], shown: Sequence[Piece]) -> str:
    """Draws the pieces on a square, and a point's name where there is room."""
    if board.widths:
        return draw_pile(board, pieces) + draw_box(board, square, pieces[:1])
    if view.joined and len(pieces) == 1:
        news = '<circle class="new" r="6"/>' if square in view.changed else ""
        return f'<g class="pc">{draw_tile(board, view.contents, square, pieces[0], shown[0])}</g>{news}'
    counts = board.lattice == "points" and len(shown) == 1 and shown[0].glyph == "text"
    raised = ' transform="translate(0 -4)"' if counts else ""
    drawn = f'<g class="pc"{raised}>{draw_pieces(shown)}</g>' if shown else ""
    if board.lattice != "points":
        return drawn
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
    return f"{board.name(square)}: {', '.join(words)}"


def _first(contents: Mapping[Content, Reading]) -> str:
    return min((" ".join(content) for content, reading in contents.items() if reading.use != "mark"), default="")


def _marks(contents: Mapping[Content, Reading], shown: Sequence[Piece]) -> Iterator[str]:
    """Draws walls and marks; the first mark stands on a stone that has no sign of its own."""
    ink = f" c{shown[0].colour}" if len(shown) == 1 and shown[0].glyph == "stone" and not shown[0].sign else ""
    for side in sorted({reading.side for reading in contents.values() if reading.side is not None}):
        yield f'<path class="wall" d="{_WALLS[side]}"/>'
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
    captions: dict[str, tuple[float, float]] = {}
    for square, (x, y) in board.places.items():
        words = [square[index] for index in board.planes] if board.up >= 0 else []
        if board.lattice == "bars" and len(board.readings) == 1:
            words = [name for name, _ in board.readings]
        caption = " ".join(words)
        low = captions.get(caption, (x, y))
        captions[caption] = min(low[0], x), min(low[1], y)
    for caption, place in captions.items() if len(board.planes) != 2 else ():
        x, y = canvas.at(place)
        x = canvas.left + HALF if board.lattice == "bars" else x
        yield f'<text class="cap" x="{_n(x - HALF)}" y="{_n(y - HALF - 6)}">{text(caption)}</text>' if caption else ""
    columns, rows = board.headings()
    left: dict[float, float] = {}
    for x, y in board.places.values():
        left[y] = min(left.get(y, x), x) if board.lattice == "hex" else canvas.low_x
    step = HALF + (4 if board.lattice == "hex" else 0)
    lowest = max(left, default=0.0)
    for x, name in sorted(columns.items()):
        at = canvas.at((x, lowest))
        yield f'<text class="lab" x="{_n(at[0])}" y="{_n(at[1] + step + 14)}">{text(_cut(name))}</text>'
    for y, name in sorted(rows.items()):
        at = canvas.at((left[y], y))
        yield f'<text class="lab row" x="{_n(at[0] - HALF - 5)}" y="{_n(at[1] + 4)}">{text(_cut(name))}</text>'


def _cut(name: str) -> str:
    return name if len(name) <= MAX_LABEL else name[: MAX_LABEL - 1] + "…"
