"""What workers may do to a match: hang, die, be slow. The answer is legal and in time all the same."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.agent.conftest import Game, Server, StartServer

PLAY_CLOCK, MARGIN = 5, 2.5
"""Of the server and of `Game.start`: a reply that waits for its deadline leaves after 2.5 s."""

DEADLINE = PLAY_CLOCK - MARGIN - 0.1
"""What is answered sooner has not waited for it; a little less, because the test's clock is not the server's."""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_worker_lost_during_a_turn(server: Server, connect_four: Game, number: signal.Signals) -> None:
    """A worker that dies or hangs while it thinks is replaced; this turn and all later ones are answered in time."""
    server.send(connect_four.start("m"))
    lost = server.worker_of("m")
    server.wait_for_spare()
    timer = threading.Timer(0.6, os.kill, (lost, number))
    timer.start()
    reply = server.send("(PLAY m NIL)")
    assert reply.move in connect_four.legal()
    assert DEADLINE < reply.seconds < PLAY_CLOCK
    last = connect_four.advance(reply.move, "noop")
    reply = server.send(f"(PLAY m {last})")
    assert reply.text == "noop"
    assert server.worker_of("m") != lost
    last = connect_four.advance("noop", connect_four.legal(1)[0])
    for _ in range(4):
        reply = server.send(f"(PLAY m {last})")
        assert reply.move in connect_four.legal(), server.log()
        assert reply.seconds < PLAY_CLOCK
        last = connect_four.advance(reply.move, connect_four.legal(1)[0])


def test_worker_lost_during_start(server: Server, tic_tac_toe: Game) -> None:
    """A worker that dies between START and the first PLAY costs nothing but time."""
    assert server.send(tic_tac_toe.start("m")).text == "ready"
    server.wait_for_spare()
    os.kill(server.worker_of("m"), signal.SIGKILL)
    assert server.send("(PLAY m NIL)").move in tic_tac_toe.legal()


def test_reply_leaves_at_the_deadline(server: Server, connect_four: Game) -> None:
    """With a choice to make, a reply comes when the clock less the margin is over, and before the clock itself is."""
    server.send(connect_four.start("m"))
    reply = server.send("(PLAY m NIL)")
    assert DEADLINE < reply.seconds < PLAY_CLOCK


def test_forced_move_is_answered_at_once(server: Server, tic_tac_toe: Game) -> None:
    """A turn with one legal move does not wait for its clock."""
    server.send(tic_tac_toe.start("m", "o", "120 600"))
    reply = server.send("(PLAY m NIL)")
    assert reply.text == "noop"
    assert reply.seconds < 300
    server.wait_for_log("m: turn 0: noop .*forced")


def test_without_pondering_nothing_is_thought_between_turns(start_server: StartServer, tic_tac_toe: Game) -> None:
    """With `ponder` off, the worker rests after its answer until the next PLAY."""
    server = start_server(ponder=False)
    server.send(tic_tac_toe.start("m"))
    worker = server.worker_of("m")
    before = cpu_seconds(worker)
    time.sleep(1.0)
    assert cpu_seconds(worker) - before < 0.5
    assert server.send("(PLAY m NIL)").move in tic_tac_toe.legal()
    before = cpu_seconds(worker)
    time.sleep(1.0)
    assert cpu_seconds(worker) - before < 0.5


def cpu_seconds(process: int) -> float:
    """CPU time that a process used so far."""
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
