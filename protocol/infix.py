"""Reader and writer of infix GDL, Stanford's human-readable form: `legal(R,noop) :- role(R) & ~true(control(R))`.

Terms are the prefix terms of `protocol.kif`:

    h(X) :- a(X) & ~b(X)        ("<=", ("h", "?X"), ("a", "?X"), ("not", ("b", "?X")))
    a(X) | b(X)                 ("or", ("a", "?X"), ("b", "?X"))
    [a,b]                       ("a", "b")
    _                           "?_#1", "?_#2": a new variable each time
    h(X) :- a(X), not b(X).     the same as the first

Identifiers that begin with an upper-case letter or `_` are variables; strings keep their quotes; `%` starts a
comment. A comma, a full stop or nothing separates statements. Operators from tightest to loosest: `~`, `&`, `|`, `:-`.
Also as in Prolog: `not` and `\\+` for `~`, and where a text has full stops, a comma in a rule for `&`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from protocol.constants import bare_rules
from protocol.infix_parser import ParsedTerm, parse
from protocol.terms import Term, TextError, TextPosition, decode, fold_keywords, position_of

__all__ = ["locate", "read", "read_one", "read_rulesheet", "write", "write_list", "write_rulesheet"]

_INFIX_VARIABLE = re.compile(r"[A-Z][0-9A-Za-z_]*|_[0-9A-Za-z_]+")


def read(text: str | bytes) -> tuple[Term, ...]:
    """All statements of a text as prefix terms. Raises `TextError` with line and column."""
    return tuple(node.term for node in parse(decode(text)))


def read_one(text: str | bytes) -> Term:
    """The only statement of a text. Raises `TextError` where there is not exactly one."""
    text = decode(text)
    nodes = parse(text)
    if len(nodes) != 1:
        offset = nodes[1].start if nodes else len(text)
        raise TextError("exactly one expression expected", position_of(text, offset))
    return nodes[0].term


def read_rulesheet(text: str | bytes) -> tuple[Term, ...]:
    """A rulesheet: like `read`, with GDL's keywords in lower case, and constants out of parentheses.

    See `fold_keywords` and `bare_rules`.
    """
    return bare_rules(fold_keywords(read(text)))


def locate(text: str | bytes, path: Sequence[int]) -> TextPosition:
    """The position of the sub-term at `path`, an index path into the *prefix* form. Raises `LookupError`."""
    text = decode(text)
    return position_of(text, span(text, path)[0])


def span(text: str, path: Sequence[int]) -> tuple[int, int]:
    """The offsets `[start, end)` of the sub-term at `path`. Raises `LookupError`."""
    return span_in(parsed(text), path)


def parsed(text: str) -> ParsedTerm:
    """The statements with their places, as children of one node. Raises `TextError` with line and column."""
    return ParsedTerm((), 0, len(text), tuple(parse(text)))


def span_in(node: ParsedTerm, path: Sequence[int]) -> tuple[int, int]:
    """The offsets `[start, end)` of the sub-term at `path` below a node. Raises `LookupError`."""
    for index in path:
        if not 0 <= index < len(node.children):
            raise LookupError(f"no term at {list(path)}")
        node = node.children[index]
    return node.start, node.end


def write(term: Term) -> str:
    """A prefix term as infix text, on one line; the inverse of `read_one`.

    Variables are spelled `X` for `?X` and for `?x`, made distinct within the term. Constants are written unchanged: one
    that begins with an upper-case letter or holds an operator's character has no spelling in this dialect.
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
"""Text to write unchanged, or a term with its context: operators up to that precedence need parentheses."""


def _spell(term: tuple[Term, ...], context: int) -> list[_Piece]:
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
    # An operand of the same operator keeps its parentheses: reading must give the same term back.
    return ["(", *pieces, ")"] if context >= precedence and functor != "not" else pieces


def _joined(pieces: list[_Piece], separator: str) -> list[_Piece]:
    return [part for piece in pieces for part in (separator, piece)][1:]


def _variable_names(term: Term) -> dict[str, str]:
    """The infix spelling of each variable of a term; variables already spelled in infix choose first."""
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
