"""The journal of running matches."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from agent import json_lines
from agent.playing.messages import Checkpoint, Judged, Unseen
from agent.serving import moments
from agent.serving.journal import Journal, MatchJournal, UnfinishedMatch
from agent.serving.moments import Moment
from protocol.messages import Start

START = Start("a/b.1", "x", (("role", "x"), ("<=", "terminal", ("true", ("f", "?X")))), 30, 15)


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits for the disk, however slow it is."""
    monkeypatch.setattr(json_lines, "PATIENCE", 120.0)


async def begun(folder: Path, *moves: str) -> MatchJournal:
    """Begins the journal of a match, with one move a turn."""
    match = Journal(folder).match(START.match_id)
    await match.start(START)
    for number, move in enumerate(moves, 1):
        await match.received((move,), number)
    return match


def left(folder: Path) -> UnfinishedMatch:
    """Returns the only unfinished match."""
    (found,) = Journal(folder).unfinished(Moment.present())
    return found


async def test_unfinished_match_is_found_again(tmp_path: Path) -> None:
    """A match comes back with its START and everything received since."""
    match = Journal(tmp_path).match(START.match_id)
    start = replace(START, listed=frozenset(("left", "right")))
    await match.start(start)
    await match.received((("mark", "1", "1"), "noop"), 1)
    await match.received(Unseen(None), 2)
    await match.received(Unseen("noop", (("saw", "x"),)), 3)
    await match.received(Judged(("left", "right"), "left", True), 4)
    await match.received(Unseen("noop", missed=7), 12)
    await match.reached(Checkpoint(12, b'[[1.0, ["done"]]]'))
    match.close()
    found = left(tmp_path)
    assert (found.start, found.start.listed) == (START, start.listed)
    doubtful = Unseen(None), Unseen("noop", (("saw", "x"),)), Judged(("left", "right"), "left", True)
    assert found.history == ((("mark", "1", "1"), "noop"), *doubtful, Unseen("noop", missed=7))
    assert found.checkpoint.turn == 12


async def test_nobody_else_may_read_the_journal(tmp_path: Path) -> None:
    """Neither the folder, if it is made, nor the files."""
    match = Journal(tmp_path / "journal").match(START.match_id)
    await match.start(START)
    match.close()
    (path,) = (tmp_path / "journal").iterdir()
    assert [one.stat().st_mode & 0o777 for one in (path.parent, path)] == [0o700, 0o600]


async def test_quoted_strings_come_back_as_they_were(tmp_path: Path) -> None:
    """Managers that write infix syntax may send atoms with spaces, parentheses, semicolons and percent signs."""
    said = ("say", '"a (b) c; 50%28"')
    start = replace(START, role='"the x"', rules=(*START.rules, ("legal", '"the x"', said)))
    match = Journal(tmp_path).match(START.match_id)
    await match.start(start)
    await match.received((said, "50%"), 1)
    await match.answered(said, 1)
    match.close()
    found = left(tmp_path)
    assert (found.start, found.history, found.answered) == (start, ((said, "50%"),), said)


async def test_match_that_is_taken_up_again_knows_of_wrong_circuits(tmp_path: Path) -> None:
    """The number of wrong circuits is kept, also when the match begins again."""
    match = await begun(tmp_path, "left")
    await match.distrusted(1)
    await match.received(("right",), 2)
    match.close()
    found = left(tmp_path)
    assert (found.history, found.distrust) == ((("left",), ("right",)), 1)
    await found.journal.distrusted(2)
    await found.journal.start(START, 2)
    found.journal.close()
    again = left(tmp_path)
    assert (again.history, again.distrust) == ((), 2)


async def test_half_written_line_is_ignored(tmp_path: Path) -> None:
    """An unfinished line was not acted on yet."""
    match = await begun(tmp_path)
    match.close()
    (path,) = tmp_path.iterdir()
    with open(path, "a") as file:
        file.write('{"moves": ["le')
    found = left(tmp_path)
    assert found.history == ()
    await found.journal.received(("left",), 1)
    found.journal.close()
    again = left(tmp_path)
    assert again.history == (("left",),)


async def test_rubbish_in_the_middle_costs_no_turn(tmp_path: Path) -> None:
    """Foreign bytes in a running match's file do not spoil the other lines."""
    match = await begun(tmp_path)
    (path,) = tmp_path.iterdir()
    with open(path, "ab") as file:
        file.write(b'\xff\0{"moves": ["le')
    await match.received(("left",), 1)
    match.close()
    found = left(tmp_path)
    assert found.history == (("left",),)


