"""The memory of earlier matches: whole entries in a folder of bounded size, with several writers."""

from __future__ import annotations

import io
import os
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from agent.search.learning.memory import MAX_FILE, Store
from tests.agent.search.learning.remembering import DIGESTS, entry, same


def test_entry_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    """In a new folder; other rules have no entry."""
    store = Store(tmp_path / "a" / "b")
    assert store.read(DIGESTS[0]) is None
    assert not (tmp_path / "a").exists()
    store.write(DIGESTS[0], entry())
    assert same(store.read(DIGESTS[0]), entry())
    assert store.read(DIGESTS[1]) is None
    store.write(DIGESTS[0], entry(0.75))
    assert same(store.read(DIGESTS[0]), entry(0.75))
    assert len(list((tmp_path / "a" / "b").iterdir())) == 1


def _with(**changes: object) -> Callable[[bytes], bytes]:
    """Makes an entry with other arrays, and right checksums."""

    def change(content: bytes) -> bytes:
        changed = io.BytesIO()
        with np.load(io.BytesIO(content)) as file:
            np.savez(changed, **{**file, **changes})  # type: ignore[arg-type]
        return changed.getvalue()

    return change


def _archive(content: bytes) -> bytes:
    """A ZIP file with something else."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("version.npy", content)
    return archive.getvalue()


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "without its end": lambda content: content[:-3],
    "a bit is wrong": lambda content: content.replace(np.float32(0.25).tobytes(), np.float32(0.5).tobytes(), 1),
    "zeros": lambda content: bytes(len(content)),
    "something else": lambda content: b"PK\x03\x04" + os.urandom(500),
    "no arrays": _archive,
    "a pickle": _with(base=np.array([print], object)),
    "other version": _with(version=0),
    "other rules": _with(rules=DIGESTS[5]),
    "no number": _with(rows="x"),
    "not finite": _with(base=np.array([np.nan], np.float32)),
    "huge weight": _with(base=np.array([1e9], np.float32)),
    "rows of another length": _with(rows=np.zeros((3, 2), np.float32)),
    "fewer rows than keys": _with(rows=np.zeros((2, 1), np.float32)),
    "outputs of no length": _with(outputs=np.zeros(1, np.float32)),
    "no mover": _with(movers=np.array([1, 9], np.uint8)),
    "negative": _with(counts=np.array([-1, 0, 4, 0])),
    "not four counts": _with(counts=np.array([1, 0, 4])),
    "more points than matches": _with(points=5.0),
    "facts of no length": _with(facts=np.zeros((2, 2), np.uint8)),
    "a target too few": _with(targets=np.zeros(1, np.uint16)),
    "numbers too large": _with(targets=np.zeros(2, np.int64)),
    "too large": _with(keys=np.zeros(MAX_FILE, np.uint64)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_no_entry_is_ignored_and_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    """It is logged once; the next entry takes its place."""
    store = Store(tmp_path)
    store.write(DIGESTS[0], entry())
    (path,) = tmp_path.iterdir()
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert store.read(DIGESTS[0]) is None
    (record,) = caplog.records
    assert str(path) in record.getMessage()
    store.write(DIGESTS[0], entry(0.5))
    assert same(store.read(DIGESTS[0]), entry(0.5))


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    """With too many entries or too many bytes."""
    store = Store(tmp_path, max_entries=4)
    for age, digest in enumerate(DIGESTS[:4]):
        store.write(digest, entry())
        os.utime(tmp_path / f"{digest}.learnt", (1e9 - age, 1e9 - age))
    assert store.read(DIGESTS[3]) is not None
    store.write(DIGESTS[4], entry())
    assert [store.read(digest) is not None for digest in DIGESTS[:5]] == [True, True, False, True, True]
    size = next(tmp_path.iterdir()).stat().st_size
    for age, digest in enumerate((DIGESTS[3], DIGESTS[4], DIGESTS[0], DIGESTS[1])):
        os.utime(tmp_path / f"{digest}.learnt", (1e9 - age, 1e9 - age))
    store = Store(tmp_path, max_bytes=3 * size)
    store.write(DIGESTS[5], entry())
    assert [number for number in range(8) if store.read(DIGESTS[number])] == [3, 4, 5]
    Store(tmp_path, max_bytes=1).write(DIGESTS[6], entry())
    assert [path.stem for path in tmp_path.iterdir()] == [DIGESTS[6]]


def test_writers_that_died_leave_nothing_for_long(tmp_path: Path) -> None:
    """Their temporary files are deleted; those of living writers, and files of others, stay."""
    store = Store(tmp_path)
    for name, age in (("dead", 1e5), ("alive", 0)):
        path = tmp_path / f".{name}.learnt"
        path.write_bytes(b"")
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    (tmp_path / "notes.txt").write_bytes(b"")
    store.write(DIGESTS[0], entry())
    assert {path.name for path in tmp_path.iterdir()} == {".alive.learnt", "notes.txt", f"{DIGESTS[0]}.learnt"}


@pytest.mark.parametrize("digest", ["", "../" + DIGESTS[0], DIGESTS[0] + "/x", "X" * 40, DIGESTS[0] + "\n"])
def test_only_digests_are_names_of_files(tmp_path: Path, digest: str) -> None:
    """Nothing else reaches the disk."""
    store = Store(tmp_path / "folder")
    with pytest.raises(ValueError, match="no digest"):
        store.write(digest, entry())
    with pytest.raises(ValueError, match="no digest"):
        store.read(digest)
    assert list(tmp_path.iterdir()) == []


def test_entries_are_whole_whoever_writes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Several write the same entry, and others that displace one another, while it is read."""
    Store(tmp_path).write(DIGESTS[0], entry(0.0))
    errors: list[BaseException] = []

    def write(number: int) -> None:
        try:
            store = Store(tmp_path, max_entries=3)
            for _ in range(40):
                store.write(DIGESTS[0], entry(float(number), weights=200 * number))
                store.write(DIGESTS[number], entry())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        found = Store(tmp_path).read(DIGESTS[0])
        assert found is None or len(np.unique(found.rows)) == 1
    for thread in threads:
        thread.join()
    assert errors == []
    assert caplog.records == []
    assert len(list(tmp_path.iterdir())) <= 3
