"""Shapes of pieces, as SVG around the origin of a square 40 units wide."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from agent.boards.board import Board, Content, Reading, Square
from agent.boards.pieces import NEUTRAL, Piece

MAX_SHOWN = 4
"""Most pieces drawn on one square; its title names all."""

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML forbids even if escaped."""


def text(value: str) -> str:
    """Escapes text for XML, without characters that XML forbids."""
    return escape(_FORBIDDEN.sub("\ufffd", value))


def attribute(value: str) -> str:
    """Quotes an attribute value for XML."""
    return quoteattr(_FORBIDDEN.sub("\ufffd", value))


def unknown(content: Content) -> Piece:
    """Returns a piece for a content unknown when the board was found."""
    word = content[-1] if content else ""
    return Piece("letter", word[:2], NEUTRAL, -1) if word else Piece("stone", "", NEUTRAL, -1)


def draw_pieces(pieces: Sequence[Piece]) -> str:
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
    """Draws one piece around the origin."""
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
    """Returns the class for a sign of this length."""
    return "" if len(sign) <= 1 else f" z{min(len(sign), 5)}"


def _drop(sign: str) -> str:
    """Returns the distance from the middle down to a sign's base line."""
    return {0: "7", 1: "7", 2: "6", 3: "5"}.get(len(sign), "4")


def _body(owner: int, colour: str) -> str:
    """Draws a piece's body. Outlines differ between owners, so that nobody has to tell colours apart."""
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


def draw_tile(
    board: Board, contents: Mapping[Square, Mapping[Content, Reading]], square: Square, content: Content, piece: Piece
) -> str:
    """Draws one square of a piece that covers several, open to the piece's other squares."""
    sides = []
    for part, step in ((board.up, 1), (board.across, 1), (board.up, -1), (board.across, -1)):
        axis = board.axes[part]
        index = axis.index(square[part]) + step
        other = (*square[:part], axis[index], *square[part + 1 :]) if 0 <= index < len(axis) else None
        sides.append(other is not None and content in contents.get(other, {}))
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
    colour = f"c{piece.colour}"
    rim = f'<path class="d" d="{rims}"/>' if rims else ""
    dot = f'<circle class="f {colour}" r="4"/>' if piece.owner % 2 else ""
    return f'<path class="a {colour}" d="{path}"/>{rim}{dot}'


def _arc(radius: int, right: int, down: int) -> str:
    return f"a{radius} {radius} 0 0 1 {right * radius} {down * radius}" if radius else ""