@pytest.mark.parametrize("restarted", [False, True])
async def test_file_that_disappears_is_written_anew(tmp_path: Path, restarted: bool) -> None:
    """Removing the folder of a running match costs nothing, also after a restart."""
    folder = tmp_path / "journal"
    match = await begun(folder, "left")
    if restarted:
        match.close()
        found = left(folder)
        match = found.journal
        await match.received(("up",), 2)
    shutil.rmtree(folder)
    await match.received(("right",), 3 if restarted else 2)
    match.close()
    found = left(folder)
    assert found.start == START
    assert found.history == ((("left",), ("up",), ("right",)) if restarted else (("left",), ("right",)))


async def test_folder_that_comes_back_has_all_turns(tmp_path: Path) -> None:
    """While a file stands in place of the folder, the journal is still written, and found when the folder is back."""
    folder, aside = tmp_path / "journal", tmp_path / "aside"
    match = await begun(folder)
    folder.rename(aside)
    folder.touch()
    await match.received(("left",), 1)
    folder.unlink()
    aside.rename(folder)
    found = left(folder)
    assert found.history == (("left",),)
    await match.received(("right",), 2)
    match.close()
    found = left(folder)
    assert found.history == (("left",), ("right",))


async def test_match_that_begins_again_forgets_its_turns_where_the_old_file_comes_back(tmp_path: Path) -> None:
    """A file that could not be removed when the match began again is continued, but its former lines do not count."""
    folder, aside = tmp_path / "journal", tmp_path / "aside"
    match = await begun(folder, "left", "up")
    folder.rename(aside)
    folder.touch()
    await match.start(START)
    folder.unlink()
    aside.rename(folder)
    await match.received(("right",), 1)
    match.close()
    found = left(folder)
    assert found.history == (("right",),)


async def test_full_disk_costs_nothing_once_there_is_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Lines that were written in part or not at all are written later."""
    match = await begun(tmp_path)
    whole, room = os.write, 10

    def write(descriptor: int, data: bytes) -> int:
        nonlocal room
        if not room:
            raise OSError(errno.ENOSPC, "no space left")
        written = whole(descriptor, data[:room])
        room -= written
        return written

    with monkeypatch.context() as full:
        full.setattr(os, "write", write)
        await match.received(("left",), 1)
        await match.received(("right",), 2)
    assert "no space left" in caplog.text
    await match.received(("up",), 3)
    match.close()
    found = left(tmp_path)
    assert found.history == (("left",), ("right",), ("up",))


async def test_line_that_was_written_twice_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line whose sync failed is written again."""
    match = await begun(tmp_path)

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, "input/output error")

    with monkeypatch.context() as failing:
        failing.setattr(os, "fsync", fail)
        await match.received(("left",), 1)
    await match.received(("right",), 2)
    match.close()
    found = left(tmp_path)
    assert found.history == (("left",), ("right",))


