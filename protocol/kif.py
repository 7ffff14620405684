"""Reader and writer of prefix GDL (KIF): `(<= (legal ?r noop) (role ?r) (not (true (control ?r))))`.

Tokens keep their spelling; a token ends at a blank, a parenthesis or a `;` comment. Nothing here recurses, so no text
can exhaust the stack; nesting beyond `MAX_DEPTH` is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from protocol.constants import bare_rules
from protocol.terms import MAX_DEPTH, Term, TextError, TextPosition, decode, fold_keywords, position_of

__all__ = ["TextError", "TextPosition", "locate", "read", "read_one", "read_rulesheet", "write", "write_rulesheet"]

_COMMENT = re.compile(r";[^\n\r]*")
_TOKEN = re.compile(r"[()]|[^\s();]+")
_TOKEN_OR_COMMENT = re.compile(r"[()]|;[^\n\r]*|[^\s();]+")
_DELIMITER = re.compile(r"[\s()]")
_LINE_END = re.compile(r"[\n\r]")
_CHUNK = 1 << 15
"""Characters per call of the regular expression engine, which holds the GIL while it runs."""


def read(text: str | bytes) -> tuple[Term, ...]:
    """All expressions of a text. Raises `TextError` for unbalanced or too deeply nested parentheses."""
    text = decode(text)
    stack: list[list[Term]] = []
    current: list[Term] = []
    spelling: dict[str, str] = {}
    for token in _tokens(text):
        if token == "(":
            if len(stack) >= MAX_DEPTH:
                raise _bracket_error(text)
            stack.append(current)
            current = []
        elif token == ")":
            if not stack:
                raise _bracket_error(text)
            stack[-1].append(tuple(current))
            current = stack.pop()
        else:
            # One object per spelling saves memory on large sheets.
            current.append(spelling.setdefault(token, token))
    if stack:
        raise _bracket_error(text)
    return tuple(current)


def read_one(text: str | bytes) -> Term:
    """The only expression of a text. Raises `TextError` where there is not exactly one."""
    text = decode(text)
    terms = read(text)
    if not terms:
        raise TextError("no expression here", position_of(text, len(text)))
    if len(terms) > 1:
        raise TextError("one expression expected, a second one starts here", locate(text, [1]))
    return terms[0]


def read_rulesheet(text: str | bytes) -> tuple[Term, ...]:
    """A rulesheet: like `read`, with GDL's keywords in lower case, and constants out of parentheses.

    See `fold_keywords` and `bare_rules`.
    """
    return bare_rules(fold_keywords(read(text)))


def write(term: Term) -> str:
    """A term on one line, spaced as `(mark 1 2)`."""
    if isinstance(term, str):
        return term
    pieces: list[str] = []
    pending: list[Iterator[Term]] = []
    children = iter(term)
    pieces.append("(")
    while True:
        for child in children:
            separator = "" if pieces[-1] == "(" else " "
            if isinstance(child, str):
                pieces.append(separator + child)
                continue
            if separator:
                pieces.append(separator)
            pieces.append("(")
            pending.append(children)
            children = iter(child)
            break
        else:
            pieces.append(")")
            if not pending:
                return "".join(pieces)
            children = pending.pop()


def write_rulesheet(rulesheet: Sequence[Term]) -> str:
    """A rulesheet, one statement per line."""
    return "".join(write(statement) + "\n" for statement in rulesheet)


def locate(text: str | bytes, path: Sequence[int]) -> TextPosition:
    """The position of the sub-term at `path`: the expression's index in the text, then child indices.

    An empty path is the text's beginning. Raises `LookupError`.
    """
    text = decode(text)
    return position_of(text, start_of(text, path))


def span(text: str, path: Sequence[int]) -> tuple[int, int]:
    """The offsets `[start, end)` of the sub-term at `path`. Raises `LookupError`."""
    if not path:
        return 0, len(text)
    start = start_of(text, path)
    depth = 0
    for token, offset in _placed_tokens(text, start):
        depth += (token == "(") - (token == ")")
        if depth == 0:
            return start, offset + len(token)
    raise LookupError(f"the term at {list(path)} has no end")


def start_of(text: str, path: Sequence[int]) -> int:
    """The offset of the sub-term at `path`. Raises `LookupError`."""
    if not path:
        return 0
    counters = [0]  # elements begun, per open list
    matched = 0  # elements of the path that the enclosing lists follow
    for token, offset in _placed_tokens(text):
        depth = len(counters) - 1
        if token == ")":
            if depth == matched:
                break  # the list that should hold the path's next element ends
            counters.pop()
            continue
        if depth == matched and counters[-1] == path[depth]:
            if depth + 1 == len(path):
                return offset
            matched += 1
            if token != "(":
                break
        counters[-1] += 1
        if token == "(":
            counters.append(0)
    raise LookupError(f"no term at {list(path)}")


def _tokens(text: str) -> Iterator[str]:
    for lines in _chunks(text, _LINE_END) if ";" in text else (text,):
        for chunk in _chunks(_COMMENT.sub("", lines), _DELIMITER):
            yield from _TOKEN.findall(chunk)


def _chunks(text: str, boundary: re.Pattern[str]) -> Iterator[str]:
    """The text in pieces that end before a boundary, so never within a token or comment."""
    start = 0
    while start < len(text):
        cut = boundary.search(text, start + _CHUNK)
        end = cut.start() if cut is not None else len(text)
        yield text[start:end]
        start = end


def _placed_tokens(text: str, start: int = 0) -> Iterator[tuple[str, int]]:
    """The tokens with their offsets, without comments."""
    for match in _TOKEN_OR_COMMENT.finditer(text, start):
        token = match.group()
        if token[0] != ";":
            yield token, match.start()


def _bracket_error(text: str) -> TextError:
    """The error for a text whose parentheses `read` refused."""
    open_at: list[int] = []
    for token, offset in _placed_tokens(text):
        if token == "(":
            if len(open_at) >= MAX_DEPTH:
                return TextError(f"nested deeper than {MAX_DEPTH} parentheses", position_of(text, offset))
            open_at.append(offset)
        elif token == ")":
            if not open_at:
                return TextError("')' without its '('", position_of(text, offset))
            open_at.pop()
    return TextError("'(' is never closed", position_of(text, open_at[-1]))
