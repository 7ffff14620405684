"""Reads the messages of all known managers and writes replies in the dialect of the request.

`parse` accepts the union of what managers send: prefix or infix, keywords in any case, the forms of GDL-II, surplus
arguments. Its errors name the place and the fault. `protocol.compose` is the manager's side.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from protocol import infix, kif
from protocol.constants import bare_rules, listed_names
from protocol.terms import Term, TextError, decode, fold_keywords, position_of
from protocol.vocabulary import (
    LONGEST_CLOCK,
    Abort,
    Aborted,
    Busy,
    Dialect,
    Done,
    Info,
    Message,
    MoveReply,
    Ping,
    Play,
    Preview,
    Ready,
    Reply,
    Start,
    Status,
    Stop,
    Syntax,
)

__all__ = [
    "LONGEST_CLOCK",
    "Abort",
    "Aborted",
    "Busy",
    "Dialect",
    "Done",
    "Info",
    "Message",
    "MoveReply",
    "Ping",
    "Play",
    "Preview",
    "Ready",
    "Reply",
    "Start",
    "Status",
    "Stop",
    "Syntax",
    "TextError",
    "parse",
    "render",
]

_BLANK = re.compile(r"\s*")
_REST_OF_LINE = re.compile(r"[^\n\r]*")
_INFIX_CALL = re.compile(r"[A-Za-z_]\w*\s*\(")
_TAIL = re.compile(r"\)\s*[^\s();]+\s+[^\s();]+\s*\)\s*")
"""The end of a START of five arguments, after the rules."""
_NUMBER = re.compile(rf"[0-9]{{1,{len(str(LONGEST_CLOCK))}}}(?:\.[0-9]*)?")

_LONGEST_ID = 1000
"""Longest id, in characters: replies and log lines repeat it. Ids in use have some 40."""


def parse(body: str | bytes) -> tuple[Message, Dialect]:
    """The message in a request's body, and the dialect of its reply. A blank text is INFO.

    Raises `TextError` with the place in the body.
    """
    text = decode(body)
    syntax = _syntax(text)
    terms = infix.read(text) if syntax == "infix" else kif.read(text)
    if not terms:
        return Info(), Dialect(syntax)
    if isinstance(terms[0], str):
        # `info`, or a message without its outer parentheses.
        request = _Request(text, syntax, terms, ())
    else:
        request = _Request(text, syntax, terms[0], (0,))
        if len(terms) > 1:
            raise _error(text, syntax, "one message expected, something else follows", (1,))
    return request.read()


def render(reply: Reply, dialect: Dialect) -> str:
    """The reply's text, on one line."""
    if isinstance(reply, Status):
        pairs = [(key, _token(getattr(reply, key))) for key in ("name", "status", "species")]
        if dialect.syntax == "infix":
            text = "[" + ",".join(f"[{key},{value}]" for key, value in pairs) + "]"
        else:
            text = "( " + " ".join(f"( {key} {value} )" for key, value in pairs) + " )"
    elif isinstance(reply, MoveReply):
        text = infix.write(reply.move) if dialect.syntax == "infix" else kif.write(reply.move)
    else:
        text = type(reply).__name__.lower()
    return text if dialect.message_id is None else f"reply({dialect.message_id},{text})"


def _token(text: str) -> str:
    """A name as one token, valid in both syntaxes."""
    return re.sub(r"[^0-9A-Za-z_.+-]+", "_", text).strip("_") or "_"


def _syntax(text: str) -> Syntax:
    if text.startswith("(", _beginning(text, ";")):
        return "prefix"
    return "infix" if _INFIX_CALL.match(text, _beginning(text, "%")) else "prefix"


def _beginning(text: str, comment: str) -> int:
    """The offset after blanks and comments. Takes one step each: a single match would hold the GIL throughout."""
    offset = _skip(_BLANK, text, 0)
    while text.startswith(comment, offset):
        offset = _skip(_BLANK, text, _skip(_REST_OF_LINE, text, offset))
    return offset


def _skip(pattern: re.Pattern[str], text: str, offset: int) -> int:
    match = pattern.match(text, offset)
    return offset if match is None else match.end()


def _error(text: str, syntax: Syntax, message: str, path: tuple[int, ...]) -> TextError:
    """An error at the term at `path`, or at the end of the text where there is none."""
    try:
        offset = infix.span(text, path)[0] if syntax == "infix" else kif.start_of(text, path)
    except LookupError:
        offset = len(text)
    return TextError(message, position_of(text, offset))


def _is_nil(term: Term) -> bool:
    return term == () or (isinstance(term, str) and term.lower() == "nil")


