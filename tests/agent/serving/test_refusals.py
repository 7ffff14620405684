"""Wrong messages to a real server during a match: answered and logged, without harm to the match.

`test_matches`, `test_serve` and `tests.protocol.test_server` have the same without processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.agent.conftest import Game

if TYPE_CHECKING:
    from tests.agent.conftest import Server

pytestmark = pytest.mark.e2e

EXPLODING = " ".join(
    [
        *(f"(digit {n})" for n in range(40)),
        "(<= (next (seen ?a ?b ?c ?d ?e)) (does x noop) (digit ?a) (digit ?b) (digit ?c) (digit ?d) (digit ?e))",
    ]
)
"""Rules that ground to 10^8 facts."""


class Running:
    """A match that goes on from test to test, turn by turn."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._game: Game | None = None
        self._last = ""

    def begin(self) -> None:
        """Begins the match if it is not running."""
        if self._game is not None and self._game.machine.terminal(self._game.state):
            self.end()
        if self._game is None:
            self._game, self._last = Game("tic_tac_toe"), "NIL"
            assert self.server.send(self._game.start("running")).text == "ready"

    def assert_undisturbed(self) -> None:
        """Plays the next turn, which is answered as usual."""
        assert self._game is not None
        reply = self.server.send(f"(PLAY running {self._last})")
        assert reply.move in self._game.legal()
        self._last = self._game.advance(reply.move, self._game.legal(1)[0])

    def end(self) -> None:
        """Ends the match."""
        if self._game is not None:
            self._game = None
            self.server.send("(ABORT running)")


@pytest.fixture(scope="module")
def lasting(shared_server: Server) -> Iterator[Running]:
    """The running match of all tests here."""
    running = Running(shared_server)
    yield running
    running.end()


@pytest.fixture
def running(lasting: Running) -> Running:
    """A match in its middle, on a server with a worker to spare and an empty log."""
    lasting.begin()
    lasting.server.wait_until_available()
    lasting.server.forget_log()
    return lasting


def test_text_that_is_no_message_is_answered_busy(running: Running) -> None:
    """Broken or unknown messages get HTTP 200 and `busy`, with the reason in the log; an empty body is INFO."""
    assert "ggp-agent" in running.server.send("").text
    for junk in (b"(((", b")", b"hello", b"(LAUNCH m)", b"\x00\xff\x10(", b"(PLAY)", b"(START m)"):
        before = len(running.server.log())
        reply = running.server.send(junk)
        assert (reply.status, reply.text) == (200, "busy")
        assert "WARNING" in running.server.log()[before:]
    running.assert_undisturbed()


def test_unknown_matches_are_answered_busy(running: Running) -> None:
    """PLAY, STOP and ABORT for a match that is not running are refused and logged."""
    for message in ("PLAY other NIL", "STOP other NIL", "ABORT other"):
        assert running.server.send(f"({message})").text == "busy"
        running.server.wait_for_log(f"ERROR other: {message.split()[0]} .* unknown match")
    running.assert_undisturbed()


@pytest.mark.parametrize(
    ("rules", "role", "logged"),
    [
        ("", "nobody", "no role nobody, only x, o"),
        ("\n(<= (next (won ?x))\n (true (control x)))", "x", r"line 2, column 1: .*\?x"),
        ("\n\n(<= a (not b))\n(<= b (not a))", "x", "line [34], column 1: .*negation"),
    ],
)
def test_rules_without_a_meaning_are_refused(
    running: Running, tic_tac_toe: Game, rules: str, role: str, logged: str
) -> None:
    """An unknown role, unsafe and unstratified rules get `busy`, with the place in the log."""
    start = tic_tac_toe.start("bad", role, "600 600").replace(") 600 600)", f"{rules}) 600 600)")
    assert running.server.send(start).text == "busy"
    running.server.wait_for_log(f"ERROR bad: .*{logged}")
    assert running.server.send("(PLAY bad NIL)").text == "busy"
    running.assert_undisturbed()


def test_enormous_rulesheet_is_refused(running: Running, tic_tac_toe: Game) -> None:
    """Five megabytes of rules are not even read."""
    start = tic_tac_toe.start("huge", clocks="10 1").replace(") 10 1)", "(fact 1)" * 650_000 + ") 10 1)")
    reply = running.server.send(start)
    assert (reply.status, reply.text) == (200, "busy")
    running.server.wait_for_log("longer than")
    running.assert_undisturbed()


def test_rules_that_do_not_ground_are_played_all_the_same(running: Running, tic_tac_toe: Game) -> None:
    """If grounding explodes, START is answered when its clock is over, and PLAY with a legal move."""
    start = tic_tac_toe.start("explosion", "o", clocks="1 600").replace(") 1 600)", f"{EXPLODING}) 1 600)")
    assert running.server.send(start).text == "ready"
    running.server.wait_for_log("explosion: not ready within the start clock")
    assert running.server.send("(PLAY explosion NIL)").move in tic_tac_toe.legal(1)
    assert running.server.send("(ABORT explosion)").text == "aborted"
    running.assert_undisturbed()
