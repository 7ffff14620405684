"""What workers may do to a match: hang, die, be slow. The answer is legal and in time all the same."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.agent.conftest import Game, Server, StartServer

MARGIN = 0.5


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_worker_lost_during_a_turn(server: Server, connect_four: Game, number: signal.Signals) -> None:
    """A worker that dies or hangs while it thinks is replaced; this turn and all later ones are answered in time."""
    server.send(connect_four.start("m", play_clock=3))
    lost = server.worker_of("m")
    timer = threading.Timer(0.6, os.kill, (lost, number))
    timer.start()
    reply = server.send("(PLAY m NIL)")
    assert reply.move in connect_four.legal()
    assert 2.4 < reply.seconds < 2.8
    last = connect_four.advance(reply.move, "noop")
    reply = server.send(f"(PLAY m {last})")
    assert reply.text == "noop"
    assert server.worker_of("m") != lost
    last = connect_four.advance("noop", connect_four.legal(1)[0])
    for _ in range(4):
        reply = server.send(f"(PLAY m {last})")
        assert reply.move in connect_four.legal(), server.log()
        assert reply.seconds < 2.8
        last = connect_four.advance(reply.move, connect_four.legal(1)[0])


def test_worker_lost_during_start(server: Server, tic_tac_toe: Game) -> None:
    """A worker that dies between START and the first PLAY costs nothing but time."""
    assert server.send(tic_tac_toe.start("m", play_clock=3)).text == "ready"
    os.kill(server.worker_of("m"), signal.SIGKILL)
    assert server.send("(PLAY m NIL)").move in tic_tac_toe.legal()


def test_reply_leaves_at_the_deadline(server: Server, connect_four: Game) -> None:
    """With a choice to make, a reply comes when the clock less the margin is over, and not much later."""
    server.send(connect_four.start("m", play_clock=1))
    reply = server.send("(PLAY m NIL)")
    assert reply.seconds == pytest.approx(1 - MARGIN, abs=0.1)


def test_forced_move_is_answered_at_once(server: Server, tic_tac_toe: Game) -> None:
    """A turn with one legal move does not wait for its clock."""
    server.send(tic_tac_toe.start("m", "o", play_clock=5))
    reply = server.send("(PLAY m NIL)")
    assert reply.text == "noop"
    assert reply.seconds < 1


def test_without_pondering_nothing_is_thought_between_turns(start_server: StartServer, tic_tac_toe: Game) -> None:
    """With `ponder` off, the worker rests after its answer until the next PLAY."""
    server = start_server(margin=MARGIN, ponder=False)
    server.send(tic_tac_toe.start("m"))
    worker = server.worker_of("m")
    before = cpu_seconds(worker)
    threading.Event().wait(0.5)
    assert cpu_seconds(worker) - before < 0.2
    assert server.send("(PLAY m NIL)").move in tic_tac_toe.legal()
    before = cpu_seconds(worker)
    threading.Event().wait(0.5)
    assert cpu_seconds(worker) - before < 0.2


def cpu_seconds(process: int) -> float:
    """CPU time that a process used so far."""
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
