"""Memory of earlier matches of a game, on disk under a digest of its rules.

It keeps the evaluation, its record, and the positions for the next fit. Learning continues as if the last match had not
ended, so games are learnt even where each match leaves little time.

An entry is a NumPy archive (`.npz`), with a checksum for each array. Damaged files and those of other versions are
ignored and overwritten. Several processes may read and write at once: files are replaced as a whole, and the last
writer wins. If there are too many, those unused for the longest time are deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import math
import os
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.search.evaluation.features import Features
from agent.search.evaluation.network import MOVERS, NetworkEvaluation
from agent.search.learning.canonical import CanonicalForm, canonical_form
from agent.search.learning.learner import Experience
from games.bits.short_rows import COLUMNS
from games.gdl.rules.surface import says_init
from games.machine import Term

log = logging.getLogger(__name__)

VERSION = 9
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
class MemoryEntry:
    """Memory of one game."""

    keys: NDArray[np.uint64]
    """(n) of fluents, conjunctions with a number of facts missing, threats (see `Features.threat`) and pairs."""
    rows: NDArray[np.float32]
    """(n, 1 or `COLUMNS`) rows of the evaluation, see `NetworkEvaluation`."""
    base: NDArray[np.float32]
    outputs: NDArray[np.float32]
    """(columns), (`MOVERS`, columns)"""
    counts: NDArray[np.int64]
    """(4) evaluations learnt one after the other, matches against itself learnt from, alpha-beta's trial matches
    against tree search, matches since the last fit."""
    points: NDArray[np.float64]
    """() Points of alpha-beta in these trial matches."""
    fluents: NDArray[np.uint64]
    """(m) keys of the facts of the positions for the next fit."""
    facts: NDArray[np.uint8]
    """(positions, (m + 7) / 8) a bit for each fact, lowest first."""
    movers: NDArray[np.uint8]
    """(positions) who chooses, see `NOBODY`."""
    targets: NDArray[np.uint16]
    """(positions) 65535 stands for 1."""

    @property
    def generations(self) -> int:
        """Evaluations learnt one after the other."""
        return int(self.counts[0])

    @property
    def matches(self) -> int:
        """Matches against itself learnt from."""
        return int(self.counts[1])

    @property
    def trials(self) -> tuple[float, int]:
        """Points of alpha-beta against tree search, and number of trial matches."""
        return float(self.points), int(self.counts[2])


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
            entry = _decode(path, path.name.removesuffix(SUFFIX))
        except FileNotFoundError:
            return None
        except Exception as error:
            # Damages make NumPy and `zipfile` fail in many ways.
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
                np.savez(file, version=VERSION, rules=digest, **asdict(entry))
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
            entry = entry and replace(entry, counts=entry.counts * (1, 1, 0, 1), points=np.array(0.0))
        return entry

    def pairs(self, entry: MemoryEntry, fluents: Sequence[Term]) -> NDArray[np.int32]:
        """Returns the pairs (n, 2) of these fluents with weights in an entry: random play would show others."""
        if self._form is None:
            return np.zeros((0, 2), np.int32)
        keys, known = [self._form.key(fluent) for fluent in fluents], set(entry.keys.tolist())
        found = [pair for pair in combinations(range(len(fluents)), 2) if _pair_key(keys, pair) in known]
        return np.array(found, np.int32).reshape(-1, 2)

    def evaluation(
        self, entry: MemoryEntry, fluents: Sequence[Term], features: Features, always: Sequence[Term] = ()
    ) -> NetworkEvaluation | None:
        """Returns an entry's evaluation for these features of a game with these fluents, and facts that hold always;
        None if it does not fit."""
        if self._form is None:
            return None
        keys, columns = _keys(self._form, fluents, features)
        place = {key: row for row, key in enumerate(entry.keys.tolist())}
        known = np.array([place.get(key, -1) for key in keys])
        if (known[: len(fluents)] >= 0).sum() < max(1.0, LEAST_KNOWN * len(fluents)):
            return None
        columns, known = columns[known >= 0], known[known >= 0]
        # A conjunction not in the entry is left out of the mean of those that share its row.
        rows = np.zeros((features.n, len(entry.base)), np.float32)
        np.add.at(rows, columns, entry.rows[known])
        rows /= np.maximum(np.bincount(columns, minlength=features.n), 1)[:, None]
        base, outputs = entry.base.copy(), entry.outputs.copy()
        base += entry.rows[[place[key] for key in map(self._form.key, always) if key in place]].sum(axis=0)
        # The constant terms are those of the outputs.
        outputs[:, 0] += base[0]
        base[0] = 0
        return NetworkEvaluation(rows, base, outputs)

    def experience(self, entry: MemoryEntry, fluents: Sequence[Term]) -> Experience | None:
        """Returns an entry's positions for the next fit; None if they do not fit. New facts count as false."""
        form = self._form
        place = {key: column for column, key in enumerate(entry.fluents.tolist())}
        if form is None or len(place) < max(1, len(entry.fluents)):
            return None
        keys = [form.key(fluent) for fluent in fluents]
        if len(set(keys)) < len(keys):
            # Ambiguous facts.
            return None
        bits = np.unpackbits(entry.facts, axis=1, count=len(place), bitorder="little") != 0
        facts = np.zeros((len(bits), len(fluents)), np.bool_)
        known = [column for column, key in enumerate(keys) if key in place]
        facts[:, known] = bits[:, [place[keys[column]] for column in known]]
        fresh = int(entry.counts[3])
        return Experience(facts, entry.movers.astype(np.int8), entry.targets / 65535, fresh)

    def keep(
        self,
        fluents: Sequence[Term],
        features: Features,
        evaluation: NetworkEvaluation,
        experience: Experience,
        *,
        generations: int,
        matches: int,
        trials: tuple[float, int],
    ) -> None:
        """Stores an evaluation and its record (see `MemoryEntry`) for later matches. Raises `OSError`."""
        if self._form is None:
            return
        keys, columns = _keys(self._form, fluents, features)
        # Facts that the canonical form cannot tell apart should have about equal rows.
        found, place = np.unique(np.array(keys, np.uint64), return_inverse=True)
        rows = np.zeros((len(found), len(evaluation.base)), np.float32)
        np.add.at(rows, place, evaluation.rows[columns])
        packed = np.packbits(experience.facts, axis=1, bitorder="little")
        most = MAX_FACT_BYTES // max(1, packed.shape[1])
        entry = MemoryEntry(
            found,
            (rows / np.bincount(place)[:, None]).astype(np.float32),
            evaluation.base.astype(np.float32),
            evaluation.outputs.astype(np.float32),
            np.array([generations, matches, trials[1], experience.fresh]),
            np.array(trials[0], np.float64),
            np.array(keys[: len(fluents)], np.uint64),
            packed[-most:],
            experience.movers[-most:].astype(np.uint8),
            np.round(65535 * experience.targets[-most:]).astype(np.uint16),
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


def _decode(path: Path, digest: str) -> MemoryEntry:
    """Raises `Exception` for anything but an entry of these rules."""
    if path.stat().st_size > MAX_FILE:
        raise ValueError("too large")
    with np.load(io.BytesIO(path.read_bytes())) as file:
        if sum(part.file_size for part in file.zip.infolist()) > MAX_FILE:
            raise ValueError("too large")
        if file["version"] != VERSION or file["rules"] != digest:
            raise ValueError("of another version, or of other rules")
        entry = MemoryEntry(*(file[name].astype(kind, casting="safe", copy=False) for name, kind in _KINDS.items()))
    columns, positions = len(entry.base), len(entry.movers)
    shapes = {
        "rows": (len(entry.keys), columns),
        "outputs": (MOVERS, columns),
        "counts": (4,),
        "points": (),
        "facts": (positions, (len(entry.fluents) + 7) // 8),
        "targets": (positions,),
    }
    if columns not in (1, COLUMNS) or any(getattr(entry, name).shape != shape for name, shape in shapes.items()):
        raise ValueError("shapes do not fit")
    weights = np.concatenate([entry.rows, entry.base[None], entry.outputs])
    points, trials = entry.trials
    if not ((np.abs(weights) <= MAX_WEIGHT).all() and (entry.counts >= 0).all() and 0 <= points <= trials):
        raise ValueError("numbers out of bounds")
    if entry.movers.max(initial=0) >= MOVERS:
        raise ValueError("movers out of bounds")
    return entry


_KINDS = {
    "keys": np.uint64,
    "rows": np.float32,
    "base": np.float32,
    "outputs": np.float32,
    "counts": np.int64,
    "points": np.float64,
    "fluents": np.uint64,
    "facts": np.uint8,
    "movers": np.uint8,
    "targets": np.uint16,
}
"""Types of an entry's arrays, in order."""
