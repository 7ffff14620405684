"""Data of matches: opinions, versions, bounds, records, and another agent's thoughts."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.record import match as matches
from agent.record.thinking import FEWEST, MOST_SAMPLES, Thinking
from agent.search.engine import Candidate, Opinion, Score
from agent.web import feed as feeds
from agent.web import gallery as galleries
from agent.web import records as record_files
from agent.web import transcript as transcripts
from agent.web.feed import MOST_MESSAGE, Feed
from agent.web.gallery import Gallery
from agent.web.records import (
    HEAD_BYTES,
    Records,
    read_bytes,
    read_record,
    read_summary,
    record_key,
    save_record,
    write_record,
)
from agent.web.transcript import Transcript
from protocol.scramble import make_scrambler
from protocol.terms import footprint
from tests.loop_work import LoopWork
from tests.processes import PATIENCE

from .conftest import served

GO, STAY = ("go", "1"), ("stay",)


def opinion(value: float, nodes: int = 0, *, proven: bool = False) -> Opinion:
    """Returns an opinion with made-up details."""
    score = Score(value, proven)
    candidates = Candidate(GO, score, 7), Candidate(STAY, Score(1.0), 2)
    return Opinion(GO, score, proven, {"nodes": nodes}, candidates, (GO, STAY))


def new_transcript(key: str = "key", game: str = "game") -> Transcript:
    """Returns a new match."""
    return Transcript(game, game, ("a", "b"), ("agent", ""), 1, 1, bounded=True, key=key)


def test_rate_and_spread_follow_from_the_reports() -> None:
    """Counts make a rate, the values of the second half of the time a spread; a proof leaves none."""
    thinking = Thinking("engine")
    for second, (value, nodes) in enumerate(((10.0, 1000), (90.0, 2000), (40.0, 3000), (60.0, 4000))):
        thinking.add(opinion(value, nodes), "engine", "", float(second))
    assert thinking.rate == 1000.0
    assert thinking.spread == (40.0, 60.0)
    thinking.add(opinion(100.0, 4000, proven=True), "engine", "", 3.0)
    assert thinking.spread is None
    thinking.add(opinion(99.0, FEWEST - 1), "another", "", 3.5)
    assert thinking.spread is None
    thinking.add(opinion(5.0, 50), "another", "", 3.6)
    assert thinking.rate is not None
    assert thinking.spread == (5.0, 5.0)


def test_samples_are_bounded() -> None:
    """Of many reports, only some values are kept."""
    thinking = Thinking("engine")
    for number in range(10 * MOST_SAMPLES):
        thinking.add(opinion(50.0), "engine", "", float(number))
    assert len(thinking.samples) <= MOST_SAMPLES


def test_candidates_stay_until_there_are_newer_ones() -> None:
    """Not all opinions have them."""
    thinking = Thinking("engine")
    thinking.add(opinion(50.0), "engine", "", 0.0)
    thinking.add(Opinion(STAY, Score(51.0)), "engine", "", 0.1)
    assert thinking.opinion is not None
    assert thinking.opinion.move == STAY
    assert len(thinking.opinion.candidates) == 2


@pytest.mark.parametrize("plies", [None, 5])
def test_thinking_survives_json(plies: int | None) -> None:
    """Thoughts are read as they were written, with the plies of a proven win."""
    thinking = Thinking("engine", "because")
    thinking.add(opinion(42.0, 100), "engine", "because", 1.0)
    if plies:
        thinking.add(Opinion(GO, Score(100.0, proven=True, plies=plies), final=True), "engine", "because", 2.0)
    data = json.loads(json.dumps(thinking.as_json()))
    assert (data["proven"], data["plies"], data["final"]) == (bool(plies), plies, bool(plies))
    read = Thinking.from_json(data)
    assert (read.as_json(), read.opinion) == (data, thinking.opinion)


@pytest.mark.parametrize(
    ("name", "junk"),
    [
        ("move", 3),
        ("move", "(("),
        ("value", "much"),
        ("plies", "soon"),
        ("info", 7),
        ("candidates", [{"move": "go"}]),
        ("line", [5]),
        ("spread", ["low", "high"]),
        ("rate", 2.5),
        ("seconds", "long"),
    ],
)
def test_other_thinking_is_refused(name: str, junk: object) -> None:
    """Records are files, and other agents' thoughts come over the network: each field may hold anything, or lack."""
    data = thought().as_json()
    assert data is not None
    with pytest.raises((KeyError, TypeError, ValueError)):
        Thinking.from_json({**data, name: junk})
    del data[name]
    if name != "plies":
        with pytest.raises(KeyError):
            Thinking.from_json(data)


