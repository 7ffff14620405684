"""What must hold for any bytes: the layers of the agent that read them, one function each.

Each returns what became of the input, in one word; what must not be is an `AssertionError`, or whatever was raised.
"""

from __future__ import annotations

import json
import logging
import pickle
from functools import cache
from pathlib import Path

import numpy as np

from agent.errors import InputError
from agent.lab.tournament.log import MatchLog
from agent.lab.tournament.logged import read_tournament
from agent.lab.tournament.results import read_result
from agent.playing.messages import Refused
from agent.playing.rules import check_rules
from agent.record.match import MatchRecord
from agent.search.learning.memory import SUFFIX, SheetMemory, Store
from agent.serving.journal import Journal, UnfinishedMatch
from agent.serving.moments import Moment
from agent.web.records import read_record, read_summary
from games import rulesheets
from games.machine import Term
from protocol import infix, kif
from protocol.compose import compose
from protocol.messages import (
    Aborted,
    Busy,
    Done,
    Message,
    MoveReply,
    Preview,
    Ready,
    Reply,
    Start,
    Status,
    TextError,
    parse,
    render,
)
from tests.agent.search.learning.remembering import same

REPLIES: tuple[Reply, ...] = (Status("a b\n(c"), Ready(), Busy(), Done(), Aborted(), MoveReply(("mark", "1", "2")))

LONGEST_LINE = 2_000
"""Characters of a line of the log that an input may cause."""


def check_message(text: bytes) -> str:
    """`protocol.messages`: a message, or an error with its place."""
    try:
        message, dialect = parse(text)
    except TextError as error:
        _check_error(error)
        return "refused"
    for reply in REPLIES:
        line = render(reply, dialect)
        assert line.isprintable() or dialect.message_id is not None, line
        assert not {"\n", "\r"} & set(line), line
    assert pickle.loads(pickle.dumps(message)) == message
    if isinstance(message, (Start, Preview)):
        for index in range(len(message.rules))[:3]:
            message.locate((index,))
    if dialect.syntax == "prefix":
        again, _ = parse(compose(message, "dresden"))
        assert again == message, (again, message)
    return type(message).__name__


def check_terms(text: bytes) -> str:
    """The readers of rulesheets, prefix and infix: terms that are the same when written and read again, or an error."""
    read = 0
    for reader in (kif, infix):
        try:
            terms = reader.read_rulesheet(text)
        except TextError as error:
            _check_error(error)
            continue
        read += 1
        for index in range(len(terms))[:3]:
            reader.locate(text, (index,))
        written = kif.write_rulesheet(terms)
        if reader is kif:
            # A token may begin with what at the beginning of a text would be a byte order mark.
            assert kif.read("\n" + written) == terms
    return ("refused", "read by one", "read by both")[read]


def check_sheet(text: bytes) -> str:
    """The rules of a START: what the worker makes of them, before anything is compiled."""
    try:
        message: Message = parse(text)[0]
    except TextError:
        return "no message"
    if not isinstance(message, Start):
        return "no START"
    checked = check_rules(message)
    if isinstance(checked, Refused):
        assert len(checked.reason) <= 100 * LONGEST_LINE
        assert "while the rules were checked" not in checked.reason, checked.reason
        return "refused"
    return "accepted"


def check_journal(folder: Path, text: bytes) -> str:
    """A journal that is not as it was written: taken up, or left alone; others are found all the same."""
    (folder / "a.match.jsonl").write_bytes(text)
    found = list(Journal(folder).unfinished(Moment.present()))
    for unfinished in found:
        _check_unfinished(unfinished)
        unfinished.journal.close()
    return "taken up" if found else "left alone"


def check_record(folder: Path, text: bytes) -> str:
    """A file among the page's records: shown as a browser can read it, and the same when it is written again, or
    skipped."""
    (folder / "a.json").write_bytes(text)
    version = folder / "a.json", 0, len(text)
    try:
        summary, found = read_summary(version), read_record(version)
    except ValueError:
        return "skipped"
    assert summary["key"] == found.key
    json.dumps([summary, found.view()], allow_nan=False)
    written = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert MatchRecord.from_json(written).as_json() == written
    return "shown"


DIGEST = f"{'0' * 16}-{'1' * 16}"
"""Digest of the rules of `check_memory`."""


def check_memory(folder: Path, text: bytes) -> str:
    """An entry of the memory, written as `inputs.entries` does, or anything else: used, or ignored."""
    path = folder / f"{DIGEST}{SUFFIX}"
    try:
        with path.open("wb") as file:
            np.savez(file, **{name: np.array(value, kind) for name, (kind, value) in json.loads(text).items()})
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError, SyntaxError):
        path.write_bytes(text)
    store = Store(folder)
    entry = store.read(DIGEST)
    assert same(entry, store.read_relative(DIGEST.partition("-")[0]))
    if entry is None:
        return "ignored"
    memory, fluents = _memory(store)
    memory.pairs(entry, fluents)
    experience = memory.experience(entry, fluents)
    assert experience is None or len(experience.facts) == len(experience.targets)
    return "used"


def check_log(folder: Path, text: bytes) -> str:
    """The log of a tournament: shown as a browser can read it and gone on with, or refused."""
    path = folder / "log.jsonl"
    path.write_bytes(text)
    shown = "refused"
    try:
        page = read_tournament(path)
        if page is not None:
            data = [page.summary(), page.view(), page.matches(None, None)]
            json.dumps(data, allow_nan=False)
            shown = "shown"
    except InputError as error:
        _check_length(str(error))
    log = MatchLog(path, SETTINGS, read_result)
    try:
        matches = log.read()
    except InputError as error:
        _check_length(str(error))
        return shown
    data = path.read_bytes()
    assert not data or data.endswith(b"\n"), data[-80:]
    if matches:
        # Damage costs what it hits.
        path.write_bytes(b'\xef\xbb\xbf{"seed": 1, "op\n\0\0' + data + b'{"seed": 1, "op' + bytes(7))
        assert log.read() == matches
    return f"{shown}, gone on with"


SETTINGS = {"seed": 1, "opening_plies": 2, "start_clock": 30, "play_clock": 5, "scramble": "none", "cores": 1}
"""Settings of the tournament of `check_log`."""


@cache
def _rules() -> tuple[Term, ...]:
    return kif.read_rulesheet(rulesheets.text("tic_tac_toe"))


def _memory(store: Store) -> tuple[SheetMemory, list[Term]]:
    """What was learnt of a game, and some of its fluents."""
    return SheetMemory(store, _rules(), ["xplayer", "oplayer"]), [
        ("cell", x, y, mark) for x in "123" for y in "123" for mark in "x"
    ]


def _check_unfinished(found: UnfinishedMatch) -> None:
    assert isinstance(found.start.match_id, str)
    assert found.start.start_clock >= 0
    assert found.start.play_clock >= 0
    assert found.checkpoint.turn <= len(found.history)
    assert found.silence >= 0
    assert found.distrust >= 0


def _check_error(error: TextError) -> None:
    assert error.line >= 1
    assert error.column >= 1
    line = str(error)
    _check_length(line)
    assert not {"\n", "\r"} & set(line), line
    assert str(pickle.loads(pickle.dumps(error))) == line


def _check_length(line: str) -> None:
    assert len(line) <= LONGEST_LINE, line


class Log(logging.Handler):
    """Collects what is wrong with the log: tracebacks and lines that are far too long."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        if record.exc_info or len(text) > LONGEST_LINE:
            self.wrong.append(text[:LONGEST_LINE])
