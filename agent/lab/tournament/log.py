"""The log of a series of matches, JSON lines: its matches need not be played again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from agent.bounded_json import loads
from agent.errors import InputError

Record = TypeVar("Record")


class MatchLog(Generic[Record]):
    """One line per match: the settings of the series, the same in all lines, and the match's own record."""

    def __init__(
        self,
        path: Path,
        settings: Mapping[str, object],
        from_row: Callable[[dict[str, Any]], Record],
        added: Mapping[str, object] | None = None,
    ) -> None:
        """`settings` is JSON data, not empty. `from_row` makes a record of the rest of a line; it may raise
        `TypeError`, `KeyError` and `ValueError` for anything else, and `InputError`. `added` holds settings that logs
        of release 0.1 lack, with their values there."""
        self._path = path
        self._settings = json.loads(json.dumps(settings))
        self._from_row = from_row
        self._added = added or {}
        # Begins each line, also an incomplete one.
        self._line_start = f"{{{json.dumps(next(iter(settings)))}: ".encode()

    def read(self) -> list[Record]:
        """Returns the matches of the log, none where there is no file; removes an incomplete last line from the file.

        Raises `InputError` for the log of another series, and for any other file.
        """
        try:
            data = self._path.read_bytes()
            end = data.rfind(b"\n") + 1
            records = [self._from_row(self._without_settings(loads(line.decode()))) for line in data[:end].splitlines()]
            if not data[end:].startswith(self._line_start[: len(data) - end]):
                raise ValueError
            if end < len(data):
                os.truncate(self._path, end)
            return records
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"{self._path}: {error.strerror}") from None
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InputError(
                f"{self._path}: not a log of release 0.2, nor one of 0.1 that can be resumed; name a new file"
            ) from None

    def append(self, row: Mapping[str, object]) -> None:
        """Adds a match. Raises `InputError` where the file cannot be written."""
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**self._settings, **row}) + "\n")
        except OSError as error:
            raise InputError(f"{self._path}: {error.strerror}") from None

    def _without_settings(self, row: dict[str, Any]) -> dict[str, Any]:
        for name, value in self._settings.items():
            logged = row.pop(name, self._added[name]) if name in self._added else row.pop(name)
            if logged != value:
                raise InputError(
                    f"{self._path}: a log of another series, {name} is {logged!r:.40} instead of {value!r}"
                )
        return row
