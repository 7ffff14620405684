"""Draws boards in text, for games whose facts look like one: `(relation x y content)`, each cell holding one content.

Nothing is known about any game: the relation, the axes and the empty cells are found from the facts' structure alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from games.machine import Term

MIN_SIDE, MAX_SIDE = 2, 26
"""Cells along an axis: below, it is no board; above, it does not fit beside the rest of the line."""

EMPTY = "."


@dataclass(frozen=True)
class TextBoard:
    """How one relation's facts are drawn: x to the right, y upwards."""

    relation: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    symbols: dict[Term, str]
    """What each content is drawn as."""

    @classmethod
    def find(cls, initial: Collection[Term], possible: Collection[Term] = ()) -> TextBoard | None:
        """The board that the facts of a game show, or None.

        `initial` are the facts of the first state, `possible` all that any state may hold, as far as they are known.
        """
        candidates: dict[str, set[tuple[str, str, Term]]] = defaultdict(set)
        for fact in (*initial, *possible):
            if (cell := _cell(fact)) is not None:
                candidates[cell[0]].add(cell[1:])
        boards = [
            board
            for relation, cells in candidates.items()
            if (board := cls._of_relation(relation, cells, initial)) is not None
        ]
        return max(boards, key=lambda board: (len(board.columns) * len(board.rows), board.relation), default=None)

    @classmethod
    def _of_relation(
        cls, relation: str, cells: set[tuple[str, str, Term]], initial: Iterable[Term]
    ) -> TextBoard | None:
        columns, rows = _axis(x for x, _, _ in cells), _axis(y for _, y, _ in cells)
        if not all(MIN_SIDE <= len(axis) <= MAX_SIDE for axis in (columns, rows)):
            return None
        at_start = _contents(relation, initial)
        if at_start is None:
            return None
        counts: dict[Term, int] = defaultdict(int)
        for content in at_start.values():
            counts[content] += 1
        symbols = _symbols({content for _, _, content in cells})
        for content, count in counts.items():
            if 2 * count > len(columns) * len(rows):
                symbols[content] = EMPTY
        return cls(relation, columns, rows, symbols)

    def draw(self, facts: Iterable[Term]) -> str | None:
        """The board of a state, several lines; None where two facts want the same cell."""
        contents = _contents(self.relation, facts)
        if contents is None:
            return None
        symbols = {cell: self.symbols.get(content, "?") for cell, content in contents.items()}
        width = max(map(len, (EMPTY, *self.columns, *self.symbols.values())))
        margin = max(map(len, self.rows))
        lines = [
            f"{row:>{margin}} " + "".join(f" {symbols.get((column, row), EMPTY):>{width}}" for column in self.columns)
            for row in reversed(self.rows)
        ]
        lines.append(" " * (margin + 1) + "".join(f" {column:>{width}}" for column in self.columns))
        return "\n".join(lines)

    def legend(self) -> str:
        """What the symbols mean, on one line."""
        named = sorted((symbol, content) for content, symbol in self.symbols.items() if isinstance(content, str))
        return "  ".join(f"{symbol} {content}" for symbol, content in named if symbol != content)


def _cell(fact: Term) -> tuple[str, str, str, Term] | None:
    """A fact's relation, x, y and content, if it has the shape of a cell."""
    if isinstance(fact, tuple) and len(fact) == 4:
        relation, x, y, content = fact
        if isinstance(relation, str) and isinstance(x, str) and isinstance(y, str):
            return relation, x, y, content
    return None


def _contents(relation: str, facts: Iterable[Term]) -> dict[tuple[str, str], Term] | None:
    """The content of each cell, or None where a cell has two."""
    contents: dict[tuple[str, str], Term] = {}
    for fact in facts:
        cell = _cell(fact)
        if cell is None or cell[0] != relation:
            continue
        _, x, y, content = cell
        if contents.setdefault((x, y), content) != content:
            return None
    return contents


def _axis(coordinates: Iterable[str]) -> tuple[str, ...]:
    """Coordinates in order; between integers, those that no fact mentions are filled in."""
    found = set(coordinates)
    if not found or not all(value.isascii() and value.isdigit() for value in found):
        return tuple(sorted(found))
    numbers = {int(value) for value in found}
    low, high = min(numbers), max(numbers)
    return tuple(map(str, range(low, min(high, low + MAX_SIDE) + 1)))


def _symbols(contents: Iterable[Term]) -> dict[Term, str]:
    """A short sign for each content: its first letter, or as many letters as it takes to tell all apart."""
    texts = {content: content if isinstance(content, str) else "-".join(map(str, content)) for content in contents}
    longest = max(map(len, texts.values()), default=1)
    for length in range(1, longest + 1):
        signs = {content: text[:length] for content, text in texts.items()}
        if len(set(signs.values())) == len(signs):
            return signs
    return texts
