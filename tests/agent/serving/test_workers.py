"""Real workers that hang, die or are slow. `test_match` tests the same to the instant."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.agent.conftest import Game, Server

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_worker_lost_during_a_turn(server: Server, tic_tac_toe: Game, number: signal.Signals) -> None:
    """A worker that dies or hangs is replaced; this turn and all later ones are answered."""
    server.send(tic_tac_toe.start("m"))
    lost = server.worker_of("m")
    server.wait_for_spare()
    mine = server.send("(PLAY m NIL)").move
    last = tic_tac_toe.advance(mine, "noop")
    # Stopped first, so that it does not answer before it is killed.
    os.kill(lost, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as threads:
        reply = threads.submit(server.send, f"(PLAY m {last})")
        os.kill(lost, number)
        assert reply.result().text == "noop"
    assert server.worker_of("m") != lost
    server.play_out("m", tic_tac_toe, tic_tac_toe.advance("noop", tic_tac_toe.legal(1)[0]))


def test_worker_lost_during_start(server: Server, tic_tac_toe: Game) -> None:
    """A worker that dies between START and the first PLAY costs nothing but time."""
    assert server.send(tic_tac_toe.start("m")).text == "ready"
    server.wait_for_spare()
    os.kill(server.worker_of("m"), signal.SIGKILL)
    assert server.send("(PLAY m NIL)").move in tic_tac_toe.legal()


def test_reply_waits_for_the_deadline(server: Server, connect_four: Game) -> None:
    """With a choice to make, a reply comes when the clock less the margin is over; the margin adapts to delays, up to
    half of the clock."""
    server.send(connect_four.start("m", clocks="2 2"))
    reply = server.send("(PLAY m NIL)")
    assert reply.move in connect_four.legal()
    assert reply.seconds >= 0.95


def test_forced_move_is_answered_at_once(server: Server, tic_tac_toe: Game) -> None:
    """A turn with one legal move does not wait for its clock."""
    server.send(tic_tac_toe.start("m", "o"))
    assert server.send("(PLAY m NIL)").text == "noop"
    server.wait_for_log("m: turn 0: noop .*forced")
