"""Tests of reading messages and writing replies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from protocol import kif
from protocol.compose import Style, compose
from protocol.messages import (
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
    TextError,
    parse,
    render,
)

RULES = kif.read("(role white) (role black) (<= terminal (true (step 3)))")
MARK = ("mark", "1", "2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", Info()),
        (" \r\n\t; nobody there", Info()),
        ("info", Info()),
        ("( INFO )", Info()),
        ("(Info)", Info()),
        ("(ping)", Ping()),
        ("PING", Ping()),
        ("( PREVIEW (( role white ) ) 10 )", Preview((("role", "white"),), 10)),
        ("(preview nil 10)", Preview((), 10)),
        ("(PLAY m NIL)", Play("m")),
        ("(play m nil)", Play("m")),
        ("(Play m ())", Play("m")),
        ("(play m none)", Play("m")),
        ("play m (a b)", Play("m", ("a", "b"))),
        ("(play tiltyard.game.123 (noop))", Play("tiltyard.game.123", ("noop",))),
        ("(play M-1_[x]% ((mark 1 2) NOOP))", Play("M-1_[x]%", (MARK, "NOOP"))),
        ("(play\tm\r\n; (comment\n(a;b\nb))", Play("m", ("a", "b"))),
        ("(PLAY m 0 NIL NIL)", Play("m", None, 0, None, ())),
        ("(PLAY m 3 (mark 1 2) ((see 1) heard))", Play("m", None, 3, MARK, (("see", "1"), "heard"))),
        ("(PLAY m 3 noop heard)", Play("m", None, 3, "noop", ("heard",))),
        ("(STOP m NIL)", Stop("m")),
        ("(stop m (a b))", Stop("m", ("a", "b"))),
        ("(stop m a)", Stop("m", ("a",))),
        ("(stop m 3 a ((see 1)))", Stop("m", None, 3, "a", (("see", "1"),))),
        ("( ABORT m )", Abort("m")),
        ("(START m white ((role white)) 10 5)", Start("m", "white", (("role", "white"),), 10, 5)),
        ("(START m white ((ROLE white)) 10 5 more (than that))", Start("m", "white", (("role", "white"),), 10, 5)),
        (
            "(start m White ((role White) (Role b)) 10.0 5.5)",
            Start("m", "White", kif.read("(role White) (role b)"), 10, 5),
        ),
    ],
)
def test_parses_prefix_messages(text: str, message: Message) -> None:
    """The forms of all managers that speak prefix are understood, with keywords in any case."""
    assert parse(text) == (message, Dialect("prefix"))
    assert parse(text.encode()) == (message, Dialect("prefix"))


@pytest.mark.parametrize(
    ("text", "message", "message_id"),
    [
        ("info()", Info(), None),
        (" % hello\nINFO( )", Info(), None),
        ("ping()", Ping(), None),
        ("ping(m7)", Ping("m7"), "m7"),
        ("play(m,nil)", Play("m"), None),
        ("play(m,[])", Play("m"), None),
        ("play(Match7,[mark(1,2),noop])", Play("Match7", (MARK, "noop")), None),
        ("play(r1,m,[a,b])", Play("m", ("a", "b")), "r1"),
        ("stop(m,[a,b])", Stop("m", ("a", "b")), None),
        ("stop(r1,m,[a,b])", Stop("m", ("a", "b")), "r1"),
        ("abort(m)", Abort("m"), None),
        ("abort(r1,m)", Abort("m"), "r1"),
        ("preview([role(white)],10)", Preview((("role", "white"),), 10), None),
        (
            "start(m,white,[role(white),role(black),terminal:-true(step(3))],9,5)",
            Start("m", "white", RULES, 9, 5),
            None,
        ),
        (
            "start(r1,m,white,[role(white),role(black),\nterminal :- true(step(3))],9,5)",
            Start("m", "white", RULES, 9, 5),
            "r1",
        ),
    ],
)
def test_parses_infix_messages(text: str, message: Message, message_id: str | None) -> None:
    """The same messages in infix, with and without an id of their own, which replies repeat."""
    assert parse(text) == (message, Dialect("infix", message_id))


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("(play m\n (a b)", "'(' is never closed", 1, 1),
        ("hello", "unknown message 'hello'", 1, 1),
        ("(hello)", "unknown message 'hello'", 1, 2),
        ("hello(a)", "unknown message 'hello'", 1, 1),
        ("((a) b)", "a message begins with its name", 1, 2),
        ("(play)", "PLAY lacks a match id, the moves", 1, 7),
        ("(play m)", "PLAY lacks the moves", 1, 9),
        ("(play m a b)", "PLAY takes a match id and 1 or 3 more arguments, not 2", 1, 11),
        ("(stop (m) nil)", "an id is one token", 1, 7),
        ("(play m x nil nil)", "the turn is a number of turns, 0 to 999999999", 1, 9),
        ("(abort)", "ABORT lacks a match id", 1, 8),
        ("(start m r)", "START lacks the rules, a start clock, a play clock", 1, 12),
        ("(start m () (a) 1 1)", "a role expected, not an empty list", 1, 10),
        ("(start m r rules 10 5)", "the rules are a list of statements", 1, 12),
        ("(start m r ((role r))\nten 5)", "the start clock is a number of seconds, 0 to 999999999", 2, 1),
        ("(start m r ((role r)) 1000000000 5)", "the start clock is a number of seconds, 0 to 999999999", 1, 23),
        ("(start m r ((role r)) 10 -5)", "the play clock is a number of seconds, 0 to 999999999", 1, 26),
        ("start(r1,m,r,[role(r)],10,x)", "the play clock is a number of seconds, 0 to 999999999", 1, 27),
        ("(info) (info)", "one message expected, something else follows", 1, 8),
        ("\x00\x01 \x02", "unknown message '\\x00\\x01'", 1, 1),
    ],
)
def test_errors_say_what_and_where(text: str, message: str, line: int, column: int) -> None:
    """What is no message is refused with the reason and its place in the text."""
    with pytest.raises(TextError) as caught:
        parse(text)
    assert (caught.value.message, caught.value.line, caught.value.column) == (message, line, column)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("(START m r ((role r)\n (<= p (q ?x))) 10 5)", 2, 8),
        ("(START m r (;(\n(role r)\n (<= p (q ?x)));)\n 10 5);", 3, 8),
        ("START m r ((role r)\n (<= p (q ?x))) 10 5 extra", 2, 8),
        ("start(m,r,[role(r),\n p(a) :- q(X)],10,5)", 2, 10),
    ],
)
def test_start_locates_rules(text: str, line: int, column: int) -> None:
    """A path into the rules leads to line and column of their text in the message."""
    message, dialect = parse(text)
    assert isinstance(message, Start)
    assert message.rules[1][2][0] == "q"
    assert message.locate((1, 2)) == (line, column)
    if dialect.syntax == "prefix":
        assert kif.locate(message.source, (1, 2)) == (line, column)
        assert kif.read(message.source) == message.rules


def test_numbers_beyond_reason_are_refused() -> None:
    """A clock of thousands of digits is an error, not a crash."""
    with pytest.raises(TextError):
        parse(f"(start m r (a) {'9' * 10_000} 5)")


@pytest.mark.parametrize(
    ("reply", "prefix", "infix"),
    [
        (
            Status("My agent", "available", "alien"),
            "( ( name My_agent ) ( status available ) ( species alien ) )",
            "[[name,My_agent],[status,available],[species,alien]]",
        ),
        (Ready(), "ready", "ready"),
        (Busy(), "busy", "busy"),
        (Done(), "done", "done"),
        (Aborted(), "aborted", "aborted"),
        (MoveReply("noop"), "noop", "noop"),
        (MoveReply(("MOVE", ("f", "a"), "++")), "(MOVE (f a) ++)", "MOVE(f(a),++)"),
    ],
)
def test_renders_replies(reply: Reply, prefix: str, infix: str) -> None:
    """Replies are spelled in the dialect of the request, moves with the tokens they came with."""
    assert render(reply, Dialect("prefix")) == prefix
    assert render(reply, Dialect("infix")) == infix
    assert render(reply, Dialect("infix", "m7")) == f"reply(m7,{infix})"


MESSAGES = [
    Info(),
    Ping(),
    Preview(RULES, 10),
    Start("m.1", "white", RULES, 10, 5),
    Play("m.1"),
    Play("m.1", (MARK, "noop")),
    Play("m.1", None, 3, MARK, (("see", "1"),)),
    Stop("m.1", ("a",)),
    Abort("m.1"),
]


@pytest.mark.parametrize("style", ["ggp-base", "dresden", "infix"])
@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_composed_messages_are_understood(message: Message, style: Style) -> None:
    """What the manager's side writes, in any style, is what the player's side reads."""
    assert parse(compose(message, style))[0] == message


def test_recorded_requests_are_understood(recorded: list[Any]) -> None:
    """Every request of the recorded conversations gives the message it was, and is composed byte for byte alike."""
    assert {request.kind for request in recorded} == {"INFO", "PREVIEW", "START", "PLAY", "STOP", "ABORT"}
    for request in recorded:
        message, dialect = parse(request.body)
        assert type(message).__name__.upper() == request.kind
        assert dialect == Dialect("prefix")
        if isinstance(message, Start):
            assert message.rules[0] == ("role", message.role)
            assert message.locate((0,)) == (1, 1 + message.source.index("("))
        if request.kind in ("INFO", "PLAY", "STOP", "ABORT") and b"()" not in request.body:
            style: Style = "dresden" if request.source.startswith("dresden") else "ggp-base"
            assert compose(message, style).encode() == request.body


def test_large_start_is_linear(grows_by_less_than: Callable[[float, Callable[[int], object], int], bool]) -> None:
    """Four times the rules take four times the time to read, up to 1 MB."""

    def read(statements: int) -> None:
        rules = "(<= (next (cell ?x ?y)) (true (cell ?x ?y)))\n" * statements
        message, _ = parse(f"(START m r ({rules}) 10 5)")
        assert isinstance(message, Start)
        assert len(message.rules) == statements

    assert grows_by_less_than(10, read, 5_500)
