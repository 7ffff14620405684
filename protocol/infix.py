"""Reader and writer of infix GDL, Stanford's human-readable form: `legal(R,noop) :- role(R) & ~true(control(R))`.

Both give and take the same prefix terms as `protocol.kif`:

    h(X) :- a(X) & ~b(X)        ("<=", ("h", "?X"), ("a", "?X"), ("not", ("b", "?X")))
    a(X) | b(X)                 ("or", ("a", "?X"), ("b", "?X"))
    [a,b]                       ("a", "b")
    _                           "?_#1", "?_#2": a new variable each time

Identifiers that begin with an upper-case letter or `_` are variables; strings keep their quotes; `%` starts a
comment. Statements follow each other with or without a comma or full stop between them. From tightest to loosest
bind `~`, `&`, `|`, `:-`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from protocol.terms import MAX_DEPTH, Term, TextError, TextPosition, decode, fold_keywords, position_of

__all__ = ["locate", "read", "read_one", "read_rulesheet", "write", "write_list", "write_rulesheet"]

_TOKEN = re.compile(
    r"""[()\[\],&|~]
      | :-
      | %[^\n\r]*
      | "(?:[^"\\]|\\.)*"
      | \.(?=\s|$)
      | (?:(?!:-|\.(?:\s|$))[^\s()\[\],&|~"%])+
      | "
    """,
    re.VERBOSE,
)
_INFIX_VARIABLE = re.compile(r"[A-Z][0-9A-Za-z_]*|_[0-9A-Za-z_]+")
_PRECEDENCE = {":-": 1, "|": 2, "&": 3, "~": 4}
_CONNECTIVE = {"|": "or", "&": "and"}


def read(text: str | bytes) -> tuple[Term, ...]:
    """All statements of a text as prefix terms. Raises `TextError` with line and column."""
    return tuple(node.term for node in _Parser(decode(text)).parse())


def read_one(text: str | bytes) -> Term:
    """The only statement of a text. Raises `TextError` where there is none, or more than one."""
    text = decode(text)
    nodes = _Parser(text).parse()
    if len(nodes) != 1:
        offset = nodes[1].start if nodes else len(text)
        raise TextError("exactly one expression expected", position_of(text, offset))
    return nodes[0].term


def read_rulesheet(text: str | bytes) -> tuple[Term, ...]:
    """A rulesheet: like `read`, with GDL's keywords folded to lower case where they are relations or operators."""
    return fold_keywords(read(text))


def locate(text: str | bytes, path: Sequence[int]) -> TextPosition:
    """Where the sub-term of the *prefix* form starts that `path` leads to; `LookupError` where there is none."""
    text = decode(text)
    return position_of(text, span(text, path)[0])


def span(text: str, path: Sequence[int]) -> tuple[int, int]:
    """The offsets `[start, end)` of the sub-term that `path` leads to. Raises `LookupError` where there is none."""
    node = _Node((), 0, len(text), tuple(_Parser(text).parse()))
    for index in path:
        if not 0 <= index < len(node.children):
            raise LookupError(f"no term at {list(path)}")
        node = node.children[index]
    return node.start, node.end


def write(term: Term) -> str:
    """A prefix term as infix text, on one line; the inverse of `read_one`.

    Variables are spelled `X` for `?X` and for `?x`, made distinct within the term. Constants are written as they are:
    one that begins with an upper-case letter or holds an operator's character cannot be said in this dialect.
    """
    names = _variable_names(term)
    pieces: list[str] = []
    pending: list[_Piece] = [(term, 0)]
    while pending:
        piece = pending.pop()
        if isinstance(piece, str):
            pieces.append(piece)
            continue
        term, context = piece
        if isinstance(term, str):
            pieces.append(names.get(term, term))
            continue
        pending.extend(reversed(_spell(term, context)))
    return "".join(pieces)


def write_list(terms: Sequence[Term]) -> str:
    """Terms as a list: `[a,f(b)]`."""
    return f"[{','.join(map(write, terms))}]"


def write_rulesheet(rulesheet: Sequence[Term]) -> str:
    """A rulesheet, one statement per line."""
    return "".join(write(statement) + "\n" for statement in rulesheet)


_Piece: TypeAlias = "str | tuple[Term, int]"
"""Text to write as it is, or a term to write where operators up to the given precedence need parentheses."""


def _spell(term: tuple[Term, ...], context: int) -> list[_Piece]:
    """A compound term as text and sub-terms."""
    functor = term[0] if term else ()
    if functor == "<=" and len(term) > 1:
        precedence, separator, operands = 1, " & ", term[2:]
        pieces: list[_Piece] = [(term[1], 1), " :- "] if operands else [(term[1], 0)]
    elif functor in ("and", "or") and len(term) > 2:
        precedence, separator = (3, " & ") if functor == "and" else (2, " | ")
        operands, pieces = term[1:], []
    elif functor == "not" and len(term) == 2:
        precedence, separator, operands, pieces = 4, "", term[1:], ["~"]
    elif isinstance(functor, str):
        return [f"{functor}(", *_joined([(part, 0) for part in term[1:]], ","), ")"]
    else:
        return ["[", *_joined([(part, 0) for part in term], ","), "]"]
    inner = 3 if functor == "<=" and len(operands) > 1 else precedence
    pieces += _joined([(operand, inner) for operand in operands], separator)
    # An operand of the same operator keeps its parentheses, so that reading gives the same term back.
    return ["(", *pieces, ")"] if context >= precedence and functor != "not" else pieces


def _joined(pieces: list[_Piece], separator: str) -> list[_Piece]:
    return [part for piece in pieces for part in (separator, piece)][1:]


def _variable_names(term: Term) -> dict[str, str]:
    """The infix spelling of each variable of a term; spellings that are infix already come first."""
    variables: dict[str, None] = {}
    pending = [term]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            if part[:1] == "?":
                variables[part] = None
        else:
            pending.extend(reversed(part))
    names: dict[str, str] = {}
    taken: set[str] = set()
    for variable in sorted(variables, key=lambda name: not _INFIX_VARIABLE.fullmatch(name[1:])):
        if variable.startswith("?_#"):
            names[variable] = "_"
            continue
        name = re.sub(r"[^0-9A-Za-z_]", "_", variable[1:])
        name = (
            name[:1].upper() + name[1:]
            if name[:1].isalpha()
            else name
            if _INFIX_VARIABLE.fullmatch(name)
            else f"V{name}"
        )
        unique, count = name, 1
        while unique in taken:
            count += 1
            unique = f"{name}_{count}"
        taken.add(unique)
        names[variable] = unique
    return names


@dataclass(slots=True)
class _Node:
    """A term with its place: one child per element of the tuple, none for an atom."""

    term: Term
    start: int
    end: int
    children: tuple[_Node, ...] = ()
    depth: int = 0


@dataclass(slots=True)
class _Frame:
    """An open bracket (or the whole text) and what has been read inside it."""

    closing: str
    start: int
    functor: _Node | None = None  # of the call whose parenthesis opens next
    items: list[_Node] = field(default_factory=list)
    operands: list[_Node] = field(default_factory=list)
    operators: list[tuple[str, int]] = field(default_factory=list)
    wants_operand: bool = True


class _Parser:
    """Operator precedence parsing with an explicit stack of frames."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._anonymous = 0
        self._frames = [_Frame("", 0)]

    def parse(self) -> list[_Node]:
        tokens = [(m.group(), m.start()) for m in _TOKEN.finditer(self._text) if m.group()[0] != "%"]
        for index, (token, offset) in enumerate(tokens):
            frame = self._frames[-1]
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
                    frame.functor = _Node(token, offset, offset + len(token))
                else:
                    frame.operands.append(self._atom(token, offset))
                    frame.wants_operand = False
        if len(self._frames) > 1:
            last = self._frames[-1]
            raise self._error("a bracket is never closed", last.start)
        self._finish_item(self._frames[0], len(self._text))
        return self._frames[0].items

    def _atom(self, token: str, offset: int) -> _Node:
        term = token
        if token == "_":
            self._anonymous += 1
            term = f"?_#{self._anonymous}"
        elif token[0].isupper() or token[0] == "_":
            term = "?" + token
        return _Node(term, offset, offset + len(token))

    def _start_operand(self, offset: int) -> None:
        """An operand begins here: at top level that may mean that the next statement does."""
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
        """Take what has been read since the last separator as one item of the frame."""
        if frame.operands or frame.operators:
            if frame.wants_operand:
                raise self._error(f"a term expected after '{frame.operators[-1][0]}'", offset)
            self._reduce(frame, 0)
            frame.items.append(frame.operands.pop())
        elif frame.closing:
            raise self._error("a term expected", offset)
        frame.wants_operand = True

    def _reduce(self, frame: _Frame, precedence: int) -> None:
        """Apply the waiting operators that bind tighter than `precedence`; a chain of one operator at once."""
        operators, operands = frame.operators, frame.operands
        while operators and _PRECEDENCE[operators[-1][0]] > precedence:
            operator, offset = operators.pop()
            right = operands.pop()
            if operator == "~":
                sign = _Node("not", offset, offset + 1)
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
                name = _Node(_CONNECTIVE[operator], offset, offset + 1)
                operands.append(self._tuple((name, *chain), start, end))

    def _rule(self, head: _Node, body: _Node, offset: int) -> _Node:
        literals: tuple[_Node, ...] = (body,)
        if body.term == "true":
            literals = ()
        elif isinstance(body.term, tuple) and body.term[:1] == ("and",):
            literals = body.children[1:]
        return self._tuple((_Node("<=", offset, offset + 2), head, *literals), head.start, body.end)

    def _tuple(self, children: tuple[_Node, ...], start: int, end: int) -> _Node:
        depth = 1 + max((child.depth for child in children), default=0)
        if depth > MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH} terms", start)
        return _Node(tuple(child.term for child in children), start, end, children, depth)

    def _error(self, message: str, offset: int) -> TextError:
        return TextError(message, position_of(self._text, offset))
