"""The journal: what a restarted server needs to take its running matches up again.

One file per match, one JSON object per line, only ever appended to and synced to the disk before the message is acted
on. The first line holds the START, each further one what a PLAY said about the last joint move, or how many circuits of
the rules were found to be wrong by then. A finished match's file is removed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from agent.worker.messages import Received, Unseen
from protocol.kif import read_one, write
from protocol.messages import Start
from protocol.terms import TextError

log = logging.getLogger(__name__)

SUFFIX = ".match.jsonl"

PATIENCE = 0.3
"""Seconds that a message waits for the disk: clocks are running. Set by hand; not tuned."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A match that the server was playing when it ended."""

    start: Start
    history: tuple[Received, ...]
    distrust: int
    """How many circuits of its rules were found to be wrong."""
    journal: MatchJournal
    """To be appended to."""
    age: float
    """Seconds since its last line was written."""


class Journal:
    """A folder of running matches."""

    def __init__(self, folder: Path) -> None:
        """Creates the folder where there is none. Raises `OSError`."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def match(self, match_id: str) -> MatchJournal:
        """The file of a match, existing or not."""
        readable = re.sub(r"[^0-9A-Za-z._-]", "_", match_id)[:80]
        digest = hashlib.sha256(match_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        return MatchJournal(self._folder / f"{readable}-{digest}{SUFFIX}")

    def unfinished(self, now: float) -> Iterator[Unfinished]:
        """The matches to be taken up again; `now` is the time of day. Files that cannot be read are left alone."""
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            try:
                start, history, distrust = _load(path)
                yield Unfinished(start, history, distrust, MatchJournal(path), now - path.stat().st_mtime)
            except (OSError, ValueError, KeyError, IndexError, TypeError, TextError) as error:
                log.warning("cannot read the journal %s: %s", path, error)


class MatchJournal:
    """The file of one match. Writing happens in threads; the event loop goes on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = asyncio.Lock()
        self._closed = False
        self._writing: set[asyncio.Task[None]] = set()
        self._file: IO[str] | None = None

    async def start(self, start: Start, distrust: int = 0) -> None:
        """Begins a new file; `distrust` is how many circuits of the rules are known to be wrong."""
        line = {
            "match": start.match_id,
            "role": write(start.role),
            "start_clock": start.start_clock,
            "play_clock": start.play_clock,
            "rules": [write(statement) for statement in start.rules],
            "distrust": distrust,
        }
        if self._file is not None:
            self._file.close()
            self._file = None
        self._path.unlink(missing_ok=True)
        await self._append(line)

    async def received(self, received: Received) -> None:
        """Adds a turn."""
        if isinstance(received, Unseen):
            await self._append({"own": None if received.own is None else write(received.own)})
        else:
            await self._append({"moves": [write(move) for move in received]})

    async def distrusted(self, circuits: int) -> None:
        """Notes how many circuits of the rules were found to be wrong by now."""
        await self._append({"distrust": circuits})

    def close(self) -> None:
        """Ends the writing; the file stays for the next server."""
        self._closed = True
        if self._file is not None:
            self._file.close()

    def remove(self) -> None:
        """Forgets the match."""
        self.close()
        self._path.unlink(missing_ok=True)

    async def _append(self, line: dict[str, object]) -> None:
        """Writes a line. A disk that is slow or full is no reason to lose the match: it is reported, no more."""
        writing = asyncio.create_task(self._append_in_order(json.dumps(line) + "\n"))
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        done, _ = await asyncio.wait({writing}, timeout=PATIENCE)
        if not done:
            log.warning("%s takes longer than %.1f s to be written", self._path, PATIENCE)

    async def _append_in_order(self, text: str) -> None:
        async with self._lock:
            if self._closed:
                return
            try:
                await asyncio.to_thread(self._write, text)
            except (OSError, ValueError) as error:
                log.error("cannot write %s: %s", self._path, error)

    def _write(self, text: str) -> None:
        if self._file is None:
            self._file = open(self._path, "a", encoding="utf-8")  # noqa: SIM115 (stays open while the match runs)
        self._file.write(text)
        self._file.flush()
        os.fsync(self._file.fileno())


def _load(path: Path) -> tuple[Start, tuple[Received, ...], int]:
    with open(path, encoding="utf-8") as file:
        # A line without its end was being written when the server ended: its message was not yet acted on.
        lines = [json.loads(line) for line in file if line.endswith("\n")]
    head = lines[0]
    start = Start(
        match_id=head["match"],
        role=read_one(head["role"]),
        rules=tuple(read_one(text) for text in head["rules"]),
        start_clock=head["start_clock"],
        play_clock=head["play_clock"],
    )
    history = tuple(_received(line) for line in lines[1:] if "distrust" not in line)
    return start, history, max(line.get("distrust", 0) for line in lines)


def _received(line: dict[str, Any]) -> Received:
    if "moves" in line:
        return tuple(read_one(text) for text in line["moves"])
    return Unseen(None if line["own"] is None else read_one(line["own"]))
