"""Draws a board as one standalone `<svg>` element that scales to any width and takes its colours from the page.

Colours are the variables `--board-...` of `style.py`, each with a default for light and for dark surroundings.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from agent.boards.board import Board, Content, Reading, Square
from agent.boards.pieces import NEUTRAL, Piece
from agent.boards.style import STYLE

CELL = 40
"""Width of a square in the picture's own units."""
HALF = CELL // 2
MARGIN = 6
LABEL_HEIGHT, LETTER_WIDTH = 18, 7.5
MAX_LABEL = 8
MAX_SHOWN = 4
"""Pieces drawn on one square; its title names all."""

_SQUARE = f"M-{HALF}-{HALF}h{CELL}v{CELL}h-{CELL}z"
_HEXAGON = "M0-23.1L20-11.5V11.5L0 23.1-20 11.5V-11.5z"
_POINT = "M-17 0a17 17 0 1 1 34 0a17 17 0 1 1-34 0z"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot hold, not even escaped."""


@dataclass(frozen=True)
class View:
    """What is to be seen on a board."""

    contents: Mapping[Square, Mapping[Content, Reading]]
    pieces: Mapping[Content, Piece]
    changed: Collection[Square]
    last: Collection[Square]
    choices: Collection[Square]
    first: Collection[Square]
    """Those of the choices with which a move can begin; the others come after another square."""
    joined: bool
    """Whether neighbouring squares with the same content are one piece."""
    ids: Mapping[Square, str]


def text(value: str) -> str:
    """Text for XML: escaped, without characters that XML forbids."""
    return escape(_FORBIDDEN.sub("\ufffd", value))


def attribute(value: str) -> str:
    """A quoted attribute value for XML."""
    return quoteattr(_FORBIDDEN.sub("\ufffd", value))


def draw_board(board: Board, view: View) -> str:
    """The picture of one board."""
    frame = _Frame(board)
    # With squares to choose from it is a group: what is in an image is not told to screen readers.
    role = "group" if view.choices else "img"
    summary = _summary(board, view)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="board" role="{role}" aria-label={attribute(summary)} '
        f'viewBox="0 0 {_n(frame.width)} {_n(frame.height)}"><title>{text(summary)}</title><style>{STYLE}</style>'
    ]
    parts.extend(_lines(board, frame))
    alternating = board.lattice == "square" and any(
        piece.glyph in ("chess", "letter") for piece in view.pieces.values()
    )
    for square in board.places:
        parts.append(_square(board, view, frame, square, alternating))
    parts.extend(_labels(board, frame))
    parts.append("</svg>")
    return "".join(parts)


class _Frame:
    """Where things are in the picture."""

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
        """The centre of a square in the picture."""
        return self.left + (place[0] - self.low_x) * CELL + HALF, self.top + (place[1] - self.low_y) * CELL + HALF


def _n(value: float) -> str:
    """A number as short as one decimal allows."""
    return f"{value:.1f}".removesuffix(".0")


def _summary(board: Board, view: View) -> str:
    sizes = " by ".join(str(len(axis)) for axis in board.axes)
    kind = {"square": "board", "hex": "hexagonal board", "points": "board of points"}[board.lattice]
    standing = sum(bool(board.pieces(contents)) for contents in view.contents.values())
    return f"{kind}, {sizes}; squares with something on them: {standing}"


def _lines(board: Board, frame: _Frame) -> Iterator[str]:
    """The lines between points."""
    if board.edges:
        ends = [(frame.at(board.places[a]), frame.at(board.places[b])) for a, b in board.edges]
        path = "".join(f"M{_n(ax)} {_n(ay)}L{_n(bx)} {_n(by)}" for (ax, ay), (bx, by) in ends)
        yield f'<path class="edge" d="{path}"/>'


def _square(board: Board, view: View, frame: _Frame, square: Square, alternating: bool) -> str:
    x, y = frame.at(board.places[square])
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
    extra = f' tabindex="0" role="button" aria-label={attribute(said)}' if square in view.choices else ""
    shape = {"square": _SQUARE, "hex": _HEXAGON, "points": _POINT}[board.lattice]
    tone = "b" if blocked else "e" if alternating and _is_dark(board, square) else "s"
    parts = [
        f'<g data-square={attribute(view.ids[square])} class="{" ".join(classes)}"{extra} '
        f'transform="translate({_n(x)} {_n(y)})"><title>{text(said)}</title><path class="{tone}" d="{shape}"/>'
    ]
    if blocked:
        parts.append('<path class="h" d="M-12 12L12-12M-12 0L0-12M0 12L12 0"/>')
        if len(board.blocked) > 1:
            parts.append(f'<text class="w" y="6">{text(_first(contents)[:2])}</text>')
    if view.joined and pieces:
        pass  # On a piece of several squares the mark stands in the middle of each, see below.
    elif square in view.last:
        parts.append(
            '<path class="l" d="M-17.5-17.5h35v35h-35z"/>'
            if board.lattice == "square"
            else f'<path class="l" transform="scale(.9)" d="{shape}"/>'
        )
    elif square in view.changed:
        parts.append(
            '<path class="t" d="M-19-19h9l-9 9z"/>'
            if board.lattice == "square"
            else '<circle class="t" cy="-15" r="3.5"/>'
        )
    counts = len(pieces) == 1 and (shown := view.pieces.get(pieces[0])) is not None and shown.glyph == "text"
    if view.joined and len(pieces) == 1:
        parts.append(_tile(board, view, square, pieces[0]))
        if square in view.changed:
            parts.append('<circle class="new" r="6"/>')
    else:
        drawn = _pieces([view.pieces.get(content) or _unknown(content) for content in pieces])
        # Makes room for the point's name.
        parts.append(f'<g transform="translate(0 -4)">{drawn}</g>' if counts and board.lattice == "points" else drawn)
    plain = (
        len(pieces) == 1
        and not (piece := view.pieces.get(pieces[0])) is None
        and piece.glyph == "stone"
        and not piece.sign
    )
    if board.lattice == "points" and len(square[0]) <= 4 and (not pieces or counts):
        parts.append(f'<text class="j" y="14">{text(square[0])}</text>')
    parts.extend(_marks(contents, f" c{piece.colour}" if plain and piece is not None else ""))
    if square in view.choices:
        parts.append('<circle class="o" r="5"/>' if not pieces else '<circle class="r" r="17.5"/>')
    parts.append("</g>")
    return "".join(parts)


def _is_dark(board: Board, square: Square) -> bool:
    columns, rows = board.axes[board.across], board.axes[board.up]
    return (columns.index(square[board.across]) + rows.index(square[board.up])) % 2 == 0


def _say(square: Square, board: Board, contents: Mapping[Content, Reading], pieces: Collection[Content]) -> str:
    """What stands on a square, in words."""
    words = [" ".join(content) or "occupied" for content in pieces]
    if not words:
        words = [f"blocked ({_first(contents)})" if board.is_blocked(contents) else "empty"]
    words += sorted(" ".join(content) for content, reading in contents.items() if reading.use == "mark")
    return f"{' '.join(square)}: {', '.join(words)}"


def _first(contents: Mapping[Content, Reading]) -> str:
    return min((" ".join(content) for content, reading in contents.items() if reading.use != "mark"), default="")


def _unknown(content: Content) -> Piece:
    """For contents that were not known when the board was found."""
    word = content[-1] if content else ""
    return Piece("letter", word[:2], NEUTRAL, -1) if word else Piece("stone", "", NEUTRAL, -1)


def _pieces(pieces: list[Piece]) -> str:
    if not pieces:
        return ""
    if len(pieces) == 1:
        return _piece(pieces[0])
    corners = ((-9, -9), (9, -9), (-9, 9), (9, 9))
    return "".join(
        f'<g transform="translate({x} {y}) scale(.5)">{_piece(piece)}</g>'
        for piece, (x, y) in zip(pieces[:MAX_SHOWN], corners, strict=False)
    )


def _piece(piece: Piece) -> str:
    """One piece around the origin."""
    sign = text(piece.sign)
    colour = f"c{piece.colour}"
    if piece.glyph == "cross":
        drawn = f'<path class="x {colour}" d="M-11-11L11 11M-11 11L11-11"/>'
    elif piece.glyph == "ring":
        drawn = f'<circle class="x {colour}" r="12"/>'
    elif piece.glyph == "chess" and piece.owner >= 0:
        drawn = f'<text class="k {colour}" y="12">{sign}\ufe0e</text>'
    elif piece.glyph == "text" and piece.owner < 0:
        drawn = f'<text class="n{_size(piece.sign)}" y="{_drop(piece.sign)}">{sign}</text>'
    else:
        drawn = _body(piece.owner, colour)
        if piece.glyph == "chess":
            drawn += f'<text class="i g {colour}" y="9">{sign}\ufe0e</text>'
        elif piece.sign:
            drawn += f'<text class="i{_size(piece.sign)} {colour}" y="{_drop(piece.sign)}">{sign}</text>'
    if piece.extra:
        drawn += (
            f'<circle class="q" cx="13" cy="-12" r="7"/><text class="v" x="13" y="-8.5">{text(piece.extra[:2])}</text>'
        )
    return drawn


def _size(sign: str) -> str:
    """The class for a sign of this length."""
    return "" if len(sign) <= 1 else f" z{min(len(sign), 5)}"


def _drop(sign: str) -> str:
    """How far below the middle a sign's base line is, so that it looks centred."""
    return {0: "7", 1: "7", 2: "6", 3: "5"}.get(len(sign), "4")


