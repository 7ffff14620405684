"""Reader of rulesheets as authors keep them: in prefix syntax (`protocol.kif`) or infix (`protocol.infix`)."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import quote

from protocol import infix, kif
from protocol.constants import bare_rules
from protocol.terms import Term, TextError, TextPosition, decode, fold_keywords, map_tokens, position_of

__all__ = ["find_word", "is_infix", "read_rulesheet", "read_written", "span"]

_PREFIX_LINE = re.compile(r"(?:^|\r)[ \t]*\([ \t]*(?:<=|role|init|next|legal|goal|base|input)\s", re.M | re.I)
_INFIX_LINE = re.compile(r"(?:^|\r)[ \t]*(?:\[|\w[\w+-]*(?:\(|[ \t]*:-))", re.M)
_ENTITY = re.compile(r"^[^;%\n\r]*?(&(?:lt|gt|amp|quot|nbsp|#[0-9]+|#x[0-9a-f]+);)", re.M | re.I)
_SPLITTING = re.compile(r"[\s();]")

_parsed = lru_cache(maxsize=1)(infix.parsed)
"""The last infix text, where one place after the other is asked for."""


def is_infix(text: str) -> bool:
    """Whether a rulesheet is in infix syntax: a line begins like an infix statement, and none like a prefix one."""
    return _PREFIX_LINE.search(text) is None and _INFIX_LINE.search(text) is not None


def read_rulesheet(text: str | bytes) -> tuple[Term, ...]:
    """The statements, with GDL's keywords in lower case, and constants out of parentheses. Raises `TextError`."""
    return bare_rules(read_written(text))


def read_written(text: str | bytes) -> tuple[Term, ...]:
    """The statements with constants as they are written, otherwise as `read_rulesheet`. Raises `TextError`.

    Blanks and brackets in quoted strings of infix syntax are percent-encoded, as prefix syntax has no strings.
    """
    text = decode(text)
    entity = _ENTITY.search(text)
    if entity is not None:
        message = f"`{entity[1]}` is how the source of a web page spells `{html.unescape(entity[1])}`"
        raise TextError(message, position_of(text, entity.start(1)))
    if is_infix(text):
        statements = fold_keywords(infix.read(text))
        if '"' in text:
            statements = tuple(map_tokens(_one_token, statement) for statement in statements)
    else:
        statements = fold_keywords(kif.read(text))
    _refuse_wrapped(text, statements)
    return statements


def span(text: str, path: Sequence[int]) -> tuple[int, int]:
    """The offsets `[start, end)` of the sub-term at `path`. Raises `LookupError`."""
    return infix.span_in(_parsed(text), path) if is_infix(text) else kif.span(text, path)


def find_word(text: str, path: Sequence[int], word: str) -> int:
    """The offset of a constant or variable in the sub-term at `path`; of the sub-term if it is not there as a word."""
    start, end = span(text, path)
    comment, delimiters = ";", r"\s();"
    if is_infix(text):
        word, comment, delimiters = word.removeprefix("?"), "%", r"\s()\[\],&|~%."
    # Comments may hold the word.
    found = re.finditer(rf"{comment}[^\n\r]*|(?<![^{delimiters}]){re.escape(word)}(?![^{delimiters}])", text[start:end])
    return next((start + match.start() for match in found if match[0][0] != comment), start)


def _one_token(token: str) -> str:
    return _SPLITTING.sub(lambda found: quote(found[0], safe=""), token)


def _refuse_wrapped(text: str, statements: tuple[Term, ...]) -> None:
    """Raises `TextError` for rules within a START or PREVIEW, or within one more pair of brackets."""
    if len(statements) == 1 and _is_list(statements[0]):
        raise TextError("the rules stand in one more pair of brackets: leave it out", _place(text, (0,)))
    for words, path in [(statements, ()), *((part, (i,)) for i, part in enumerate(statements))]:
        if isinstance(words, tuple) and words and str(words[0]).lower() in ("start", "preview"):
            rules = next((i for i, part in enumerate(words) if _is_list(part)), None)
            if rules is not None:
                message = "the rules stand in a START message: leave out all but what these brackets hold"
                raise TextError(message, _place(text, (*path, rules)))


def _is_list(term: Term) -> bool:
    return isinstance(term, tuple) and bool(term) and isinstance(term[0], tuple)


def _place(text: str, path: Sequence[int]) -> TextPosition:
    return position_of(text, span(text, path)[0])