@dataclass(slots=True)
class _Request:
    """A message being read: its terms and their places in the text."""

    text: str
    syntax: Syntax
    terms: tuple[Term, ...]
    base: tuple[int, ...]
    message_id: str | None = None
    skipped: int = 0
    """Number of arguments removed from `terms`."""

    def read(self) -> tuple[Message, Dialect]:
        command = self.terms[0] if self.terms else ()
        if not isinstance(command, str):
            raise self.error("a message begins with its name", 0)
        readers: dict[str, Callable[[], Message]] = {
            "info": self._info,
            "ping": self._ping,
            "preview": self._preview,
            "start": self._start,
            "play": self._play,
            "stop": self._stop,
            "abort": self._abort,
        }
        reader = readers.get(command.lower())
        if reader is None:
            raise self.error(f"unknown message {command[:40]!r}", 0)
        message = reader()
        return message, Dialect(self.syntax, self.message_id)

    def error(self, message: str, index: int) -> TextError:
        """An error at argument `index`, or at the end of the text where it is missing."""
        return _error(self.text, self.syntax, message, self.path(index))

    def path(self, index: int) -> tuple[int, ...]:
        """The path of argument `index` in the text."""
        return (*self.base, index + self.skipped if index else 0)

    def _info(self) -> Info:
        if self.syntax == "infix" and len(self.terms) > 1:
            self.message_id = self._match_id(1)
        return Info()

    def _ping(self) -> Ping:
        if len(self.terms) == 1:
            return Ping()
        ping = Ping(self._match_id(1))
        if self.syntax == "infix":
            self.message_id = ping.id
        return ping

    def _preview(self) -> Preview:
        self._need(2, "rules", "a clock")
        rules, source = self._rules(1)
        return Preview(bare_rules(rules), self._number(2, "the preview clock"), source, self.syntax)

    def _start(self) -> Start:
        self._skip_message_id(lambda: len(self.terms) > 6 and isinstance(self.terms[4], tuple))
        self._need(5, "a match id", "a role", "the rules", "a start clock", "a play clock")
        match_id, role = self._match_id(1), self.terms[2]
        if role == ():
            raise self.error("a role expected, not an empty list", 2)
        rules, source = self._rules(3)
        clocks = self._number(4, "the start clock"), self._number(5, "the play clock")
        return Start(match_id, role, bare_rules(rules), *clocks, source, self.syntax, listed_names(rules))

    def _play(self) -> Play:
        self._skip_message_id(lambda: len(self.terms) == 4)
        match_id, arguments = self._moves()
        if len(arguments) == 1:
            return Play(match_id, self._joint_move(arguments[0], single=False))
        return Play(match_id, None, *self._perceived())

    def _stop(self) -> Stop:
        self._skip_message_id(lambda: len(self.terms) == 4)
        match_id, arguments = self._moves()
        if len(arguments) == 1:
            return Stop(match_id, self._joint_move(arguments[0], single=True))
        return Stop(match_id, None, *self._perceived())

    def _abort(self) -> Abort:
        self._skip_message_id(lambda: len(self.terms) == 3)
        self._need(1, "a match id")
        return Abort(self._match_id(1))

    def _skip_message_id(self, present: Callable[[], bool]) -> None:
        """Remove an infix message's own id from the arguments; one argument more than usual shows that it is there."""
        if self.syntax == "infix" and present():
            self.message_id = self._match_id(1)
            self.terms = (self.terms[0], *self.terms[2:])
            self.skipped = 1

    def _need(self, count: int, *names: str) -> None:
        given = len(self.terms) - 1
        if given < count:
            command = str(self.terms[0]).upper()
            raise self.error(f"{command} lacks {', '.join(names[given:])}", len(self.terms))

    def _match_id(self, index: int) -> str:
        match_id = self.terms[index]
        if not isinstance(match_id, str):
            raise self.error("an id is one token", index)
        if len(match_id) > _LONGEST_ID:
            raise self.error(f"an id has at most {_LONGEST_ID} characters, not {len(match_id)}", index)
        # The infix reader took an upper-case id for a variable.
        return match_id[1:] if self.syntax == "infix" and match_id.startswith("?") else match_id

    def _number(self, index: int, name: str, unit: str = "seconds") -> int:
        text = self.terms[index]
        if not isinstance(text, str) or not _NUMBER.fullmatch(text):
            raise self.error(f"{name} is a number of {unit}, 0 to {LONGEST_CLOCK}", index)
        return int(text.partition(".")[0])

    def _rules(self, index: int) -> tuple[tuple[Term, ...], str]:
        """The rules, and the text inside their parentheses."""
        rules = self.terms[index]
        if _is_nil(rules):
            return (), ""
        if isinstance(rules, str):
            raise self.error("the rules are a list of statements", index)
        return fold_keywords(rules), self._inside(index)

    def _inside(self, index: int) -> str:
        """The text inside the parentheses of argument `index`."""
        if self.syntax == "infix":
            start, end = infix.span(self.text, self.path(index))
            return self.text[start + 1 : end - 1]
        if index == 3 and self.base and len(self.terms) == 6 and ";" not in self.text:
            # The usual case, without another pass over the rules.
            tail = self.text.rfind(")", 0, self.text.rfind(")"))
            if _TAIL.fullmatch(self.text, tail):
                return self.text[kif.start_of(self.text, self.path(index)) + 1 : tail]
        start, end = kif.span(self.text, self.path(index))
        return self.text[start + 1 : end - 1]

    def _moves(self) -> tuple[str, tuple[Term, ...]]:
        self._need(2, "a match id", "the moves")
        arguments = self.terms[2:]
        if len(arguments) not in (1, 3):
            command = str(self.terms[0]).upper()
            raise self.error(f"{command} takes a match id and 1 or 3 more arguments, not {len(arguments)}", 3)
        return self._match_id(1), arguments

    def _joint_move(self, moves: Term, *, single: bool) -> tuple[Term, ...] | None:
        """A joint move; a bare atom is none, or with `single`, the move of the only role."""
        if _is_nil(moves):
            return None
        if isinstance(moves, str):
            return (moves,) if single else None
        return moves

    def _perceived(self) -> tuple[int, Term | None, tuple[Term, ...]]:
        """Turn, last move and percepts of GDL-II's long form."""
        turn, last_move, percepts = self._number(2, "the turn", "turns"), self.terms[3], self.terms[4]
        if _is_nil(percepts):
            return turn, None if _is_nil(last_move) else last_move, ()
        if isinstance(percepts, str):
            return turn, None if _is_nil(last_move) else last_move, (percepts,)
        return turn, None if _is_nil(last_move) else last_move, percepts
