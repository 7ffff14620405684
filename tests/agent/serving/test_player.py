"""Whole conversations with a real server: matches, wrong moves, restarts, lost processes.

`test_matches`, `test_match` and `test_interruptions` have the same, and much more, in virtual time.
"""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.agent.conftest import Game
from tests.processes import until

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
    """From START to STOP every reply is legal; then the result is logged and the place is free."""
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


EXPLODING = " ".join(
    [
        *(f"(digit {n})" for n in range(40)),
        "(<= (next (seen ?a ?b ?c ?d ?e)) (does x noop) (digit ?a) (digit ?b) (digit ?c) (digit ?d) (digit ?e))",
    ]
)
"""Rules that ground to 10^8 facts."""


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("rules", "role", "logged"),
    [
        ("", "nobody", "no role nobody, only x, o"),
        ("\n(<= (next (won ?x))\n (true (control x)))", "x", r"line 2, column 1: .*\?x"),
        ("\n\n(<= a (not b))\n(<= b (not a))", "x", "line [34], column 1: .*negation"),
    ],
)
def test_rules_without_a_meaning_are_refused(
    server: Server, tic_tac_toe: Game, rules: str, role: str, logged: str
) -> None:
    """An unknown role, unsafe and unstratified rules get `busy`, with the place in the log; a running match goes on."""
    assert server.send(tic_tac_toe.start("running")).text == "ready"
    server.wait_until_available()
    start = tic_tac_toe.start("bad", role, "600 600").replace(") 600 600)", f"{rules}) 600 600)")
    assert server.send(start).text == "busy"
    server.wait_for_log(f"ERROR bad: .*{logged}")
    assert server.send("(PLAY bad NIL)").text == "busy"
    assert server.send("(PLAY running NIL)").move in tic_tac_toe.legal()


@pytest.mark.e2e
def test_rules_that_do_not_ground_are_played_all_the_same(server: Server, tic_tac_toe: Game) -> None:
    """If grounding explodes, START is answered when its clock is over, and PLAY with a legal move."""
    start = tic_tac_toe.start("explosion", "o", clocks="1 600").replace(") 1 600)", f"{EXPLODING}) 1 600)")
    assert server.send(start).text == "ready"
    server.wait_for_log("explosion: not ready within the start clock")
    assert server.send("(PLAY explosion NIL)").move in tic_tac_toe.legal(1)


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("kind", ["reference", "search"])
def test_process_lost_during_a_turn(server: Server, tic_tac_toe: Game, kind: str, number: signal.Signals) -> None:
    """A process that dies or hangs is replaced; this turn and all later ones are answered meanwhile."""
    server.send(tic_tac_toe.start("m"))
    lost = server.process_of("m", kind)
    server.wait_for_spare()
    mine = server.send("(PLAY m NIL)").move
    last = tic_tac_toe.advance(mine, "noop")
    # Stopped first, so that it does not report before it is killed.
    os.kill(lost, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as threads:
        reply = threads.submit(server.send, f"(PLAY m {last})")
        os.kill(lost, number)
        assert reply.result().text == "noop"
    until(lambda: server.process_of("m", kind) != lost, server.log, 0.05)
    server.play_out("m", tic_tac_toe, tic_tac_toe.advance("noop", tic_tac_toe.legal(1)[0]))
