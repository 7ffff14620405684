"""Contrasts of all that boards show, computed from the style sheets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import agent.web
from agent.boards.style import STYLE

STATIC = Path(agent.web.__file__).parent / "static"
PIECES = range(11)

SHAPE, WRITING = 3.0, 4.5
"""Least contrasts of shapes and of small writing (WCAG 2.2, 1.4.11 and 1.4.3)."""


def variables(sheet: str, theme: str) -> dict[str, str]:
    """Returns the variables of a style sheet's root, a dark theme's over those of the light one."""
    found: dict[str, str] = {}
    for dark, body in re.findall(r"(dark\)\s*\{\s*)?:root\s*\{([^}]*)\}", sheet):
        if theme == "dark" or not dark:
            found |= dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6})\b", body))
    return found


def property_of(selector: str, name: str) -> str:
    """Returns the value that the last rule for a selector of boards gives to a property."""
    return [
        value
        for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", STYLE)
        if f".board {selector}" in selectors.split(",")
        for other, value in re.findall(r"([\w-]+):([^;]+)", body)
        if other == name
    ][-1]


def rgb(colour: str) -> tuple[float, ...]:
    """Returns the parts of a colour, 0 to 1."""
    return tuple(int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5))


def luminance(parts: tuple[float, ...]) -> float:
    """Returns the relative luminance of WCAG."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(colour: str, ground: str, opacity: float = 1.0) -> float:
    """Returns the contrast of a colour, perhaps not opaque, to what it stands on."""
    below = rgb(ground)
    mixed = tuple(opacity * a + (1 - opacity) * b for a, b in zip(rgb(colour), below, strict=True))
    low, high = sorted((luminance(mixed), luminance(below)))
    return (high + 0.05) / (low + 0.05)


class Theme:
    """Colours of boards and page in one theme."""

    def __init__(self, name: str) -> None:
        self.board = variables(STYLE, name)
        self.page = variables((STATIC / "style.css").read_text(), name)

    def colour(self, selector: str, name: str, piece: int = 0) -> str:
        """Returns the colour of a property in the rule of a selector; `piece` is the number of a piece's colour."""
        value = property_of(selector, name)
        inner = re.fullmatch(r"var\(--_(\w)\)", value)
        if inner:
            value = property_of(f".c{piece}", f"--_{inner[1]}")
        variable = re.fullmatch(r"var\(--([\w-]+)\)", value)
        return self.board[variable[1]] if variable else value

    def facts(self) -> Iterator[tuple[str, float, float]]:
        """Yields what is asked for in words, each with its contrast and the least one."""
        squares = [self.colour(".s", "fill"), self.colour(".e", "fill")]
        for square in squares:
            for selector, name in ((".l", "stroke"), (".t", "fill"), (".o", "fill"), (".r", "stroke"), (".b", "fill")):
                yield f"{selector} on a square {square}", contrast(self.colour(selector, name), square), SHAPE
            yield "hint on a square", contrast(self.page["hint"], square), SHAPE
            for selector in (".j", ".n", ".y"):
                yield f"{selector} on a square {square}", contrast(self.colour(selector, "fill"), square), WRITING
            yield "wall on a square", contrast(self.colour(".wall", "stroke"), square), SHAPE
        # A ring stands on a rim of its own, on pieces too.
        rim = self.colour(".r :first-child", "stroke")
        assert float(property_of(".r :first-child", "stroke-width")) >= float(property_of(".r", "stroke-width")) + 2
        yield "ring on a piece", contrast(self.colour(".r", "stroke"), rim), SHAPE
        yield "hint on a piece", contrast(self.page["hint"], rim), SHAPE
        for ground in (self.page["page"], self.page["panel"]):
            yield "coordinates", contrast(self.colour(".lab", "fill"), ground), WRITING
            yield "lines between points", contrast(self.colour(".edge", "stroke"), ground), SHAPE
            yield "hint as text", contrast(self.page["hint"], ground), WRITING
            for role in range(6):
                yield f"line of role {role}", contrast(self.page[f"role-{role}"], ground), SHAPE
            for piece in PIECES:
                yield f"line of colour {piece}", contrast(self.board[f"edge-{piece}"], ground), SHAPE
        # Edges that are two units of forty wide carry the contrast of a piece to its square.
        assert all(float(property_of(selector, "stroke-width")) >= 2 for selector in (".p", ".d"))
        crosses = [float(property_of(selector, "stroke-width")) for selector in (".xe", ".x")]
        assert crosses[0] - crosses[1] >= 3
        for piece in PIECES:
            body, sign = self.colour(".p", "fill", piece), self.colour(".i", "fill", piece)
            for square in squares:
                for selector in (".p", ".xe", ".d"):
                    edge = self.colour(selector, "stroke", piece)
                    yield f"edge {selector} of colour {piece} on {square}", contrast(edge, square), SHAPE
            for square in squares:
                # The outline of a symbol of chess parts it from the square; one of both differs from that.
                rim = self.colour(".k", "stroke", piece)
                outside = max(contrast(rim, square), contrast(self.colour(".k", "fill", piece), square))
                yield f"symbol of colour {piece} on {square}", outside, SHAPE
                yield f"symbol of colour {piece} in its outline", contrast(body, rim), SHAPE
            for selector in (".i", ".m"):
                yield f"{selector} on colour {piece}", contrast(self.colour(selector, "fill", piece), body), WRITING
            yield f"spot on colour {piece}", contrast(self.colour(".f", "fill", piece), body), SHAPE
            opacity = float(property_of(".u", "opacity"))
            yield f"inner ring on colour {piece}", contrast(sign, body, opacity), SHAPE


@pytest.mark.parametrize("name", ["light", "dark"])
def test_everything_on_a_board_can_be_seen(name: str) -> None:
    """Pieces, signs, choices, marks, hints, coordinates and the roles' lines stand out in both themes."""
    found = list(Theme(name).facts())
    assert len(found) > 200
    assert [f"{words}: {seen:.2f}" for words, seen, least in found if seen < least] == []