async def test_joint_move_is_on_the_disk_before_it_is_acted_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a restarted match needs is synced line by line; what only saves it time is not waited for."""
    match = Journal(tmp_path).match(START.match_id)
    whole, synced = os.fsync, []

    def sync(descriptor: int) -> None:
        (path,) = tmp_path.iterdir()
        assert os.path.samestat(os.fstat(descriptor), path.stat())
        synced.append(json.loads(path.read_text().splitlines()[-1]))
        whole(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    await match.start(START)
    assert [line["match"] for line in synced] == ["a/b.1"]
    await match.received(("left",), 1)
    assert [line["moves"] for line in synced[1:]] == [["left"]]
    await match.distrusted(1)
    assert [line["distrust"] for line in synced[2:]] == [1]
    await match.answered("left", 1)
    await match.reached(Checkpoint(1, b'[[1.0, ["over"]]]'))
    assert len(synced) == 3
    match.close()


async def test_last_state_and_answer_are_found_again(tmp_path: Path) -> None:
    """A restarted match begins from the last state; an answer counts for its own turn only."""
    match = await begun(tmp_path)
    await match.answered("left", 0)
    found = left(tmp_path)
    assert (found.answered, found.checkpoint) == ("left", Checkpoint())
    await match.received(("left",), 1)
    state = Checkpoint(1, b'[[0.5,[["cell",["at","1"],"b"],"over"]],[0.5,[]]]', ("up",))
    await match.reached(state)
    found = left(tmp_path)
    assert (found.answered, found.checkpoint) == (None, state)
    match.close()


@pytest.mark.parametrize(("before", "after", "silence"), [("a", "a", 0.5), ("a", "b", 9.0), (None, None, 9.0)])
async def test_time_since_the_last_message_is_known_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str | None, after: str | None, silence: float
) -> None:
    """The time of day measures it only where the machine was started in between, or nothing tells."""
    match = Journal(tmp_path).match(START.match_id)
    for number, (at, up) in enumerate(((1000.0, 5.0), (1010.0, 15.0), (1013.0, 18.0), (1011.0, 22.0))):
        moment = Moment(at, up, before)
        monkeypatch.setattr(Moment, "present", lambda moment=moment: moment)
        await (match.received(("left",), number) if number else match.start(START))
    match.close()
    (found,) = Journal(tmp_path).unfinished(Moment(1020.0, 22.5, after))
    assert found.silence == silence


@pytest.mark.parametrize(("missed", "interrupted"), [(1.5, True), (0.0, False), (None, False)])
async def test_doubts_noted_by_an_older_version_are_read(
    tmp_path: Path, missed: float | None, interrupted: bool
) -> None:
    """Version 0.2 noted the number of turns that may have been missed."""
    match = Journal(tmp_path).match(START.match_id)
    await match.start(START)
    await match.append({"number": 1}, lambda: {"moves": ["left", "right"], "answered": "up", "missed": missed})
    match.close()
    assert left(tmp_path).history == (Judged(("left", "right"), "up", interrupted),)


async def test_unreadable_file_does_not_hide_the_others(tmp_path: Path) -> None:
    """A damaged file costs its own match only."""
    folder = Journal(tmp_path)
    match = folder.match(START.match_id)
    await match.start(START)
    match.close()
    (path,) = tmp_path.iterdir()
    path.with_name("0" + path.name).write_bytes(b"\xff{}\n")
    assert [found.start for found in folder.unfinished(Moment.present())] == [START]


async def test_failing_disk_does_not_stop_a_match(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A failed write is logged, and made up for when that is possible."""
    folder = tmp_path / "journal"
    match = Journal(folder).match(START.match_id)
    folder.rmdir()
    folder.touch()
    await match.start(START)
    assert "cannot write" in caplog.text
    folder.unlink()
    await match.received(("left",), 1)
    match.close()
    found = left(folder)
    assert (found.start, found.history) == (START, (("left",),))


async def test_match_ends_also_where_its_file_cannot_be_removed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file that cannot be removed raises nothing: the match's processes must be released."""
    match = Journal(tmp_path / "journal").match(START.match_id)
    await match.start(START)
    (tmp_path / "journal").rename(tmp_path / "aside")
    (tmp_path / "journal").touch()
    match.remove()
    assert "cannot remove" in caplog.text


def test_folder_that_cannot_be_made_is_no_reason_not_to_start_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A first start without a journal fails; a restarted server plays its matches on."""
    (tmp_path / "journal").touch()
    with pytest.raises(OSError, match="exists"):
        Journal(tmp_path / "journal")
    assert list(Journal(tmp_path / "journal", restarted=True).unfinished(Moment.present())) == []
    assert "cannot write the journal" in caplog.text


async def test_slow_disk_does_not_stop_a_match(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow disk is logged, and written to while the match goes on."""
    monkeypatch.setattr(json_lines, "PATIENCE", 0.01)
    match = Journal(tmp_path).match(START.match_id)
    write, ready = match._write, threading.Event()

    def write_late(text: str, anew: bool, keep: bool, sync: bool) -> None:
        assert ready.wait(120)
        write(text, anew, keep, sync)

    monkeypatch.setattr(match, "_write", write_late)
    await match.start(START)
    assert "to be written" in caplog.text
    ready.set()
    await asyncio.gather(*match._writing)
    match.close()
    found = left(tmp_path)
    assert found.start == START


def test_present_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The moments of one start of the machine have its clock; a moment written to a file comes back unchanged."""
    monkeypatch.setattr(moments, "boot_id", lambda: "this")
    before = time.monotonic()
    first = Moment.present()
    between = time.monotonic()
    second = Moment.read(json.loads(json.dumps(Moment.present().as_json())))
    assert 0.0 <= first.until(second) <= time.monotonic() - before
    assert second.up is not None
    assert second.up >= between
    assert Moment.read(first.as_json()) == first
