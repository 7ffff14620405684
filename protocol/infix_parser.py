"""Parser of infix GDL: from text to prefix terms with their places; see `protocol.infix`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from protocol.terms import MAX_DEPTH, Term, TextError, position_of

_TOKEN = re.compile(
    r"""[()\[\],&|]
      | :-
      | (?P<negation>~|\\\+|not(?=[ \t]+\w))
      | %[^\n\r]*
      | "(?:[^"\\]|\\.)*+"
      | (?P<open>"(?s:.*))
      | \.(?=\s|$)
      | (?:(?!:-|\.(?:\s|$))[^\s()\[\],&|~"%])+
    """,
    re.VERBOSE,
)
"""Tokens. An unclosed string takes all the rest: seeking its end at every quote inside would take quadratic time."""
_PRECEDENCE = {":-": 1, "|": 2, "&": 3, "~": 4}
_CONNECTIVE = {"|": "or", "&": "and"}


@dataclass(slots=True)
class ParsedTerm:
    """A term with its place in the text: one child per element of a tuple, none for an atom."""

    term: Term
    start: int
    """Offset of the first character; `end` is the offset after the last."""
    end: int
    children: tuple[ParsedTerm, ...] = ()
    depth: int = 0
    """Depth of nested tuples, including this one; 0 for an atom."""


@dataclass(slots=True)
class _Frame:
    """An open bracket, or the whole text, with the items read inside it."""

    closing: str
    start: int
    functor: ParsedTerm | None = None  # of the call whose parenthesis opens next
    items: list[ParsedTerm] = field(default_factory=list)
    operands: list[ParsedTerm] = field(default_factory=list)
    operators: list[tuple[str, int]] = field(default_factory=list)
    wants_operand: bool = True


def parse(text: str) -> list[ParsedTerm]:
    """The statements of a text. Raises `TextError` with line and column."""
    return _Parser(text).parse()


class _Parser:
    """Operator precedence parsing with an explicit stack of frames."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._anonymous = 0
        self._frames = [_Frame("", 0)]

    def parse(self) -> list[ParsedTerm]:
        found = (m for m in _TOKEN.finditer(self._text) if m.group()[0] != "%")
        special = {"open": '"', "negation": "~"}
        tokens = [(special.get(m.lastgroup or "", m.group()), m.start()) for m in found]
        full_stops = any(token == "." for token, _ in tokens)
        for index, (token, offset) in enumerate(tokens):
            frame = self._frames[-1]
            if token == "," and full_stops and len(self._frames) == 1 and frame.operators:
                # Only a full stop ends a rule, as in Prolog.
                token = "&"
            if token in ("(", "["):
                self._open(token, offset)
            elif token in (")", "]"):
                self._close(token, offset)
            elif token in (",", "."):
                self._separate(token, offset)
            elif token == "~":
                self._start_operand(offset)
                self._frames[-1].operators.append((token, offset))
            elif token in _PRECEDENCE:
                if frame.wants_operand:
                    raise self._error(f"a term expected before '{token}'", offset)
                self._reduce(frame, _PRECEDENCE[token])
                if token == ":-" and frame.operators and frame.operators[-1][0] == ":-":
                    raise self._error("a second ':-' in one rule", offset)
                frame.operators.append((token, offset))
                frame.wants_operand = True
            elif token == '"':
                raise self._error("a string is never closed", offset)
            else:
                self._start_operand(offset)
                if index + 1 < len(tokens) and tokens[index + 1][0] == "(":
                    frame.functor = ParsedTerm(token, offset, offset + len(token))
                else:
                    frame.operands.append(self._atom(token, offset))
                    frame.wants_operand = False
        if len(self._frames) > 1:
            last = self._frames[-1]
            raise self._error("a bracket is never closed", last.start)
        self._finish_item(self._frames[0], len(self._text))
        return self._frames[0].items

    def _atom(self, token: str, offset: int) -> ParsedTerm:
        term = token
        if token == "_":
            self._anonymous += 1
            term = f"?_#{self._anonymous}"
        elif token[0].isupper() or token[0] == "_":
            term = "?" + token
        return ParsedTerm(term, offset, offset + len(token))

    def _start_operand(self, offset: int) -> None:
        """Start an operand; at top level it may begin the next statement."""
        frame = self._frames[-1]
        if frame.wants_operand:
            return
        if len(self._frames) > 1:
            raise self._error(f"',' or '{frame.closing}' expected", offset)
        self._finish_item(frame, offset)

    def _open(self, token: str, offset: int) -> None:
        if len(self._frames) > MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH} brackets", offset)
        outer = self._frames[-1]
        if outer.functor is None:
            self._start_operand(offset)
        start = outer.functor.start if outer.functor else offset
        self._frames.append(_Frame(")" if token == "(" else "]", start))

    def _close(self, token: str, offset: int) -> None:
        frame = self._frames[-1]
        if frame.closing != token:
            what = f"'{frame.closing}' expected, not '{token}'" if frame.closing else f"'{token}' without its opening"
            raise self._error(what, offset)
        if frame.operands or frame.operators or frame.items:
            self._finish_item(frame, offset)
        self._frames.pop()
        outer = self._frames[-1]
        end = offset + 1
        if outer.functor is not None:
            node = self._tuple((outer.functor, *frame.items), frame.start, end)
            outer.functor = None
        elif token == "]":
            node = self._tuple(tuple(frame.items), frame.start, end)
        elif len(frame.items) == 1:
            node = frame.items[0]
        else:
            raise self._error("one expression expected in parentheses", frame.start)
        outer.operands.append(node)
        outer.wants_operand = False

    def _separate(self, token: str, offset: int) -> None:
        frame = self._frames[-1]
        if token == "." and frame.closing:
            raise self._error(f"'{frame.closing}' expected", offset)
        self._finish_item(frame, offset)

    def _finish_item(self, frame: _Frame, offset: int) -> None:
        """Add the expression read since the last separator to the frame's items."""
        if frame.operands or frame.operators:
            if frame.wants_operand:
                raise self._error(f"a term expected after '{frame.operators[-1][0]}'", offset)
            self._reduce(frame, 0)
            frame.items.append(frame.operands.pop())
        elif frame.closing:
            raise self._error("a term expected", offset)
        frame.wants_operand = True

    def _reduce(self, frame: _Frame, precedence: int) -> None:
        """Apply pending operators that bind tighter than `precedence`; a chain of one operator becomes one term."""
        operators, operands = frame.operators, frame.operands
        while operators and _PRECEDENCE[operators[-1][0]] > precedence:
            operator, offset = operators.pop()
            right = operands.pop()
            if operator == "~":
                sign = ParsedTerm("not", offset, offset + 1)
                operands.append(self._tuple((sign, right), offset, right.end))
                continue
            chain = [right]
            while operators and operators[-1][0] == operator:
                operators.pop()
                chain.append(operands.pop())
            chain.append(operands.pop())
            chain.reverse()
            start, end = chain[0].start, chain[-1].end
            if operator == ":-":
                operands.append(self._rule(chain[0], chain[1], offset))
            else:
                name = ParsedTerm(_CONNECTIVE[operator], offset, offset + 1)
                operands.append(self._tuple((name, *chain), start, end))

    def _rule(self, head: ParsedTerm, body: ParsedTerm, offset: int) -> ParsedTerm:
        literals: tuple[ParsedTerm, ...] = (body,)
        if body.term == "true":
            literals = ()
        elif isinstance(body.term, tuple) and body.term[:1] == ("and",):
            literals = body.children[1:]
        return self._tuple((ParsedTerm("<=", offset, offset + 2), head, *literals), head.start, body.end)

    def _tuple(self, children: tuple[ParsedTerm, ...], start: int, end: int) -> ParsedTerm:
        depth = 1 + max((child.depth for child in children), default=0)
        if depth > MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH} terms", start)
        return ParsedTerm(tuple(child.term for child in children), start, end, children, depth)

    def _error(self, message: str, offset: int) -> TextError:
        return TextError(message, position_of(self._text, offset))
