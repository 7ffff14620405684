"""The record of a lobby's match, written as the match goes on."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from agent.record.match import MatchRecord
from agent.refereeing.referee import MatchWatcher
from agent.web.records import write_record

log = logging.getLogger(__name__)


class RecordKeeper(MatchWatcher):
    """Writes the record after each joint move: nobody may ask this process before it is ended."""

    def __init__(self, path: Path, begun: Path) -> None:
        """`path` is for the record of the whole match, `begun` for that of a match that runs."""
        self._path = path
        self._begun = begun
        self._record: MatchRecord | None = None
        self._behind = False
        """Whether the file lacks something."""
        self._writing: asyncio.Task[None] | None = None

    def started(self, record: MatchRecord) -> None:
        self.stepped(record)

    def stepped(self, record: MatchRecord) -> None:
        self._record, self._behind = record, True
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._catch_up())

    def finish(self, record: MatchRecord | None = None) -> None:
        """Writes the record as it is in the end, by default that of the last move, unless there is nothing in it."""
        record = record or self._record
        if record is not None and record.states and self._write(self._path, record):
            self._begun.unlink(missing_ok=True)

    async def _catch_up(self) -> None:
        while self._behind and self._record is not None:
            self._behind = False
            # A long one takes a while.
            await asyncio.to_thread(self._write, self._begun, self._record)

    def _write(self, path: Path, record: MatchRecord) -> bool:
        """Writes the record to a file; returns whether that went well."""
        try:
            write_record(path, record.as_json())
        except (OSError, MemoryError) as error:
            log.warning("the record cannot be written: %s", error)
            return False
        return True
