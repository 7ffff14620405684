"""Memory of earlier matches of a game, on disk under a digest of its rules.

It keeps the evaluation, its record, and the positions for the next fit. Learning continues as if the last match had not
ended, so games are learnt even where each match leaves little time.

An entry is a text file: a checksum, then JSON. Damaged files and those of other versions are ignored and overwritten.
Several processes may read and write at once: files are replaced as a whole, and the last writer wins. If there are too
many, those unused for the longest time are deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import math
import os
import re
import tempfile
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent import bounded_json
from agent.search.evaluation.features import Features
from agent.search.evaluation.network import MOVERS, NetworkEvaluation
from agent.search.learning.learner import Experience
from agent.search.learning.trial_points import NO_MATCHES, TrialPoints
from games.bits.short_rows import COLUMNS
from games.gdl.canonical import CanonicalForm, canonical_form
from games.gdl.rules.surface import says_init
from games.machine import Term

log = logging.getLogger(__name__)

VERSION = 8
"""Version of the files; to be increased when the meaning of their content changes, also that of features' weights."""
SUFFIX = ".learnt"
MAX_ENTRIES, MAX_BYTES = 1000, 64 << 20
"""Limits on the whole folder."""
MAX_FACT_BYTES = 1 << 18
"""Limit on bytes of positions' facts in an entry, a bit each; the newest are kept. Enough for all that learning keeps
in games with up to 100 fluents."""
MAX_FILE = 2 << 20
"""Limit on bytes of an entry."""
STALE_SECONDS = 3600.0
"""Age of a temporary file whose writer must have died."""
MAX_WEIGHT = 100.0
"""Limit on an evaluation's numbers; learnt ones come nowhere near it."""
LEAST_KNOWN = 0.9
"""Least share of a game's fluents with weights in an entry: ways of grounding differ a little."""


@dataclass(frozen=True)
class Positions:
    """`learner.Experience` by keys."""

    keys: tuple[int, ...] = ()
    """Keys of the fluents, by column."""
    facts: bytes = b""
    """A row of bits for each position, padded to whole bytes, lowest bit first."""
    movers: bytes = b""
    """A byte for each position: who chooses, see `NOBODY`."""
    targets: bytes = b""
    """A little-endian 16-bit number for each position; 65535 stands for 1."""
    fresh: int = 0


@dataclass(frozen=True)
class MemoryEntry:
    """Memory of one game."""

    rows: Mapping[int, bytes]
    """Rows of the evaluation by key (64 bits): of fluents, conjunctions with a number of facts missing, threats (see
    `Features.threat`) and pairs. As all numbers here, little-endian in 32 bits; see `NetworkEvaluation`."""
    base: bytes
    outputs: bytes
    generations: int
    """Evaluations learnt one after the other."""
    matches: int
    """Matches against itself learnt from."""
    trials: TrialPoints
    """Result of alpha-beta against tree search."""
    positions: Positions = Positions()
    """Positions for the next fit."""


