"""Finished matches in files, in the format of `ggp-agent match --record`.

A server only lists them: a child process reads them, as reading a large one would stop all of the server's threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import stat
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from agent import bounded_json
from agent.record.spelling import read_count, reading
from agent.web.gallery import KEY, key_of
from agent.web.transcript import Transcript
from games.child_process import ChildLostError
from games.machine import LimitError

log = logging.getLogger(__name__)

MOST_FILES = 200
"""Most records in an overview, the newest first."""

MOST_BYTES = 64 << 20
"""Largest file that is read."""

MOST_BYTES_BESIDE_MATCHES = 4 << 20
"""The same in a server, whose records are smaller."""

HEAD_BYTES = 1 << 16
"""Bytes of a record in which everything that a summary tells is looked for. Smaller files are read whole."""

MOST_KEPT, MOST_BYTES_KEPT = 1000, 1 << 30
"""Most records that a server keeps in its folder, and their bytes together: five times as many as an overview shows."""

Version: TypeAlias = tuple[Path, int, int]
"""A file, the time of its last change in nanoseconds, and its size."""

UNREADABLE = (OSError, ValueError, LimitError, ChildLostError)
"""Errors of a process that reads a record."""

Ask: TypeAlias = Callable[..., Awaitable[Any]]
"""Has a function that reads a version called elsewhere, see `Pictures.ask`."""


class Records:
    """Record files and folders of them."""

    def __init__(self, paths: Sequence[Path], most_bytes: int = MOST_BYTES) -> None:
        """Files that are no records, or larger than `most_bytes`, are skipped; folders are listed anew each time."""
        self.most_bytes = most_bytes
        self._paths = paths
        self._summaries: dict[Version, dict[str, Any] | None] = {}
        self._files: dict[str, Path] = {}
        self._lock = asyncio.Lock()

    async def summaries(self, ask: Ask) -> list[dict[str, Any]]:
        """Returns the summaries of the matches (see `Transcript.summary`), the newest first."""
        async with self._lock:
            current: dict[Version, dict[str, Any] | None] = {}
            for version in await asyncio.to_thread(self._list):
                known = version in self._summaries
                current[version] = self._summaries[version] if known else await self._summary(ask, version)
            self._summaries = current
            found = {version: summary for version, summary in current.items() if summary is not None}
            self._files = {summary["key"]: path for (path, _, _), summary in found.items()}
            return list(found.values())

    async def find(self, ask: Ask, key: str) -> Version | None:
        """Returns the record of this key; None where there is none (any more)."""
        if key not in self._files:
            await self.summaries(ask)
        paths = [self._files[key]] if key in self._files else []
        return next(iter(await asyncio.to_thread(lambda: [*_versions(paths)])), None)

    def _list(self) -> list[Version]:
        return sorted(_versions(self._candidates()), key=_newest_first)[:MOST_FILES]

    def _candidates(self) -> Iterator[Path]:
        for path in self._paths:
            if path.is_dir():
                yield from path.glob("*.json")
            else:
                yield path

    async def _summary(self, ask: Ask, version: Version) -> dict[str, Any] | None:
        path, _, size = version
        if size > self.most_bytes:
            log.warning("%s is too large to be shown", path)
            return None
        try:
            summary: dict[str, Any] = await ask(read_summary, version)
            return summary
        except UNREADABLE as error:
            log.warning("%s is no record of a match: %.200s", path, error)
            return None


def save_record(folder: Path, transcript: Transcript) -> Path:
    """Writes a finished match as a record and returns its path.

    The oldest records of servers are removed beyond the limits; other files are left alone. A long match takes a while.
    Raises `OSError`.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{transcript.key}.json"
    write_record(path, transcript.as_json())
    _prune(folder)
    return path


def write_record(path: Path, record: object) -> None:
    """Writes a file that only its user can read, whole at once: folders are listed meanwhile. Raises `OSError`."""
    unfinished = path.with_suffix(".part")
    with open(unfinished, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        # In pieces: threads of a server write records, and encoding all at once would stop the others.
        json.dump(record, file)
    unfinished.replace(path)


def _prune(folder: Path) -> None:
    count, size = 0, 0
    for file, _, length in sorted(_versions(folder.glob("*.json")), key=_newest_first):
        if KEY.fullmatch(file.stem):
            count, size = count + 1, size + length
            if count > 1 and (count > MOST_KEPT or size > MOST_BYTES_KEPT):
                file.unlink(missing_ok=True)


def _versions(paths: Iterable[Path]) -> Iterator[Version]:
    """Yields those that are regular files: others may never end, or have to be waited for."""
    for path in paths:
        # Others may remove files at the same time.
        with contextlib.suppress(OSError):
            status = path.stat()
            if stat.S_ISREG(status.st_mode):
                yield path, status.st_mtime_ns, status.st_size


def _newest_first(version: Version) -> tuple[int, Path]:
    path, modified, _ = version
    return -modified, path


def record_key(path: Path, match_id: str) -> str:
    """Returns the key of the match in a record."""
    return key_of(match_id, str(path.resolve()))


def read_bytes(path: Path, most: int) -> bytes:
    """Returns the first bytes of a regular file, `most` of them at most. Raises `OSError`, also for any other file."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("this is no regular file")
        return file.read(most)


def read_record(version: Version) -> Transcript:
    """Reads the match of a record. Raises `OSError`, and `ValueError` for anything else."""
    path, modified, size = version
    data = _loads(read_bytes(path, size))
    transcript = Transcript.from_json(data, modified / 1e9, key="", phase="")
    transcript.key = record_key(path, transcript.match_id)
    return transcript


def read_summary(version: Version) -> dict[str, Any]:
    """Reads the summary of a record, of a large one from its head. Raises as `read_record` does."""
    path, modified, size = version
    if size > HEAD_BYTES:
        head, found, _ = read_bytes(path, HEAD_BYTES).partition(b', "moves": ')
        # Another program may have written it, in another order.
        with contextlib.suppress(ValueError), reading():
            if found:
                data = {**_loads(head + b"}"), "moves": [], "states": [None], "seconds": []}
                transcript = Transcript.from_json(data, modified / 1e9, key="", phase="")
                key, plies = record_key(path, transcript.match_id), read_count(data["steps"])
                return {**transcript.summary(), "key": key, "plies": plies}
    summary = read_record(version).summary()
    if len(json.dumps(summary)) > HEAD_BYTES:
        raise ValueError("it has too much to be listed")
    return summary


def _loads(text: bytes) -> Any:
    return bounded_json.loads(text.decode("utf-8-sig", errors="surrogatepass"))