def test_thinking_of_release_0_1_is_read() -> None:
    """It had one field for both proven and final, and no plies."""
    thinking = Thinking("engine", "because")
    thinking.add(opinion(100.0, 100, proven=True), "engine", "because", 1.0)
    data = thinking.as_json()
    assert data is not None
    for one in (data, *data["candidates"]):
        del one["plies"]
    del data["final"]
    assert Thinking.from_json(data).opinion == thinking.opinion


def test_facts_have_bounded_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a match has too many of them, the moves are still kept; taking back does not confuse the rest."""
    monkeypatch.setattr(matches, "MOST_FACTS", 5)
    transcript = new_transcript()
    for number in range(4):
        transcript.reach(frozenset(("f", str(number), str(one)) for one in range(2)))
        transcript.move((GO, STAY))
    assert [position.facts is not None for position in transcript.positions] == [True, True, False, False, False]
    assert transcript.view()["steps"][3]["moves"] == ["(go 1)", "(stay)"]


def test_view_has_what_changed_since() -> None:
    """Positions carry the version of their last change."""
    transcript = new_transcript()
    transcript.move((GO, STAY))
    version = transcript.version
    transcript.think(0, opinion(50.0), "engine", "")
    view = transcript.view(version)
    assert [step["ply"] for step in view["steps"]] == [1]
    assert transcript.view(view["version"])["steps"] == []
    transcript.take_back(0)
    assert [step["ply"] for step in transcript.view(view["version"])["steps"]] == [0]


def test_finished_matches_have_bounded_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of finished matches with large rules or many moves, as many of the newest stay as there is room for."""
    monkeypatch.setattr(transcripts, "POSITION_BYTES", 0)
    monkeypatch.setattr(galleries, "MOST_KEPT_BYTES", 1_000_000)
    gallery = Gallery()
    for number in range(6):
        rules = tuple(("fact", str(number), str(one)) for one in range(1000 if number % 2 else 1))
        transcript = Transcript("m", "m", ("r",), ("",), 1, 1, key=str(number), told=footprint(rules))
        gallery.add(transcript)
        for move in range(1 if number % 2 else 1000):
            transcript.move((("go", str(move)),))
        transcript.end("aborted")
    gallery.add(new_transcript())
    assert [transcript.key for transcript in gallery.transcripts[1:]] == ["5", "4", "3"]


def test_gallery_keeps_the_last_finished_matches() -> None:
    """Running matches stay, of the others only the newest; keys are unique."""
    gallery = Gallery(kept=2)
    running = new_transcript(gallery.new_key("m"))
    gallery.add(running)
    over = [new_transcript(gallery.new_key("m")) for _ in range(4)]
    for transcript in over:
        gallery.add(transcript)
        transcript.end("finished", [100, 0])
    gallery.add(last := new_transcript(gallery.new_key("m")))
    assert gallery.transcripts == [last, over[3], over[2], running]
    assert len({transcript.key for transcript in (*over, running, last)}) == 6


