"""The log of a series of matches, JSON lines: its matches need not be played again."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from agent.errors import InputError
from agent.json_lines import read_lines
from agent.record.spelling import DamagedError, reading

log = logging.getLogger(__name__)

Record = TypeVar("Record")

_MOST_TOLD = 10
"""Damaged lines that are named."""


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

        Damaged lines are told and left as they are. Raises `InputError` for the log of another series, and for any
        other file.
        """
        try:
            data = self._path.read_bytes()
            end = data.rfind(b"\n") + 1
            records, damaged = read_matches(data, lambda row: self._from_row(self._without_settings(row)))
            rest = data[end:].strip(b"\0")
            if not records and (damaged or not rest.startswith(self._line_start[: len(rest)])):
                raise InputError(f"{self._path}: not a log: no line of it is a match; name a new file")
            tell_damaged(self._path, damaged)
            # An editor may have left out the last line break alone.
            kept = rest + b"\n" if any(read_lines(rest)) else b""
            if data[end:] != kept:
                with self._path.open("r+b") as file:
                    file.seek(end)
                    file.write(kept)
                    file.truncate()
            return records
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"{self._path}: {error.strerror}") from None

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


def read_matches(data: bytes, from_row: Callable[[dict[str, Any]], Record]) -> tuple[list[Record], list[int]]:
    """Returns the matches of a log, and the numbers of lines that are damaged: those of which `from_row` makes none."""
    records, damaged = list[Record](), list[int]()
    for number, row in read_lines(data):
        if row is None:
            damaged.append(number)
            continue
        try:
            with reading():
                records.append(from_row(row))
        except DamagedError:
            damaged.append(number)
    return records, damaged


def tell_damaged(path: Path, lines: Sequence[int]) -> None:
    """Warns of damaged lines of a log, if there are any."""
    if lines:
        named = [*map(str, lines[:_MOST_TOLD]), *(["..."] if len(lines) > _MOST_TOLD else [])]
        log.warning("%s: damaged in line %s: what was played there does not count", path, ", ".join(named))
