"""A match that is opened again has the board, the pieces, the colours and the thoughts that it had."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent.lab.tournament.logged import read_tournament
from agent.lab.tournament.results import Pairing, Settings, result_of
from agent.record.match import MatchRecord
from agent.refereeing.hosting import Hosting
from agent.refereeing.referee import MatchWatcher
from agent.search.engine import Opinion, Score
from agent.sheet import load
from agent.web import drawing
from agent.web.gallery import Gallery
from agent.web.page import Page
from agent.web.pictures import Pictures
from agent.web.records import Version, write_record
from agent.web.transcript import Transcript
from games import rulesheets
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from protocol.kif import read_rulesheet
from tests.matches import own_interpreter, random_match

GAMES = ("breakthrough", "connect_four", "reversi", "reversi_holes", "three_way_line", "tic_tac_toe")

SETTINGS = Settings(seed=3, opening_plies=1, start_clock=30, play_clock=5, scramble="none", cores=1)


@pytest_asyncio.fixture
async def pictures() -> AsyncIterator[Pictures]:
    """Pictures, closed in the end."""
    pictures = Pictures()
    yield pictures
    pictures.close()


def version_of(path: Path) -> Version:
    """The file as it is."""
    return path, path.stat().st_mtime_ns, path.stat().st_size


async def drawn(pictures: Pictures, match: Transcript) -> list[dict[str, Any]]:
    """The first positions of a match, some in the middle, and the last."""
    plies = sorted({0, 1, 2, match.plies // 2, match.plies})
    return [await pictures.draw(match, ply) for ply in plies if ply <= match.plies]


@pytest.mark.parametrize("game", GAMES)
async def test_record_of_a_watched_match_is_drawn_alike(game: str, pictures: Pictures, tmp_path: Path) -> None:
    """What `match --record` writes, in the page of `replay`."""
    rules = read_rulesheet(rulesheets.text(game))
    machine = Interpreter(check(rules))
    players = ("random", "legal", "random")[: len(machine.roles)]
    live = Transcript(game, f"match.{game}", machine.roles, players, 30, 5, seed=2, rules=rules, key="live")
    hosting = Hosting(machine, (), live, MatchWatcher())
    await hosting.run()
    assert live.outcome == "finished"
    before = await drawn(pictures, live)
    write_record(tmp_path / "record.json", live.as_json())
    version = version_of(tmp_path / "record.json")
    assert [await pictures.draw_record(version, position["ply"]) for position in before] == before
    assert all(position["known"] for position in before)
    again = json.loads(drawing.view(version, {}))
    assert again["steps"][1:] == [{**step, "legal": {}} for step in live.view()["steps"][1:]]


@pytest.mark.parametrize("plies", [2, 1000])
@pytest.mark.parametrize("game", GAMES)
async def test_record_of_a_server_is_drawn_alike(game: str, plies: int, pictures: Pictures, tmp_path: Path) -> None:
    """Those of `serve --records`; also of a match that was given up soon."""
    machine = own_interpreter(game)
    rules = read_rulesheet(rulesheets.text(game))
    gallery = Gallery()
    page = Page(gallery, everyone_allowed=False, records=tmp_path)
    players = ("this agent", *("" for _ in machine.roles[1:]))
    live = Transcript("m", "m", machine.roles, players, 30, 5, rules=rules, bounded=True, key=gallery.new_key("m"))
    gallery.add(live)
    live.reach(machine.facts(machine.initial()))
    before = [await pictures.draw(live, 0)]
    for number, (_, moves, state) in enumerate(random_match(machine, random.Random(1)), 1):
        if number > plies:
            break
        live.move(moves)
        live.reach(machine.facts(state))
        # As an open page asks, after each move.
        before.append(await pictures.draw(live, number))
    live.end("aborted")
    await page.close(None)  # type: ignore[arg-type]
    (path,) = tmp_path.iterdir()
    assert [await pictures.draw_record(version_of(path), ply) for ply in range(len(before))] == before


@pytest.mark.parametrize("game", GAMES)
async def test_match_of_a_tournament_is_drawn_alike(game: str, pictures: Pictures, tmp_path: Path) -> None:
    """From its log, in which the rules stand once."""
    sheet = load(game)
    machine = Interpreter(sheet.checked)
    seats = tuple("abc"[: len(machine.roles)])
    live = Transcript(game, "m", machine.roles, seats, 30, 5, rules=sheet.rulesheet, opening_plies=1, key="live")
    live.reach(machine.facts(machine.initial()))
    for _, moves, state in random_match(machine, random.Random(1)):
        live.move(moves)
        live.reach(machine.facts(state))
    live.end("finished", [machine.goal(state, role) or 0 for role in range(len(machine.roles))])
    result = result_of(Pairing(game, 1, seats), sheet, list(range(len(seats))), [], live, 1.0, None, [])
    line = {**SETTINGS.as_json(), **asdict(result), "specs": ["random"] * len(seats), "rulesheet": sheet.source}
    (tmp_path / "log.jsonl").write_text(json.dumps(line) + "\n")
    tournament = read_tournament(tmp_path / "log.jsonl")
    assert tournament is not None
    again = tournament.find(tournament.matches(None, None)["matches"][0]["key"])
    assert again is not None
    assert (again.goals, again.players, again.outcome) == (live.goals, live.players, live.outcome)
    assert await drawn(pictures, again) == await drawn(pictures, live)


def test_record_keeps_what_is_not_known() -> None:
    """Moves that were missed, positions in doubt or unknown, thoughts, and answers that were not played are there
    again; the record says when the match began."""
    match = MatchRecord("g", "m", ("x", ("player", "o")), ("", "this agent"), 30, 5, rules=(("role", "x"),), began=17.5)
    match.reach(frozenset([("f", '"a b"'), "50%"]))
    match.think(1, Opinion(("say", '"a (b"'), Score(60.0)), "engine", "")
    match.answer(1, "left")
    match.move(("go", "right"))
    match.answer(1, "right")
    match.move(None, missed=2)
    match.reach(frozenset(["f"]), states=7)
    match.answer(1, "left")
    again = MatchRecord.from_json(json.loads(json.dumps(match.as_json())))
    assert [one.facts for one in again.positions] == [one.facts for one in match.positions]
    assert [one.moves for one in again.positions] == [None, ("go", "right"), None]
    assert [(one.turn, one.states) for one in again.positions] == [(0, 1), (1, 1), (4, 7)]
    assert [one.answers for one in again.positions] == [{1: "left"}, {1: "right"}, {1: "left"}]
    opinion = again.positions[0].thinking[1].opinion
    assert opinion is not None
    assert opinion.move == ("say", '"a (b"')
    assert (again.roles, again.rules, again.outcome, again.began) == (match.roles, match.rules, "aborted", 17.5)


def test_answer_that_was_played_is_written_once() -> None:
    """A record is larger than its moves and states by thoughts and rules alone."""
    match = MatchRecord("g", "m", ("x",), ("",), 30, 5)
    match.answer(0, "left")
    match.move(("left",))
    assert "answers" not in match.as_json()
