"""Logging of all processes: lines for people, or one JSON object per line."""

from __future__ import annotations

import json
import logging
import os
import re
from typing import Any

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
"""Format of the server process and its workers, which share a console."""

JSON_LOGS = "GGP_AGENT_LOG_JSON"
"""Environment variable that makes this process and its children log JSON; set by `--log-json`."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def printable(text: str) -> str:
    """Returns the text with characters escaped that are invisible, control a terminal, break lines or are halves.

    Names, moves and errors come from other machines. They must neither steer a terminal nor look like lines of ours.
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def printable_lines(text: str) -> str:
    """Returns the same for a text of several lines."""
    return "\n".join(map(printable, text.split("\n")))


class LineFormatter(logging.Formatter):
    """Formats a record as one printable line, after an exception followed by the lines of its traceback."""

    def __init__(self, match_id: str | None = None) -> None:
        name = "" if match_id is None else match_id.replace("%", "%%") + ": "
        super().__init__(LOG_FORMAT.replace("%(message)s", f"{name}%(message)s"))

    def formatMessage(self, record: logging.LogRecord) -> str:
        return printable(super().formatMessage(record))

    def formatException(self, *arguments: Any) -> str:
        return printable_lines(super().formatException(*arguments))


class JsonFormatter(logging.Formatter):
    """Formats a record as a JSON object: `time` (ISO 8601 with UTC offset), `level`, `logger`, `process`, `message`, in
    a worker `match`, after an exception `error` (the traceback)."""

    def __init__(self, match_id: str | None = None) -> None:
        super().__init__(datefmt="%Y-%m-%dT%H:%M:%S%z")
        self._match_id = match_id

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": self.formatTime(record, self.datefmt),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
        }
        if self._match_id is not None:
            line["match"] = self._match_id
        line["message"] = record.getMessage()
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        # JSON itself escapes the controls below a blank only.
        return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(line, ensure_ascii=False))


def formatter(match_id: str | None = None) -> logging.Formatter:
    """Returns the formatter of this process; every line names the match if one is given."""
    if os.environ.get(JSON_LOGS):
        return JsonFormatter(match_id)
    return LineFormatter(match_id)


def start_logging() -> logging.Handler:
    """Starts logging to standard error; returns the handler."""
    handler = logging.StreamHandler()
    handler.setFormatter(formatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    return handler
