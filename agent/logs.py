"""Logging of all processes: lines for people, or one JSON object per line."""

from __future__ import annotations

import json
import logging
import os

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
"""Format of the server process and its workers, which share a console."""

JSON_LOGS = "GGP_AGENT_LOG_JSON"
"""Environment variable that makes this process and its children log JSON; set by `--log-json`."""


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
        return json.dumps(line, ensure_ascii=False)


def formatter(match_id: str | None = None) -> logging.Formatter:
    """Returns the formatter of this process; every line names the match if one is given."""
    if os.environ.get(JSON_LOGS):
        return JsonFormatter(match_id)
    if match_id is None:
        return logging.Formatter(LOG_FORMAT)
    name = match_id.replace("%", "%%")
    return logging.Formatter(LOG_FORMAT.replace("%(message)s", f"{name}: %(message)s"))


def start_logging() -> logging.Handler:
    """Starts logging to standard error; returns the handler."""
    handler = logging.StreamHandler()
    handler.setFormatter(formatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    return handler