class Store:
    """A folder of entries."""

    def __init__(self, folder: Path, *, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        """The first `write` creates the folder."""
        self._folder = folder
        self._max_entries, self._max_bytes = max_entries, max_bytes

    def read(self, digest: str) -> MemoryEntry | None:
        """Returns the entry of the rules with this digest (hexadecimal); None if there is no usable one."""
        return self._load(self._path(digest))

    def read_relative(self, rules: str) -> MemoryEntry | None:
        """Returns the newest entry of another first position under the same rules; None if there is none.

        Their digests begin with that of the rules, and a hyphen.
        """
        found = []
        for path in self._folder.glob(f"{rules}-*{SUFFIX}"):
            # Others may prune at the same time.
            with contextlib.suppress(OSError):
                found.append((path.stat().st_mtime, path))
        return self._load(max(found)[1]) if found else None

    def _load(self, path: Path) -> MemoryEntry | None:
        try:
            if path.stat().st_size > MAX_FILE:
                raise ValueError("too large")
            entry = _decode(path.read_bytes(), path.name.removesuffix(SUFFIX))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("%s is ignored: %s: %.200s", path, type(error).__name__, error)
            return None
        with contextlib.suppress(OSError):
            # Time of the last use.
            os.utime(path)
        return entry

    def write(self, digest: str, entry: MemoryEntry) -> None:
        """Replaces the entry of these rules, and deletes others beyond the limits. Raises `OSError`."""
        path = self._path(digest)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self._folder, prefix=".", suffix=SUFFIX)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_encode(digest, entry))
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        self._prune(path)

    def _prune(self, newest: Path) -> None:
        now = time.time()
        found: list[tuple[float, int, Path]] = []
        for path in self._folder.glob(f"*{SUFFIX}"):
            # Others may prune at the same time.
            with contextlib.suppress(OSError):
                status = path.stat()
                if not path.name.startswith("."):
                    found.append((math.inf if path == newest else status.st_mtime, status.st_size, path))
                elif now - status.st_mtime > STALE_SECONDS:
                    path.unlink()
        count, size = 0, 0
        for _, length, path in sorted(found, reverse=True):
            count, size = count + 1, size + length
            if path != newest and (count > self._max_entries or size > self._max_bytes):
                with contextlib.suppress(OSError):
                    path.unlink()

    def _path(self, digest: str) -> Path:
        if not re.fullmatch("[0-9a-f]{16,128}(-[0-9a-f]{16,128})?", digest):
            raise ValueError("no digest")
        return self._folder / f"{digest}{SUFFIX}"


