"""Files of JSON objects, one a line, that may have been damaged."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from agent import bounded_json

log = logging.getLogger(__name__)

PATIENCE = 0.3
"""Most seconds that a line waits for the disk: clocks are running."""


def read_lines(data: bytes) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yields the number and the object of each line; None for a damaged line.

    An unfinished last line, blank lines, NUL bytes around a line and a byte order mark are skipped: a kill, a power cut
    or an editor leaves such.
    """
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if text := line.strip(b"\0 \t\r"):
            try:
                row = bounded_json.loads(text.decode("utf-8-sig"))
            except ValueError:
                row = None
            if isinstance(row, dict):
                yield number, row
            elif number < len(lines):
                yield number, None


class LineFile:
    """A file to which lines are appended by threads, while the event loop goes on.

    The lines that must not be lost are kept in memory as well: a disk that refuses them gets them later, and a file
    that has disappeared is written anew.
    """

    def __init__(self, path: Path, lines: Iterable[dict[str, Any]] = ()) -> None:
        """`lines` are those that the file has, and must have."""
        self._path = path
        self._lock = asyncio.Lock()
        self._closed = self._removed = False
        self._writing: set[asyncio.Task[None]] = set()
        self._descriptor: int | None = None
        self._lines = [_spelled(line) for line in lines]
        """Lines that the file must have, each after a line break in case the one before was cut off."""
        self._written = len(self._lines)
        """Number of these that are on the disk."""

    def close(self) -> None:
        """Ends the writing; the file stays."""
        self._closed = True
        # A writing thread closes the descriptor itself.
        if not self._lock.locked():
            self._close_file()

    def remove(self) -> None:
        """Removes the file."""
        self._removed = True
        self.close()
        self._remove_file()

    async def append(
        self,
        line: dict[str, object],
        spell: Callable[[], dict[str, object]] = lambda: {},
        *,
        anew: bool = False,
        keep: bool = True,
        sync: bool = True,
    ) -> None:
        """Writes a line, with what `spell` adds in the writing thread: that may take too long for the event loop.

        `anew` begins the file again. A line that is not to `keep` is written at once or never. A slow or full disk is
        only logged.
        """

        def write_line() -> None:
            try:
                self._write(_spelled({**line, **spell()}), anew, keep, sync)
            finally:
                # At the end of the server nobody waits for this thread any more.
                if self._removed:
                    self._remove_file()

        writing = asyncio.create_task(self._in_order(write_line))
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        done, _ = await asyncio.wait({writing}, timeout=PATIENCE)
        if not done:
            log.warning("%s takes longer than %.1f s to be written", self._path, PATIENCE)

    async def _in_order(self, write_line: Callable[[], None]) -> None:
        async with self._lock:
            if self._closed:
                return
            try:
                await asyncio.to_thread(write_line)
            except OSError as error:
                log.error("cannot write %s: %s", self._path, error)
        if self._closed:
            self._close_file()
            if self._removed:
                self._remove_file()

    def _write(self, text: str, anew: bool, keep: bool, sync: bool) -> None:
        if anew:
            self._lines, self._written = [], 0
        if keep:
            self._lines.append(text)
        if anew:
            self._close_file()
            self._path.unlink(missing_ok=True)
        if self._written and self._is_missing():
            log.warning("%s has disappeared: written anew", self._path)
            self._close_file()
            self._written = 0
        if self._descriptor is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        lines = self._lines[self._written :] + ([] if keep else [text])
        rest = "".join(lines).encode("utf-8", "surrogatepass")
        # Should this fail in the middle, the lines are written once more.
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        if sync:
            os.fsync(self._descriptor)
        self._written = len(self._lines)

    def _is_missing(self) -> bool:
        """Returns whether the file is gone from its folder, and can be written anew.

        False where the folder cannot be read: it may come back with the file in it.
        """
        try:
            there = os.stat(self._path)
            return self._descriptor is not None and not os.path.samestat(there, os.fstat(self._descriptor))
        except FileNotFoundError:
            return True
        except OSError:
            return False

    def _close_file(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            try:
                os.close(descriptor)
            except OSError as error:
                log.error("cannot write %s: %s", self._path, error)

    def _remove_file(self) -> None:
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            log.error("cannot remove %s: %s", self._path, error)


def _spelled(line: dict[str, Any]) -> str:
    return f"\n{json.dumps(line)}\n"
