"""The protocol's plain data: terms, positions in a text, syntax errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

Term: TypeAlias = str | tuple["Term", ...]
"""A GDL term: a `str` (constant, or variable with its leading `?`) or a tuple of terms `("mark", "3", "4")`."""

MAX_DEPTH = 256
"""Deepest nesting accepted. Real sheets stay below 30; far deeper tuples overflow `repr` and `pickle`."""

KEYWORDS = frozenset(
    (
        "role",
        "init",
        "true",
        "next",
        "legal",
        "does",
        "goal",
        "terminal",
        "base",
        "input",
        "sees",
        "distinct",
        "not",
        "or",
        "and",
    )
)
"""GDL's reserved names, special where a relation or an operator stands."""


class TextPosition(NamedTuple):
    """A place in a text, counted from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class TextError(ValueError):
    """A text that is no term, rulesheet or message.

    `message` names the fault, `line` and `column` (from 1) its place.
    """

    def __init__(self, message: str, position: TextPosition) -> None:
        super().__init__(f"{message} ({position})")
        self.message = message
        self.line = position.line
        self.column = position.column

    @property
    def position(self) -> TextPosition:
        """Place of the fault."""
        return TextPosition(self.line, self.column)

    def __reduce__(self) -> tuple[type[TextError], tuple[str, TextPosition]]:
        return type(self), (self.message, self.position)


def position_of(text: str, offset: int) -> TextPosition:
    """Line and column of a character offset; lines end with LF, CRLF or a lone CR."""
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    return TextPosition(before.count("\n") + 1, len(before) - before.rfind("\n"))


def decode(text: str | bytes) -> str:
    """Bytes as text: UTF-8, or Latin-1 where that fails; a byte order mark is dropped. Never raises."""
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError:
        return text.decode("latin-1")


def footprint(term: Term) -> int:
    """The bytes that a term takes in memory, roughly. Not recursive."""
    size, stack = 0, [term]
    while stack:
        part = stack.pop()
        size += 64
        if isinstance(part, str):
            size += len(part)
        else:
            stack.extend(part)
    return size


def map_tokens(function: Callable[[str], str], term: Term) -> Term:
    """The term with `function` applied to each token. Not recursive."""
    if isinstance(term, str):
        return function(term)
    stack: list[tuple[list[Term], Iterator[Term]]] = [([], iter(term))]
    while True:
        done, rest = stack[-1]
        for part in rest:
            if not isinstance(part, str):
                stack.append(([], iter(part)))
                break
            done.append(function(part))
        else:
            stack.pop()
            if not stack:
                return tuple(done)
            stack[-1][0].append(tuple(done))


def fold_keywords(rulesheet: tuple[Term, ...]) -> tuple[Term, ...]:
    """The rulesheet with GDL's keywords in lower case where they are relations or operators.

    Everything else keeps its spelling: `(NEXT (Next ?x))` becomes `(next (Next ?x))`.
    """
    return tuple(_fold_statement(statement) for statement in rulesheet)


def _fold_statement(statement: Term) -> Term:
    if isinstance(statement, tuple) and statement and statement[0] == "<=":
        return ("<=", *(_fold_literal(literal) for literal in statement[1:]))
    return _fold_literal(statement)


def _fold_literal(literal: Term) -> Term:
    """Fold one literal. Recursive: only connectives nest here, and the readers bound the depth."""
    if isinstance(literal, str):
        return "terminal" if literal.lower() == "terminal" else literal
    if not literal or not isinstance(literal[0], str):
        return literal
    keyword = literal[0].lower()
    if keyword not in KEYWORDS:
        return literal
    if keyword in ("not", "or", "and"):
        return (keyword, *(_fold_literal(part) for part in literal[1:]))
    return literal if keyword == literal[0] else (keyword, *literal[1:])