def _body(owner: int, colour: str) -> str:
    """A piece's body: its outline differs between owners, so that colours need not be told apart."""
    shapes = {
        -1: '<rect class="p {0}" x="-15" y="-15" width="30" height="30" rx="5"/>',
        0: '<circle class="p {0}" r="15.5"/>',
        1: '<circle class="p {0}" r="15.5"/><circle class="u {0}" r="11.5"/>',
        2: '<path class="p {0}" d="M0-17L16.5 12.5h-33z"/>',
        3: '<path class="p {0}" d="M0-18.5L18.5 0 0 18.5-18.5 0z"/>',
        4: '<path class="p {0}" d="M-8-16h16l9 16-9 16h-16l-9-16z"/>',
        5: '<rect class="p {0}" x="-14" y="-14" width="28" height="28" rx="3"/>',
        6: '<path class="p {0}" d="M0-17L16-5 10 14h-20L-16-5z"/>',
        7: '<path class="p {0}" d="M-6-17h12v11h11v12h-11v11h-12v-11h-11v-12h11z"/>',
    }
    return shapes[owner % 8 if owner >= 0 else -1].format(colour)


def _tile(board: Board, view: View, square: Square, content: Content) -> str:
    """A square of a piece that covers several: open to the neighbours that belong to it."""
    sides = []
    for part, step in ((board.up, 1), (board.across, 1), (board.up, -1), (board.across, -1)):
        axis = board.axes[part]
        index = axis.index(square[part]) + step
        other = (*square[:part], axis[index], *square[part + 1 :]) if 0 <= index < len(axis) else None
        sides.append(other is not None and content in view.contents.get(other, {}))
    above, right, below, left = sides
    top, east, bottom, west = (20 if joined else 18 for joined in sides)
    corner = [4 if not (a or b) else 0 for a, b in ((above, right), (below, right), (below, left), (above, left))]
    path = (
        f"M{-west + corner[3]}-{top}H{east - corner[0]}" + _arc(corner[0], 1, 1) + f"V{bottom - corner[1]}"
        + _arc(corner[1], -1, 1) + f"H{-west + corner[2]}" + _arc(corner[2], -1, -1) + f"V{-top + corner[3]}"
        + _arc(corner[3], 1, -1) + "z"
    )  # fmt: skip
    rims = "".join(
        line
        for joined, line in (
            (above, f"M{-west + corner[3]}-{top}H{east - corner[0]}"),
            (right, f"M{east} {-top + corner[0]}V{bottom - corner[1]}"),
            (below, f"M{-west + corner[2]} {bottom}H{east - corner[1]}"),
            (left, f"M-{west} {-top + corner[3]}V{bottom - corner[2]}"),
        )
        if not joined
    )
    piece = view.pieces.get(content) or _unknown(content)
    colour = f"c{piece.colour}"
    rim = f'<path class="d" d="{rims}"/>' if rims else ""
    dot = f'<circle class="f {colour}" r="4"/>' if piece.owner % 2 and square not in view.changed else ""
    return f'<path class="a {colour}" d="{path}"/>{rim}{dot}'


