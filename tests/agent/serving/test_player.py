"""Whole conversations with a real server: matches, repetitions, wrong moves, restarts.

`test_matches` and `test_interruptions` have the same in virtual time.
"""

from __future__ import annotations

import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.agent.conftest import Game
from tests.agent.worker.hidden_games import CARDS

if TYPE_CHECKING:
    from tests.agent.conftest import Server, StartServer, SupervisedServer


def fetch(server: Server, path: str, accept: str = "*/*") -> str:
    """Returns a page of the server."""
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=600) as response:
        return str(response.read().decode())


@dataclass(frozen=True)
class WholeMatch:
    """A match that was played from START to STOP, and the server's pages."""

    goals: list[int]
    result: str
    """The log's last line."""
    before: dict[str, Any]
    """Health before the match."""
    meanwhile: dict[str, Any]
    """Health after the first turn."""
    metrics: list[str]
    """Metrics after the first turn."""
    welcome: tuple[str, str]
    """The answers to a browser and to a manager."""
    shown: dict[str, Any]
    """The match on the page when it is over."""
    drawn: dict[str, Any]
    """Its last position."""


@pytest.fixture(scope="module")
def whole_match(supervised_server: SupervisedServer) -> WholeMatch:
    """The only whole match between real processes that is played by default."""
    server, game = supervised_server, Game("tic_tac_toe")
    server.wait_until_available()
    before = json.loads(fetch(server, "/healthz"))
    assert server.send(game.start("whole")).text == "ready"
    server.send("(PLAY whole NIL)")
    meanwhile, metrics = json.loads(fetch(server, "/healthz")), fetch(server, "/metrics").splitlines()
    server.play_out("whole", game)
    result = server.wait_for_log("whole: over after [0-9]+ turns")
    welcome = fetch(server, "/", "text/html"), fetch(server, "/")
    matches = json.loads(fetch(server, "/page/matches"))["matches"]
    key = next(match["key"] for match in matches if match["game"] == "whole")
    shown = json.loads(fetch(server, f"/page/matches/{key}"))
    drawn = json.loads(fetch(server, f"/page/matches/{key}/positions/{shown['plies']}"))
    goals = [game.machine.goal(game.state, role) for role in (0, 1)]
    return WholeMatch(goals, result, before, meanwhile, metrics, welcome, shown, drawn)


def test_whole_match_is_played(whole_match: WholeMatch, supervised_server: SupervisedServer) -> None:
    """From START to STOP every reply is legal; then the result is logged and the worker is free."""
    assert whole_match.result.endswith(f"goals {whole_match.goals}")
    supervised_server.wait_until_available()


def test_match_is_on_the_page(whole_match: WholeMatch) -> None:
    """A browser finds the match, the engine's opinions, each position, and at the end the goals."""
    for_browsers, for_managers = whole_match.welcome
    assert "<!doctype html>" in for_browsers
    assert "name" in for_managers
    shown = whole_match.shown
    assert shown["outcome"] == "finished"
    assert shown["goals"] == whole_match.goals
    first = shown["steps"][0]
    assert first["answers"]["0"] == shown["steps"][1]["moves"][0]
    assert first["thinking"]["0"]["engine"]
    assert first["thinking"]["0"]["candidates"]
    assert whole_match.drawn["known"]
    assert whole_match.drawn["svg"]


def test_turns_are_counted_in_both_pages(whole_match: WholeMatch) -> None:
    """After a turn, health and metrics show it, and its match."""
    before, meanwhile = whole_match.before, whole_match.meanwhile
    assert before["status"] == "ok"
    assert (meanwhile["turns"], meanwhile["matches"]) == (before["turns"] + 1, before["matches"] + 1)
    values = dict(line.rsplit(" ", 1) for line in whole_match.metrics if not line.startswith("#"))
    assert float(values["ggp_agent_turns_total"]) == meanwhile["turns"]
    assert float(values["ggp_agent_matches_running"]) == 1
    assert float(values['ggp_agent_memory_bytes{of="workers"}']) > 0
    assert float(values["ggp_agent_lateness_seconds_count"]) >= 1


@pytest.mark.e2e
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


@pytest.mark.e2e
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
    server.play_out("m", tic_tac_toe, last)


@pytest.mark.e2e
def test_manager_may_start_the_same_match_again(server: Server, tic_tac_toe: Game) -> None:
    """A START repeated in the middle, followed by the first PLAY, leads back to the first turn."""
    server.send(tic_tac_toe.start("m"))
    server.send("(PLAY m NIL)")
    server.send("(PLAY m ((mark 2 2) noop))")
    assert server.send(tic_tac_toe.start("m")).text == "ready"
    server.play_out("m", tic_tac_toe)


