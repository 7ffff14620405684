"""What must hold for any bytes: the layers of the agent that read them, one function each.

Each returns what became of the input, in one word; what must not be is an `AssertionError`, or whatever was raised.
"""

from __future__ import annotations

import logging
import pickle
from pathlib import Path

from agent.serving.journal import Journal, UnfinishedMatch
from agent.serving.moments import Moment
from agent.worker.messages import Refused
from agent.worker.rules import check_rules
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
    assert len(line) <= LONGEST_LINE, line
    assert not {"\n", "\r"} & set(line), line
    assert str(pickle.loads(pickle.dumps(error))) == line


class Log(logging.Handler):
    """Collects what is wrong with the log: tracebacks and lines that are far too long."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        if record.exc_info or len(text) > LONGEST_LINE:
            self.wrong.append(text[:LONGEST_LINE])