@pytest.mark.parametrize("limit", ["MOST_KEPT", "MOST_BYTES_KEPT"])
def test_newest_records_are_kept(limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go, by number or size; a user's own files and the newest record stay. Only the user may read them."""
    gallery, folder, saved = Gallery(), tmp_path / "records", []
    for number in range(4):
        match = new_transcript(gallery.new_key("m"))
        match.reach(frozenset([GO]))
        match.end("finished", [1, 0])
        path = save_record(folder, match)
        assert path is not None
        os.utime(path, (number, number))
        saved.append(path)
    assert {path.stat().st_mode & 0o777 for path in saved} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    size = saved[0].stat().st_size
    (folder / "mine.json").write_text("{}")
    os.utime(folder / "mine.json", (0, 0))
    monkeypatch.setattr(record_files, limit, 2 if limit == "MOST_KEPT" else 2 * size + size // 2)
    assert save_record(folder, match) == saved[3]
    assert {path.name for path in folder.iterdir()} == {"mine.json", saved[2].name, saved[3].name}
    monkeypatch.setattr(record_files, limit, 0)
    save_record(folder, match)
    assert {path.name for path in folder.iterdir()} == {"mine.json", saved[3].name}


async def test_records_are_read_and_junk_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A record has positions, moves, times, thoughts and errors; other files are named in the log."""
    good = {
        "game": "g",
        "match_id": "m",
        "roles": ["a"],
        "players": ["agent"],
        "start_clock": 1,
        "play_clock": 2,
        "outcome": "finished",
        "goals": [None],
        "errors": [{"role": "a", "step": 1, "request": "play", "kind": "late", "detail": "x"}],
        "moves": [["(go 1)"]],
        "states": [["(f 1)"], ["(f 2)", "g"]],
        "seconds": [[0.5]],
        "thoughts": [{"0": thought().as_json()}, {}],
    }
    # Editors of other systems write a byte order mark.
    (tmp_path / "good.json").write_text(json.dumps(good), encoding="utf-8-sig")
    junk = ["", "{}", "[", "[" * 100_000, json.dumps({**good, "states": []}), json.dumps({**good, "moves": [["(("]]})]
    junk += [json.dumps({**good, "goals": ["!"]}).replace('"!"', number) for number in ("1e999", "NaN")]
    junk += [json.dumps({**good, "start_clock": clock}) for clock in (10**400, "1e999", "nan", "1" + " " * 5000 + "2")]
    junk += [json.dumps({**good, "thoughts": [{role: thought().as_json()}]}) for role in ("1", "-1")]
    for number, text in enumerate(junk):
        (tmp_path / f"junk{number}.json").write_text(text)
    records = Records([tmp_path])
    (summary,) = await records.summaries(in_this_process)
    assert summary["game"] == "g"
    assert summary["plies"] == 1
    assert caplog.text.count("is no record of a match") == len(junk)
    assert await records.summaries(in_this_process) == [summary]
    assert caplog.text.count("is no record of a match") == len(junk)
    assert max(map(len, caplog.text.splitlines())) < 1000
    version = await records.find(in_this_process, summary["key"])
    assert version is not None
    view = read_record(version).view()
    assert view["steps"][1]["moves"] == ["(go 1)"]
    assert view["steps"][0]["thinking"][0]["value"] == 42.0
    assert view["errors"][0]["kind"] == "late"
    assert await records.find(in_this_process, "other") is None
    assert read_record(version).positions[1].facts == frozenset([("f", "2"), "g"])
    (tmp_path / "good.json").unlink()
    assert await records.find(in_this_process, summary["key"]) is None
    assert await records.summaries(in_this_process) == []


@pytest.mark.parametrize("own", [True, False])
def test_head_of_a_large_record_tells_its_summary(own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the match: no more of the file is read. In a record of another program, parts may come in another
    order: it is read whole."""
    match = new_transcript()
    match.bounded = False
    for number in range(100):
        match.reach(frozenset(("f", str(number), str(x)) for x in range(200)))
        match.move((GO, STAY))
    match.end("finished", [100, 0])
    record = match.as_json()
    path = tmp_path / "record.json"
    write_record(path, record if own else dict(reversed(record.items())))
    version = path, 0, path.stat().st_size
    read = list[int]()

    def counting(path: Path, most: int) -> bytes:
        read.append(most)
        return read_bytes(path, most)

    monkeypatch.setattr(record_files, "read_bytes", counting)
    summary = read_summary(version)
    assert summary == {**match.summary(), "key": record_key(path, "game"), "own": [], "players": ["agent", ""]}
    assert summary["plies"] == 100
    assert read == [HEAD_BYTES, version[2]][: 1 if own else 2]
    assert version[2] > 3 * HEAD_BYTES


async def test_files_that_are_no_files_are_never_opened(tmp_path: Path) -> None:
    """Nobody writes into a pipe, and a device never ends: reading them would not, either."""
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    (tmp_path / "folder.json").mkdir()
    records = Records([tmp_path, tmp_path / "pipe.json"])
    assert await records.summaries(in_this_process) == []
    for name in ("pipe", "zero", "folder"):
        with pytest.raises(OSError, match=r"regular file|Is a directory"):
            read_bytes(tmp_path / f"{name}.json", 10)


def test_summary_of_more_than_an_overview_can_hold_is_refused(tmp_path: Path) -> None:
    """Roles may be as long as strangers like."""
    match = new_transcript()
    match.roles = ("a" * HEAD_BYTES, "b")
    match.end("aborted")
    path = tmp_path / "record.json"
    write_record(path, match.as_json())
    with pytest.raises(ValueError, match="too much to be listed"):
        read_summary((path, 0, path.stat().st_size))


async def in_this_process(function: Callable[..., Any], *arguments: object) -> Any:
    """Calls what the page has called in a child."""
    return function(*arguments)


def thought() -> Thinking:
    """Returns thoughts on a position."""
    thinking = Thinking("engine")
    thinking.add(opinion(42.0, 100), "engine", "", 1.0)
    return thinking


async def test_feed_takes_over_what_a_scrambled_player_thinks() -> None:
    """While somebody watches, another agent's thoughts are shown in the referee's words, at the right ply.

    It may be asked before it knows of the match.
    """

    class Late(Gallery):
        asked = 0

        @property
        def transcripts(self) -> list[Transcript]:
            self.asked += 1
            return super().transcripts if self.asked > 1 else []

    scrambler = make_scrambler("ggp-base", 5)
    theirs, ours = Late(), Gallery()
    remote = new_transcript(theirs.new_key("match.1.2"), "match.1.2")
    theirs.add(remote)
    shown = new_transcript(ours.new_key("match.1"), "match.1")
    ours.add(shown)
    for _ in range(3):
        shown.move((GO, STAY))
    hidden = Opinion(scrambler.scramble(GO), Score(70.0), line=(scrambler.scramble(STAY),))
    assert hidden.move != GO
    async with served(theirs) as address:
        feed = Feed(address.rstrip("/"), "", 1, shown, ours, scrambler.unscramble)
        feed.follow("match.1.2", 2)
        following = asyncio.create_task(feed.run())
        remote.think(0, hidden, "engine", "")
        with ours.watching(None) as changed:
            while 1 not in shown.positions[2].thinking:
                await changed.wait()
                changed.clear()
            taken = shown.positions[2].thinking[1].opinion
            assert taken is not None
            assert (taken.move, taken.score.goal, taken.line) == (GO, 70.0, (STAY,))
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        remote.move((GO, STAY))
        remote.think(0, hidden, "engine", "")
        await feed.take_all()
        assert 1 in shown.positions[3].thinking
    await feed.take_all()


@pytest.mark.parametrize("size", [2 << 20, 1 << 30])
async def test_feed_of_anybody_is_read_beside_the_event_loop(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much another agent's page tells: beyond a bound nothing is taken, or kept."""
    monkeypatch.setattr(feeds, "ALL_SECONDS", PATIENCE)
    steps = b",".join([json.dumps({"ply": 0, "thinking": {"0": thought().as_json()}}).encode()] * 100)
    sent = 0

    async def tell(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        if request.path.endswith("matches"):
            return web.json_response({"matches": [{"game": "match.1", "key": "k"}]})
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"game": "match.1", "outcome": "running", "steps": [')
        while sent < size:
            sent += len(steps) + 1
            await response.write(steps + (b"," if sent < size else b"]}"))
            await asyncio.sleep(0)
        return response

    app = web.Application()
    app.router.add_get("/{path:.*}", tell)
    gallery = Gallery()
    shown = new_transcript(gallery.new_key("match.1"), "match.1")
    work = LoopWork()
    async with TestServer(app) as server:
        feed = Feed(str(server.make_url("")).rstrip("/"), "", 1, shown, gallery, lambda term: term)
        feed.follow("match.1", 0)
        with work.counted(monkeypatch):
            await feed.take_all()
    assert bool(shown.positions[0].thinking) == (size < MOST_MESSAGE)
    assert sent < 100 << 20
    assert work.most < 20_000, f"{work.most:,}, most of it in {work.where}"
