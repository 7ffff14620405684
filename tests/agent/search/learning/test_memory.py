"""The memory of earlier matches: whole entries in a folder of bounded size, with several writers."""

from __future__ import annotations

import json
import os
import threading
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from agent.search.learning.memory import MAX_FILE, Store
from tests.agent.search.learning.remembering import DIGESTS, entry


def test_entry_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    """In a new folder; other rules have no entry."""
    store = Store(tmp_path / "a" / "b")
    assert store.read(DIGESTS[0]) is None
    assert not (tmp_path / "a").exists()
    store.write(DIGESTS[0], entry())
    assert store.read(DIGESTS[0]) == entry()
    assert store.read(DIGESTS[1]) is None
    store.write(DIGESTS[0], entry(0.75))
    assert store.read(DIGESTS[0]) == entry(0.75)
    assert len(list((tmp_path / "a" / "b").iterdir())) == 1


def _with(content: bytes, changes: Mapping[str, object]) -> bytes:
    """The entry with other values, and the right checksum."""
    body = json.dumps({**json.loads(content.split(b"\n")[1]), **changes}).encode()
    return sha256(body).hexdigest().encode() + b"\n" + body + b"\n"


NO_POSITIONS = {"keys": ["1"], "facts": "", "movers": "", "targets": "", "fresh": 0}
HUGE, NAN = (b64encode(np.float32(number).tobytes()).decode() for number in (1e9, np.nan))

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "without its end": lambda content: content[:-3],
    "a bit is wrong": lambda content: content[:150] + bytes([content[150] ^ 1]) + content[151:],
    "zeros": lambda content: bytes(len(content)),
    "something else": lambda content: b"PK\x03\x04" + os.urandom(500),
    "no object": lambda content: sha256(b"[]").hexdigest().encode() + b"\n[]\n",
    "other version": lambda content: _with(content, {"version": 0}),
    "other rules": lambda content: _with(content, {"rules": DIGESTS[5]}),
    "no number": lambda content: _with(content, {"rows": {"1": "x"}}),
    "not finite": lambda content: _with(content, {"rows": {"1": NAN}}),
    "huge weight": lambda content: _with(content, {"rows": {"1": HUGE}}),
    "no weights": lambda content: _with(content, {"rows": None}),
    "rows of different lengths": lambda content: _with(content, {"rows": {"1": HUGE + HUGE}}),
    "outputs of no length": lambda content: _with(content, {"outputs": NAN}),
    "no mover": lambda content: _with(
        content, {"positions": {**NO_POSITIONS, "keys": [], "movers": "Aw==", "targets": "AAA="}}
    ),
    "negative": lambda content: _with(content, {"generations": -1}),
    "more points than matches": lambda content: _with(content, {"points": 5.0}),
    "rows of no length": lambda content: _with(content, {"positions": {**NO_POSITIONS, "facts": "AAAA"}}),
    "half a target": lambda content: _with(content, {"positions": {**NO_POSITIONS, "targets": "AA=="}}),
    "no base 64": lambda content: _with(content, {"positions": {**NO_POSITIONS, "facts": "*"}}),
    "no positions": lambda content: _with(content, {"positions": []}),
    "too large": lambda content: content + b" " * MAX_FILE,
    "deep": lambda content: sha256(b"[" * 99_999).hexdigest().encode() + b"\n" + b"[" * 99_999,
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
    assert store.read(DIGESTS[0]) == entry(0.5)


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
        assert found is None or set(found.rows.values()) <= {np.float32(number).tobytes() for number in range(4)}
    for thread in threads:
        thread.join()
    assert errors == []
    assert caplog.records == []
    assert len(list(tmp_path.iterdir())) <= 3
