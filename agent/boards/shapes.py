"""Shapes of pieces, as SVG around the origin of a square 40 units wide."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from agent.boards.board import Board, Content, Reading, Square
from agent.boards.pieces import NEUTRAL, PALETTE, Piece

MAX_SHOWN = 4
"""Most pieces drawn on one square; its title names all."""
MAX_PARTS = 30
"""Most parts of a bar."""

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
        drawn = "".join(f'<path class="{it} {colour}" d="M-10-10L10 10M-10 10L10-10"/>' for it in ("xe", "x"))
    elif piece.glyph == "ring":
        drawn = "".join(f'<circle class="{it} {colour}" r="11.5"/>' for it in ("xe", "x"))
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
        -1: '<rect class="p {0}" x="-13" y="-13" width="26" height="26" rx="5"/>',
        0: '<circle class="p {0}" r="14.5"/>',
        1: '<circle class="p {0}" r="14.5"/><circle class="u {0}" r="10.5"/>',
        2: '<path class="p {0}" d="M0-15.5L15.5 11.5h-31z"/>',
        3: '<path class="p {0}" d="M0-16.5L16.5 0 0 16.5-16.5 0z"/>',
        4: '<path class="p {0}" d="M-8-14h16l8 14-8 14h-16l-8-14z"/>',
        5: '<rect class="p {0}" x="-12.5" y="-12.5" width="25" height="25" rx="2"/>',
        6: '<path class="p {0}" d="M0-16L15-5 9.5 13h-19L-15-5z"/>',
        7: '<path class="p {0}" d="M-6-15h12v9h9v12h-9v9h-12v-9h-9v-12h9z"/>',
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
    top, east, bottom, west = (20 if joined else 18 for joined in sides)
    colour = f"c{piece.colour}"
    edges = (
        f"M-{west}-{top}H{east}",
        f"M{east}-{top}V{bottom}",
        f"M{east} {bottom}H-{west}",
        f"M-{west} {bottom}V-{top}",
    )
    rims = "".join(edge for edge, joined in zip(edges, sides, strict=True) if not joined)
    rim = f'<path class="d {colour}" d="{rims}"/>' if rims else ""
    dot = f'<circle class="f {colour}" r="3"/>' if piece.owner % 2 else ""
    return f'<path class="a {colour}" d="M-{west}-{top}H{east}V{bottom}H-{west}z"/>{rim}{dot}'


def draw_box(board: Board, square: Square, contents: Sequence[Content]) -> str:
    """Draws a bar with its number, in as many parts where these are few, or a thing of a stack with its name."""
    half = 20 * board.widths[square]
    if board.lattice == "stacks":
        if square not in board.tints:
            return f'<text class="n z4" y="4">{text(square[0][:10])}</text>'
        colour = f"c{board.tints[square]}"
        return (
            f'<g class="pc">{_bar(colour, 3 - half, half - 3)}'
            f'<text class="i z4 {colour}" y="4">{text(square[0][:6])}</text></g>'
        )
    word = contents[0][-1] if contents else ""
    amount = max(0.0, board.amounts.get(word, 0.0))
    number = f"{amount:g}" if word.endswith(f"{amount:g}") else word
    # Things in a row keep their colours.
    colour = f"c{board.tints.get((word,), board.tints[square])}"
    most = max(1.0, *board.amounts.values())
    part = (2 * half - 30) / most
    parts = range(1, round(amount)) if most <= MAX_PARTS else ()
    lines = "".join(f"M{3 - half + part * index:.1f}-12v24" for index in parts)
    drawn = _bar(colour, 3 - half, 3 - half + part * amount) + f'<path class="d {colour}" d="{lines}"/>'
    end = f'<text class="n z3" x="{16 - half + part * amount:.1f}" y="5">{text(number)}</text>'
    return (f'<g class="pc">{drawn}</g>' if amount else "") + end


def draw_pile(board: Board, contents: Sequence[Content]) -> str:
    """Draws the things on a place of stacks, large ones below."""
    drawn = ""
    sizes = sorted(board.amounts, key=board.amounts.__getitem__) if board.lattice == "stacks" else []
    for level, name in enumerate(name for name in reversed(sizes) if (name,) in contents):
        rank = sizes.index(name)
        half, colour = 16 + 28 * rank / len(sizes), f"c{PALETTE[rank % len(PALETTE)]}"
        drawn += (
            f'<g transform="translate(0 {-32 * (level + 1)})">{_bar(colour, -half, half)}'
            f'<text class="i z4 {colour}" y="4">{text(name[:6])}</text></g>'
        )
    return f'<g class="pc">{drawn}</g>' if drawn else ""


def _bar(colour: str, left: float, right: float) -> str:
    return f'<rect class="p {colour}" x="{left:.1f}" y="-12" width="{right - left:.1f}" height="24" rx="4"/>'
