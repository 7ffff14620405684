"""Whole conversations with a real server: matches, repetitions, restarts, and everything that managers get wrong."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

PLAY_CLOCK = 5
"""As `Game.start` has it."""

if TYPE_CHECKING:
    from tests.agent.conftest import Game, Server, StartServer


def play_out(server: Server, match_id: str, game: Game, last: str = "NIL") -> None:
    """Plays a match to its end as the first role, against random moves; asserts legal replies in time."""
    while not game.machine.terminal(game.state):
        reply = server.send(f"(PLAY {match_id} {last})")
        assert reply.move in game.legal(), server.log()
        assert reply.seconds < PLAY_CLOCK
        last = game.advance(reply.move, random.choice(game.legal(1)))
    assert server.send(f"(STOP {match_id} {last})").text == "done"


def test_whole_match_is_played(server: Server, tic_tac_toe: Game) -> None:
    """From START to STOP every reply is legal and in time, the result is logged and the worker is free again."""
    assert server.send(tic_tac_toe.start("m1")).text == "ready"
    play_out(server, "m1", tic_tac_toe)
    server.wait_for_log(r"m1: over after [0-9]+ turns, goals \[")
    server.wait_until_available()


def test_matches_run_side_by_side_up_to_the_number_of_workers(server: Server, tic_tac_toe: Game) -> None:
    """Two matches are played at once, a third START is refused, INFO says busy meanwhile."""
    with ThreadPoolExecutor() as threads:
        starts = [threads.submit(server.send, tic_tac_toe.start(f"m{i}")) for i in range(2)]
        assert [start.result().text for start in starts] == ["ready", "ready"]
        assert "busy" in server.send("(INFO)").text
        assert server.send(tic_tac_toe.start("m2")).text == "busy"
        plays = [threads.submit(server.send, f"(PLAY m{i} NIL)") for i in range(2)]
        for play in plays:
            assert play.result().move in tic_tac_toe.legal()
    assert server.send("(ABORT m0)").text == "aborted"
    assert server.send("(STOP m1 NIL)").text == "done"
    server.wait_until_available()


def test_repeated_messages_change_nothing(server: Server, tic_tac_toe: Game) -> None:
    """A PLAY repeated during or after its turn gets the same reply, a repeated START gets ready."""
    server.send(tic_tac_toe.start("m"))
    with ThreadPoolExecutor() as threads:
        plays = [threads.submit(server.send, "(PLAY m NIL)") for _ in range(2)]
        first, second = (play.result().text for play in plays)
    assert first == second == server.send("(PLAY m NIL)").text
    assert server.send(tic_tac_toe.start("m")).text == "ready"
    mine = server.send("(PLAY m NIL)").move
    last = tic_tac_toe.advance(mine, "noop")
    assert server.send(f"(PLAY m {last})").text == server.send(f"(PLAY m {last})").text == "noop"
    last = tic_tac_toe.advance("noop", tic_tac_toe.legal(1)[0])
    play_out(server, "m", tic_tac_toe, last)


def test_manager_may_start_the_same_match_again(server: Server, tic_tac_toe: Game) -> None:
    """A START repeated in the middle, followed by the first PLAY, leads back to the first turn."""
    server.send(tic_tac_toe.start("m"))
    server.send("(PLAY m NIL)")
    server.send("(PLAY m ((mark 2 2) noop))")
    assert server.send(tic_tac_toe.start("m")).text == "ready"
    play_out(server, "m", tic_tac_toe)


def test_managers_joint_move_is_the_truth(server: Server, tic_tac_toe: Game) -> None:
    """The match goes on from the move that the manager made for us, whatever we answered."""
    server.send(tic_tac_toe.start("m"))
    mine = server.send("(PLAY m NIL)").move
    other = next(move for move in tic_tac_toe.legal() if move != mine)
    assert server.send(f"(PLAY m {tic_tac_toe.advance(other, 'noop')})").text == "noop"
    play_out(server, "m", tic_tac_toe, tic_tac_toe.advance("noop", mine))


def test_impossible_joint_moves_are_logged_and_not_applied(server: Server, tic_tac_toe: Game) -> None:
    """A joint move of the wrong length, or illegal for a role, gets a legal move of the unchanged state."""
    server.send(tic_tac_toe.start("m"))
    server.send("(PLAY m NIL)")
    for wrong in ("((mark 1 1))", "((mark 1 1) noop noop)", "((mark 1 1) (mark 1 1))", "((mark 9 9) noop)"):
        assert server.send(f"(PLAY m {wrong})").move in tic_tac_toe.legal()
    server.wait_for_log(r"ERROR .*m: turn 1: 1 moves for 2 roles")
    server.wait_for_log(r"ERROR .*m: turn 3: \(mark 1 1\) is illegal for o")
    server.wait_for_log(r"ERROR .*m: turn 4: \(mark 9 9\) is illegal for x")
    last = tic_tac_toe.advance(("mark", "2", "2"), "noop")
    assert server.send(f"(PLAY m {last})").text == "noop"
    play_out(server, "m", tic_tac_toe, tic_tac_toe.advance("noop", ("mark", "1", "1")))


def test_restarted_server_takes_matches_up_again(start_server: StartServer, tic_tac_toe: Game, tmp_path: Path) -> None:
    """After a crash, the next PLAY is answered with a legal move of the state that its moves lead to."""
    journal = tmp_path / "journal"
    server = start_server(journal=journal)
    server.send(tic_tac_toe.start("m"))
    mine = server.send("(PLAY m NIL)").move
    server.send(f"(PLAY m {tic_tac_toe.advance(mine, 'noop')})")
    server.kill()
    server = start_server(journal=journal)
    play_out(server, "m", tic_tac_toe, tic_tac_toe.advance("noop", tic_tac_toe.legal(1)[0]))
    server.close()
    assert list(journal.iterdir()) == []


EXPLODING = " ".join(
    [
        *(f"(digit {n})" for n in range(40)),
        "(<= (next (seen ?a ?b ?c ?d ?e)) (does x noop) (digit ?a) (digit ?b) (digit ?c) (digit ?d) (digit ?e))",
    ]
)
"""Rules that ground to 10^8 facts."""


@pytest.fixture
def busy_server(server: Server, tic_tac_toe: Game) -> Server:
    """A server in the middle of a match."""
    server.send(tic_tac_toe.start("running"))
    return server


def assert_undisturbed(server: Server, game: Game) -> None:
    """The running match is answered as if nothing had happened."""
    assert server.send("(PLAY running NIL)").move in game.legal()


def test_text_that_is_no_message_is_answered_busy(busy_server: Server, tic_tac_toe: Game) -> None:
    """Broken or unknown messages get HTTP 200 and `busy`, with the reason in the log; an empty body is INFO."""
    assert "ggp-agent" in busy_server.send("").text
    for junk in (b"(((", b")", b"hello", b"(LAUNCH m)", b"\x00\xff\x10(", b"(PLAY)", b"(START m)"):
        before = len(busy_server.log())
        reply = busy_server.send(junk)
        assert (reply.status, reply.text) == (200, "busy")
        assert "WARNING" in busy_server.log()[before:]
    assert_undisturbed(busy_server, tic_tac_toe)


def test_unknown_matches_are_answered_busy(busy_server: Server, tic_tac_toe: Game) -> None:
    """PLAY, STOP and ABORT for a match that is not running are refused and logged."""
    for message in ("PLAY other NIL", "STOP other NIL", "ABORT other"):
        assert busy_server.send(f"({message})").text == "busy"
        busy_server.wait_for_log(f"ERROR other: {message.split()[0]} .* unknown match")
    assert_undisturbed(busy_server, tic_tac_toe)


@pytest.mark.parametrize(
    ("rules", "role", "logged"),
    [
        ("", "nobody", "no role nobody, only x, o"),
        ("\n(<= (next (won ?x))\n (true (control x)))", "x", r"line 2, column 1: .*\?x"),
        ("\n\n(<= a (not b))\n(<= b (not a))", "x", "line [34], column 1: .*negation"),
    ],
)
def test_rules_without_a_meaning_are_refused(
    busy_server: Server, tic_tac_toe: Game, rules: str, role: str, logged: str
) -> None:
    """A role that does not exist, unsafe and unstratified rules: `busy` at once, and where it is wrong in the log."""
    start = tic_tac_toe.start("bad", role, "600 5").replace(") 600 5)", f"{rules}) 600 5)")
    reply = busy_server.send(start)
    assert reply.text == "busy"
    assert reply.seconds < 300
    busy_server.wait_for_log(f"ERROR bad: .*{logged}")
    assert busy_server.send("(PLAY bad NIL)").text == "busy"
    assert_undisturbed(busy_server, tic_tac_toe)


def test_enormous_rulesheet_is_refused(busy_server: Server, tic_tac_toe: Game) -> None:
    """Five megabytes of rules are not even read."""
    start = tic_tac_toe.start("huge", clocks="10 1").replace(") 10 1)", "(fact 1)" * 650_000 + ") 10 1)")
    reply = busy_server.send(start)
    assert (reply.status, reply.text) == (200, "busy")
    busy_server.wait_for_log("longer than")
    assert_undisturbed(busy_server, tic_tac_toe)


def test_rules_that_do_not_ground_are_played_all_the_same(busy_server: Server, tic_tac_toe: Game) -> None:
    """Where grounding explodes, START is answered in time and PLAY with a legal move."""
    busy_server.wait_for_spare()
    start = tic_tac_toe.start("explosion", clocks="6 5").replace(") 6 5)", f"{EXPLODING}) 6 5)")
    reply = busy_server.send(start)
    assert reply.text == "ready"
    assert reply.seconds < 6
    busy_server.wait_for_log("explosion: not ready within the start clock")
    assert busy_server.send("(PLAY explosion NIL)").move in tic_tac_toe.legal()
    assert busy_server.send("(ABORT explosion)").text == "aborted"
    assert_undisturbed(busy_server, tic_tac_toe)
