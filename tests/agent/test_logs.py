"""Lines of the log."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from agent.logs import LOG_FORMAT, JsonFormatter, formatter, printable

HOSTILE = "m\x1b]0;title\x07\r\nINFO forged\x9b2J\u202e\ud800"


@pytest.mark.parametrize("match_id", [None, HOSTILE])
def test_what_others_send_cannot_steer_the_terminal(match_id: str | None) -> None:
    """Neither as name of a match, nor in a message, nor in an exception; each record begins one line."""
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        error = sys.exc_info()
    record = logging.LogRecord("agent", logging.INFO, "x.py", 1, "%s: turn 1", (HOSTILE,), error)
    head, *traceback = formatter(match_id).format(record).split("\n")
    assert head.isprintable()
    assert all(line.isprintable() for line in traceback)
    assert traceback[0] == "Traceback (most recent call last):"
    assert "m\\x1b]0;title\\x07\\r\\nINFO forged\\x9b2J\\u202e\\ud800: turn 1" in head


def test_lines_of_json_cannot_steer_the_terminal_either() -> None:
    """They are printable, and readers of JSON get what was sent."""
    line = JsonFormatter(HOSTILE).format(logging.LogRecord("agent", logging.INFO, "x.py", 1, "ä %s", (HOSTILE,), None))
    assert line.isprintable()
    assert json.loads(line)["match"] == HOSTILE
    assert json.loads(line)["message"] == f"ä {HOSTILE}"


def test_ordinary_lines_stay_as_they_are() -> None:
    """Percent signs and letters of other languages included."""
    record = logging.LogRecord("agent", logging.INFO, "x.py", 1, "100 %% für %s", ("ä",), None)
    assert formatter("50%").format(record).endswith("INFO agent: 50%: 100 % für ä")
    assert printable("(mark 1 1) äö “b”") == "(mark 1 1) äö “b”"


def test_invisible_characters_can_be_seen() -> None:
    """Those that cling to names where text was copied from web pages."""
    assert printable("\ufeffred\u200b\xad\u2060") == "\\ufeffred\\u200b\\xad\\u2060"
    assert LOG_FORMAT.endswith("%(message)s")
