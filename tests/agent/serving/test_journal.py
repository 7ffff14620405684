"""The journal of running matches."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from agent.serving import journal
from agent.serving.journal import Journal
from agent.worker.messages import Unseen
from protocol.messages import Start

START = Start("a/b.1", "x", (("role", "x"), ("<=", "terminal", ("true", ("f", "?X")))), 30, 15)


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits for the disk, however slow it is."""
    monkeypatch.setattr(journal, "PATIENCE", 120.0)


async def test_unfinished_match_is_found_again(tmp_path: Path) -> None:
    """A match comes back with its START and everything received since."""
    match = Journal(tmp_path).match(START.match_id)
    await match.start(START)
    await match.received((("mark", "1", "1"), "noop"))
    await match.received(Unseen(None))
    match.close()
    (path,) = tmp_path.iterdir()
    (found,) = Journal(tmp_path).unfinished(path.stat().st_mtime + 7.0)
    assert found.start == START
    assert found.history == ((("mark", "1", "1"), "noop"), Unseen(None))
    assert found.age == pytest.approx(7.0)


async def test_unfinished_match_goes_on_in_the_same_file(tmp_path: Path) -> None:
    """What is received after a restart is added to what was there."""
    match = Journal(tmp_path).match(START.match_id)
    await match.start(START)
    match.close()
    (found,) = Journal(tmp_path).unfinished(time.time())
    await found.journal.received(("left",))
    found.journal.close()
    (again,) = Journal(tmp_path).unfinished(time.time())
    assert again.history == (("left",),)


async def test_match_that_is_taken_up_again_knows_of_wrong_circuits(tmp_path: Path) -> None:
    """How many circuits were wrong is kept between the turns, and where the match begins from its first turn again."""
    match = Journal(tmp_path).match(START.match_id)
    await match.start(START)
    await match.received(("left",))
    await match.distrusted(1)
    await match.received(("right",))
    match.close()
    (found,) = Journal(tmp_path).unfinished(time.time())
    assert (found.history, found.distrust) == ((("left",), ("right",)), 1)
    await found.journal.distrusted(2)
    await found.journal.start(START, 2)
    found.journal.close()
    (again,) = Journal(tmp_path).unfinished(time.time())
    assert (again.history, again.distrust) == ((), 2)


async def test_finished_match_leaves_nothing(tmp_path: Path) -> None:
    """A match that is over is not taken up again."""
    match = Journal(tmp_path).match(START.match_id)
    await match.start(START)
    match.remove()
    assert list(tmp_path.iterdir()) == []


async def test_half_written_line_is_ignored(tmp_path: Path) -> None:
    """A line that the server did not finish writing was not yet acted on."""
    match = Journal(tmp_path).match(START.match_id)
    await match.start(START)
    match.close()
    (path,) = tmp_path.iterdir()
    with open(path, "a") as file:
        file.write('{"moves": ["le')
    (found,) = Journal(tmp_path).unfinished(time.time())
    assert found.history == ()


async def test_unreadable_file_does_not_hide_the_others(tmp_path: Path) -> None:
    """A damaged file costs its own match only."""
    folder = Journal(tmp_path)
    match = folder.match(START.match_id)
    await match.start(START)
    match.close()
    (path,) = tmp_path.iterdir()
    path.with_name("0" + path.name).write_bytes(b"\xff{}\n")
    assert [found.start for found in folder.unfinished(time.time())] == [START]


async def test_failing_disk_does_not_stop_a_match(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What cannot be written is reported, and the match goes on."""
    match = Journal(tmp_path).match(START.match_id)
    tmp_path.rmdir()
    await match.start(START)
    assert "cannot write" in caplog.text


async def test_slow_disk_does_not_stop_a_match(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes long to be written is reported, and written by and by while the match goes on."""
    monkeypatch.setattr(journal, "PATIENCE", 0.01)
    match = Journal(tmp_path).match(START.match_id)
    write, ready = match._write, threading.Event()

    def write_late(text: str) -> None:
        assert ready.wait(120)
        write(text)

    monkeypatch.setattr(match, "_write", write_late)
    await match.start(START)
    assert "to be written" in caplog.text
    ready.set()
    await asyncio.gather(*match._writing)
    match.close()
    (found,) = Journal(tmp_path).unfinished(time.time())
    assert found.start == START
