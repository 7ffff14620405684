"""Finished matches in files, in the format of `ggp-agent match --record`."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from agent import bounded_json
from agent.web.gallery import KEY, key_of
from agent.web.transcript import Transcript

log = logging.getLogger(__name__)

MOST_FILES = 200
"""Most records in an overview, the newest first."""

MOST_BYTES = 64 << 20
"""Largest file that is read."""

MOST_BYTES_BESIDE_MATCHES = 4 << 20
"""The same in a server: nothing else runs while JSON is parsed, some 20 ms for each MiB. Its records are smaller."""

MOST_KEPT, MOST_BYTES_KEPT = 1000, 1 << 30
"""Most records that a server keeps in its folder, and their bytes together: five times as many as an overview shows."""

KEPT = 4
"""Number of matches cached with all their positions."""


class Records:
    """Record files and folders of them. Threads may share it: reading a file twice does no harm."""

    def __init__(self, paths: Sequence[Path], most_bytes: int = MOST_BYTES) -> None:
        """Files that are no records, or larger than `most_bytes`, are skipped; folders are listed anew each time."""
        self._paths = paths
        self._most_bytes = most_bytes
        self._summaries: dict[tuple[Path, int, int], dict[str, Any] | None] = {}
        self._files: dict[str, Path] = {}
        self._transcripts: OrderedDict[tuple[str, int], Transcript] = OrderedDict()

    def summaries(self) -> list[dict[str, Any]]:
        """Returns the summaries of the matches (see `Transcript.summary`), the newest first."""
        found = []
        current: dict[tuple[Path, int, int], dict[str, Any] | None] = {}
        for path, modified, size in self._list():
            version = path, modified, size
            if version in self._summaries:
                summary = self._summaries[version]
            else:
                transcript = self._read(path, modified, size)
                summary = None if transcript is None else transcript.summary()
            current[version] = summary
            if summary is not None:
                self._files[summary["key"]] = path
                found.append(summary)
        self._summaries = current
        return found

    def file(self, key: str) -> Path | None:
        """Returns the record of this key; None where there is none (any more)."""
        if key not in self._files:
            self.summaries()
        return self._files.get(key)

    def find(self, key: str) -> Transcript | None:
        """Returns the match of this key; None where there is no record of it (any more)."""
        path = self.file(key)
        if path is None:
            return None
        try:
            status = path.stat()
        except OSError:
            return None
        version = key, status.st_mtime_ns
        if version not in self._transcripts:
            transcript = self._read(path, status.st_mtime_ns, status.st_size)
            if transcript is None:
                return None
            self._transcripts[version] = transcript
            while len(self._transcripts) > KEPT:
                self._transcripts.popitem(last=False)
        return self._transcripts[version]

    def _list(self) -> list[tuple[Path, int, int]]:
        return sorted(_statuses(self._candidates()), key=_newest_first)[:MOST_FILES]

    def _candidates(self) -> Iterator[Path]:
        for path in self._paths:
            if path.is_dir():
                yield from path.glob("*.json")
            else:
                yield path

    def _read(self, path: Path, modified: int, size: int) -> Transcript | None:
        if size > self._most_bytes:
            log.warning("%s is too large to be shown", path)
            return None
        try:
            return read_record(path, modified / 1e9)
        except (OSError, ValueError) as error:
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
        file.write(json.dumps(record))
    unfinished.replace(path)


def _prune(folder: Path) -> None:
    count, size = 0, 0
    for file, _, length in sorted(_statuses(folder.glob("*.json")), key=_newest_first):
        if KEY.fullmatch(file.stem):
            count, size = count + 1, size + length
            if count > 1 and (count > MOST_KEPT or size > MOST_BYTES_KEPT):
                file.unlink(missing_ok=True)


def _statuses(paths: Iterable[Path]) -> Iterator[tuple[Path, int, int]]:
    """Yields files with the times of their last changes, in nanoseconds, and their sizes."""
    for path in paths:
        # Others may remove files at the same time.
        with contextlib.suppress(OSError):
            status = path.stat()
            yield path, status.st_mtime_ns, status.st_size


def _newest_first(file: tuple[Path, int, int]) -> tuple[int, Path]:
    path, modified, _ = file
    return -modified, path


def record_key(path: Path, match_id: str) -> str:
    """Returns the key of the match in a record."""
    return key_of(match_id, str(path.resolve()))


def read_record(path: Path, modified: float) -> Transcript:
    """Reads the match of a record; `modified` is the file's time. Raises `OSError`, and `ValueError` for anything
    else."""
    data = bounded_json.loads(path.read_text(encoding="utf-8-sig", errors="surrogatepass"))
    transcript = Transcript.from_json(data, modified, key="", phase="")
    transcript.key = record_key(path, transcript.match_id)
    return transcript