@pytest.mark.e2e
def test_managers_joint_move_is_the_truth(server: Server, tic_tac_toe: Game) -> None:
    """The match goes on from the move that the manager made for us, whatever we answered."""
    server.send(tic_tac_toe.start("m"))
    mine = server.send("(PLAY m NIL)").move
    other = next(move for move in tic_tac_toe.legal() if move != mine)
    assert server.send(f"(PLAY m {tic_tac_toe.advance(other, 'noop')})").text == "noop"
    server.play_out("m", tic_tac_toe, tic_tac_toe.advance("noop", mine))


@pytest.mark.e2e
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
    server.play_out("m", tic_tac_toe, tic_tac_toe.advance("noop", ("mark", "1", "1")))


@pytest.mark.e2e
def test_restarted_server_takes_matches_up_again(start_server: StartServer, tic_tac_toe: Game, tmp_path: Path) -> None:
    """After a crash, the next PLAY gets a legal move."""
    journal = tmp_path / "journal"
    server = start_server(journal=journal)
    server.send(tic_tac_toe.start("m"))
    mine = server.send("(PLAY m NIL)").move
    server.send(f"(PLAY m {tic_tac_toe.advance(mine, 'noop')})")
    server.kill()
    server = start_server(journal=journal)
    server.play_out("m", tic_tac_toe, tic_tac_toe.advance("noop", tic_tac_toe.legal(1)[0]))
    server.close()
    assert list(journal.iterdir()) == []


# From the fourth crash on, the time that a crash takes may be that of a turn missed between messages that come so fast.
@pytest.mark.parametrize("kills", [1, pytest.param(3, marks=pytest.mark.e2e)])
def test_killed_server_is_not_noticed_by_its_manager(
    tic_tac_toe: Game, supervised_server: SupervisedServer, kills: int
) -> None:
    """A server that crashes after its answer is restarted, and answers messages sent meanwhile."""
    server = supervised_server
    server.wait_until_available()
    server.forget_log()
    assert server.send(tic_tac_toe.start("m")).text == "ready"
    last = "NIL"
    while not tic_tac_toe.machine.terminal(tic_tac_toe.state):
        reply = server.send(f"(PLAY m {last})")
        assert reply.move in tic_tac_toe.legal(), server.log()
        last = tic_tac_toe.advance(reply.move, tic_tac_toe.legal(1)[-1])
        if kills:
            kills -= 1
            server.kill_server()
    assert server.send(f"(STOP m {last})").text == "done"
    server.wait_for_log("m: over after [0-9]+ turns, goals")


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("first", "second"), [("NIL", "((dealt ace))"), ("0 NIL NIL", "1 wait ((dealt ace))")], ids=["short", "long"]
)
def test_hidden_cards_are_reckoned_with(server: Server, first: str, second: str) -> None:
    """In both forms of GDL-II's messages, the match goes on from all states that fit the percepts."""
    assert server.send(f"(START m player ({CARDS}) 600 3)").text == "ready"
    assert server.send(f"(PLAY m {first})").text == "wait"
    assert server.send(f"(PLAY m {second})").text in ("bet", "fold")
    server.wait_for_log("m: turn 1: 2 states fit; moves that are legal in 100 % of them: 2")
    assert server.send("(STOP m NIL)").text == "done"


@pytest.mark.e2e
def test_turns_missed_during_an_outage_are_reckoned_with(
    start_server: StartServer, connect_four: Game, tmp_path: Path
) -> None:
    """After turns missed without a server, the move is legal in all states that may have been reached."""
    journal = tmp_path / "journal"
    server = start_server(journal=journal)
    server.send(connect_four.start("m", clocks="5 2"))
    mine = server.send("(PLAY m NIL)").move
    server.send(f"(PLAY m {connect_four.advance(mine, 'noop')})")
    mine = server.send(f"(PLAY m {connect_four.advance('noop', ('drop', '1'))})").move
    server.wait_for_log("m: turn 2: ")
    server.kill()
    connect_four.advance(mine, "noop")
    connect_four.advance("noop", ("drop", "2"))
    instead = next(move for move in connect_four.legal() if move != mine)
    last = connect_four.advance(instead, "noop")
    server = start_server(journal=journal)
    assert server.send(f"(PLAY m {last})").text == "noop"
    server.wait_for_log("m: turn 3: .*states fit")
    reply = server.send(f"(PLAY m {connect_four.advance('noop', ('drop', '3'))})")
    assert reply.move in connect_four.legal()
    server.wait_for_log("m: turn 4: .*states fit; moves that are legal in 100 % of them")