def _arc(radius: int, right: int, down: int) -> str:
    return f"a{radius} {radius} 0 0 1 {right * radius} {down * radius}" if radius else ""


def _marks(contents: Mapping[Content, Reading], ink: str) -> Iterator[str]:
    """Small signs for what facts say beside the pieces; the first word stands on a plain stone, whose ink is given."""
    marks = sorted(content for content, reading in contents.items() if reading.use == "mark")
    for index, content in enumerate(marks[:MAX_SHOWN]):
        x, y = ((-14, 14), (14, 14), (14, -14), (-14, -14))[index]
        if len(content) == 1:
            yield f'<circle class="y" cx="{x}" cy="{y}" r="3"/>'
        elif ink and not index:
            yield f'<text class="m{ink}" y="4">{text(content[-1][:3])}</text>'
        else:
            yield f'<text class="j" x="{x}" y="{y + 3}">{text(content[-1][:3])}</text>'


def _labels(board: Board, frame: _Frame) -> Iterator[str]:
    """Coordinates on the edges, and captions of planes."""
    if board.lattice == "points":
        return
    planes = board.planes
    corners: dict[Square, tuple[float, float]] = {}
    for square, place in board.places.items():
        plane = tuple(square[index] for index in planes)
        x, y = frame.at(place)
        low = corners.get(plane, (x, y))
        corners[plane] = min(low[0], x), min(low[1], y)
    if len(planes) not in (0, 2):
        for plane, (x, y) in corners.items():
            yield f'<text class="cap" x="{_n(x - HALF)}" y="{_n(y - HALF - 6)}">{text(" ".join(plane))}</text>'
    columns: dict[float, str] = {}
    rows: dict[float, tuple[float, str]] = {}
    bottom = max((frame.at(place)[1] for place in board.places.values()), default=0.0)
    for square, place in board.places.items():
        x, y = frame.at(place)
        row = rows.get(y)
        if row is None or x < row[0]:
            rows[y] = x, square[board.up]
        if board.lattice == "hex":
            if abs(y - bottom) < 1:
                columns[x] = square[board.across]
        else:
            columns[x] = square[board.across]
    step = HALF + (4 if board.lattice == "hex" else 0)
    for x, name in sorted(columns.items()):
        yield f'<text class="lab" x="{_n(x)}" y="{_n(bottom + step + 14)}">{text(_cut(name))}</text>'
    leftmost = min((x for x, _ in rows.values()), default=0.0)
    for y, (x, name) in sorted(rows.items()):
        at = (x if board.lattice == "hex" else leftmost) - HALF - 5
        yield f'<text class="lab row" x="{_n(at)}" y="{_n(y + 4)}">{text(_cut(name))}</text>'


def _cut(name: str) -> str:
    return name if len(name) <= MAX_LABEL else name[: MAX_LABEL - 1] + "…"