class SheetMemory:
    """Memory of one rulesheet, in terms of its circuit's features."""

    def __init__(self, store: Store, rulesheet: Sequence[Term], roles: Sequence[Term]) -> None:
        """Takes the rules as received; their canonical form is computed when needed."""
        self._store, self._rulesheet, self._roles = store, rulesheet, roles

    @cached_property
    def _form(self) -> CanonicalForm | None:
        """The form of the rules without the first position, where they have all its names; its digest comes last."""
        whole = canonical_form(self._rulesheet, self._roles)
        rules = canonical_form([part for part in self._rulesheet if not says_init(part)], self._roles)
        if whole is None or rules is None:
            return None
        form = rules if whole.labels.keys() <= rules.labels.keys() else whole
        return CanonicalForm(f"{form.digest}-{whole.digest}", form.labels)

    def read(self) -> MemoryEntry | None:
        """Returns the entry of these rules; None if there is none.

        A match that begins in another position, as after moves were taken back, inherits what was learnt, but no trial
        matches: they depend on the position.
        """
        if self._form is None:
            return None
        entry = self._store.read(self._form.digest)
        if entry is None:
            entry = self._store.read_relative(self._form.digest.partition("-")[0])
            entry = entry and replace(entry, trials=NO_MATCHES)
        return entry

    def pairs(self, entry: MemoryEntry, fluents: Sequence[Term]) -> NDArray[np.int32]:
        """Returns the pairs (n, 2) of these fluents with weights in an entry: random play would show others."""
        if self._form is None:
            return np.zeros((0, 2), np.int32)
        keys = [self._form.key(fluent) for fluent in fluents]
        found = [pair for pair in combinations(range(len(fluents)), 2) if _pair_key(keys, pair) in entry.rows]
        return np.array(found, np.int32).reshape(-1, 2)

    def evaluation(
        self, entry: MemoryEntry, fluents: Sequence[Term], features: Features, always: Sequence[Term] = ()
    ) -> NetworkEvaluation | None:
        """Returns an entry's evaluation for these features of a game with these fluents, and facts that hold always;
        None if it does not fit."""
        if self._form is None:
            return None
        keys, columns = _keys(self._form, fluents, features)
        known = np.array([key in entry.rows for key in keys], np.bool_)
        if known[: len(fluents)].sum() < max(1.0, LEAST_KNOWN * len(fluents)):
            return None
        # A conjunction not in the entry is left out of the mean of those that share its row.
        members = np.bincount(columns[known], minlength=features.n)
        base = _numbers(entry.base)
        outputs = _numbers(entry.outputs).reshape(MOVERS, len(base))
        rows = np.zeros((features.n, len(base)), np.float32)
        np.add.at(rows, columns[known], [_numbers(entry.rows[key]) for key in keys if key in entry.rows])
        rows /= np.maximum(members, 1)[:, None]
        for fact in always:
            base += _numbers(entry.rows.get(self._form.key(fact), bytes(len(entry.base))))
        # The constant terms are those of the outputs.
        outputs[:, 0] += base[0]
        base[0] = 0
        return NetworkEvaluation(rows, base, outputs)

    def experience(self, entry: MemoryEntry, fluents: Sequence[Term]) -> Experience | None:
        """Returns an entry's positions for the next fit; None if they do not fit. New facts count as false."""
        positions, form = entry.positions, self._form
        place = {key: column for column, key in enumerate(positions.keys)}
        if form is None or len(place) < max(1, len(positions.keys)):
            return None
        keys = [form.key(fluent) for fluent in fluents]
        if len(set(keys)) < len(keys):
            # Ambiguous facts.
            return None
        rows = np.frombuffer(positions.facts, np.uint8).reshape(-1, (len(place) + 7) // 8)
        bits = np.unpackbits(rows, axis=1, bitorder="little")[:, : len(place)] != 0
        facts = np.zeros((len(rows), len(fluents)), np.bool_)
        known = [column for column, key in enumerate(keys) if key in place]
        facts[:, known] = bits[:, [place[keys[column]] for column in known]]
        targets = np.frombuffer(positions.targets, "<u2") / 65535
        return Experience(facts, np.frombuffer(positions.movers, np.int8), targets, positions.fresh)

    def keep(
        self,
        fluents: Sequence[Term],
        features: Features,
        evaluation: NetworkEvaluation,
        experience: Experience,
        *,
        generations: int,
        matches: int,
        trials: TrialPoints,
    ) -> None:
        """Stores an evaluation and its record (see `MemoryEntry`) for later matches. Raises `OSError`."""
        if self._form is None:
            return
        keys, columns = _keys(self._form, fluents, features)
        # Facts that the canonical form cannot tell apart should have about equal rows.
        shared: dict[int, list[NDArray[np.float32]]] = {}
        for key, column in zip(keys, columns.tolist(), strict=True):
            shared.setdefault(key, []).append(evaluation.rows[column])
        rows = {key: _bytes(np.mean(values, axis=0)) for key, values in shared.items()}
        positions = _positions(keys[: len(fluents)], experience)
        entry = MemoryEntry(
            rows,
            _bytes(evaluation.base),
            _bytes(evaluation.outputs),
            generations,
            matches,
            trials,
            positions,
        )
        self._store.write(self._form.digest, entry)


def _keys(form: CanonicalForm, fluents: Sequence[Term], features: Features) -> tuple[list[int], NDArray[np.int64]]:
    """Returns keys of fluents, conjunctions with a number of facts missing, threats and pairs, and the feature (column)
    of each.

    Features of none of these are not remembered.
    """
    keys = [form.key(fluent) for fluent in fluents]
    columns = list(range(len(fluents)))
    for c, places in enumerate(features.column.tolist()):
        whole = _together(keys, features.fact[features.first[c] : features.first[c + 1]].tolist())
        for missing, place in enumerate(places, 1):
            digest = hashlib.blake2b(whole, digest_size=8, key=b"%d missing" % missing).digest()
            keys.append(int.from_bytes(digest, "little"))
            columns.append(place)
    for fact, place in dict(zip(features.fact.tolist(), features.threat.tolist(), strict=False)).items():
        digest = hashlib.blake2b(keys[fact].to_bytes(8, "little"), digest_size=8, key=b"threat").digest()
        keys.append(int.from_bytes(digest, "little"))
        columns.append(place)
    for place, pair in enumerate(features.pair.tolist(), features.n_single):
        keys.append(_pair_key(keys, pair))
        columns.append(place)
    return keys, np.array(columns, np.int64)


def _together(keys: Sequence[int], facts: Sequence[int]) -> bytes:
    """Returns the keys of some facts, independent of their order."""
    return b"".join(key.to_bytes(8, "little") for key in sorted(keys[fact] for fact in facts))


def _pair_key(keys: Sequence[int], pair: Sequence[int]) -> int:
    digest = hashlib.blake2b(_together(keys, pair), digest_size=8, key=b"pair").digest()
    return int.from_bytes(digest, "little")


def _positions(keys: Sequence[int], experience: Experience) -> Positions:
    """Returns the newest positions that fit."""
    rows = np.packbits(experience.facts, axis=1, bitorder="little")
    most = MAX_FACT_BYTES // max(1, rows.shape[1])
    targets = np.round(65535 * experience.targets[-most:]).astype("<u2")
    movers = experience.movers[-most:].tobytes()
    return Positions(tuple(keys), rows[-most:].tobytes(), movers, targets.tobytes(), experience.fresh)


def _encode(digest: str, entry: MemoryEntry) -> bytes:
    data = {
        "version": VERSION,
        "rules": digest,
        "generations": entry.generations,
        "matches": entry.matches,
        "points": entry.trials.points,
        "trials": entry.trials.matches,
        "rows": {f"{key:016x}": b64encode(row).decode() for key, row in entry.rows.items()},
        "base": b64encode(entry.base).decode(),
        "outputs": b64encode(entry.outputs).decode(),
        "positions": {
            "keys": [f"{key:016x}" for key in entry.positions.keys],
            "facts": b64encode(entry.positions.facts).decode(),
            "movers": b64encode(entry.positions.movers).decode(),
            "targets": b64encode(entry.positions.targets).decode(),
            "fresh": entry.positions.fresh,
        },
    }
    body = json.dumps(data).encode()
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body + b"\n"


def _decode(content: bytes, digest: str) -> MemoryEntry:
    """Raises `ValueError`, `KeyError`, `TypeError` or `AttributeError` for anything but an entry of these rules."""
    checksum, _, body = content.partition(b"\n")
    body = body.removesuffix(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        raise ValueError("damaged")
    data: Any = bounded_json.loads(body.decode())
    if data["version"] != VERSION or data["rules"] != digest:
        raise ValueError("of another version, or of other rules")
    base, outputs = (b64decode(data[name], validate=True) for name in ("base", "outputs"))
    rows = {int(key, 16): b64decode(row, validate=True) for key, row in data["rows"].items()}
    if len(base) not in (4, 4 * COLUMNS) or {len(row) for row in rows.values()} - {len(base)}:
        raise ValueError("rows of no length")
    if len(outputs) != MOVERS * len(base):
        raise ValueError("outputs of no length")
    if not (np.abs(_numbers(b"".join([base, outputs, *rows.values()]))) <= MAX_WEIGHT).all():
        raise ValueError("weights out of bounds")
    generations, matches = (int(data[name]) for name in ("generations", "matches"))
    if min(generations, matches) < 0:
        raise ValueError("counts out of bounds")
    trials = TrialPoints(float(data["points"]), int(data["trials"]))
    if not 0 <= trials.points <= trials.matches:
        raise ValueError("points out of bounds")
    positions = _decode_positions(data["positions"])
    return MemoryEntry(rows, base, outputs, generations, matches, trials, positions)


def _decode_positions(data: Any) -> Positions:
    keys = tuple(int(key, 16) for key in data["keys"])
    facts, movers, targets = (b64decode(data[name], validate=True) for name in ("facts", "movers", "targets"))
    fresh = int(data["fresh"])
    if len(facts) != len(movers) * ((len(keys) + 7) // 8) or len(targets) != 2 * len(movers) or fresh < 0:
        raise ValueError("positions of no length")
    if max(movers, default=0) >= MOVERS:
        raise ValueError("movers out of bounds")
    return Positions(keys, facts, movers, targets, fresh)


def _bytes(numbers: NDArray[np.floating[Any]]) -> bytes:
    """Returns numbers, little-endian in 32 bits."""
    return numbers.astype("<f4").tobytes()


def _numbers(content: bytes) -> NDArray[np.float32]:
    """Reverses `_bytes`."""
    return np.frombuffer(content, "<f4").astype(np.float32)
