"""The matches of a page, and notifications of their changes."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from agent.web.transcript import Transcript

log = logging.getLogger(__name__)

KEPT, MOST_KEPT_BYTES = 20, 128 << 20
"""Number of finished matches kept, and bytes that they take together, roughly."""


KEY = re.compile(r"[0-9A-Za-z._-]{0,60}-[0-9a-f]{6}")
"""A key for links."""


def key_of(name: str, taken: object = ()) -> str:
    """Returns a key for links: readable, and unique even for matches of the same name if `taken` differs."""
    readable = re.sub(r"[^0-9A-Za-z._-]", "_", name)[:60]
    digest = hashlib.sha256(f"{name}\0{taken}".encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{readable}-{digest}"


Figures: TypeAlias = Callable[[], dict[str, object]]
"""Returns figures of a server, see `Statistics.match_day`."""


class Gallery:
    """Running matches, and the last finished ones."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._transcripts: dict[str, Transcript] = {}
        self._watchers: dict[asyncio.Event, str | None] = {}
        self._begun = 0
        self.ended: Callable[[Transcript], None] = lambda transcript: None
        """Called with each match when it is over."""
        self._running: set[str] = set()
        self.arrived = asyncio.Event()
        """Set while somebody watches."""

    @property
    def transcripts(self) -> list[Transcript]:
        """Matches, the newest first."""
        return list(reversed(self._transcripts.values()))

    def find(self, key: str) -> Transcript | None:
        """Returns the match of this key."""
        return self._transcripts.get(key)

    def new_key(self, name: str) -> str:
        """Returns a key for a new match."""
        self._begun += 1
        return key_of(name, (self._begun, id(self)))

    def add(self, transcript: Transcript) -> None:
        """Adds a match; the oldest finished ones may go."""
        transcript.changed = self._tell
        self._transcripts[transcript.key] = transcript
        if transcript.running:
            self._running.add(transcript.key)
        finished = [other for other in self._transcripts.values() if not other.running]
        size = sum(other.size for other in finished)
        for number, other in enumerate(finished):
            if len(finished) - number > self._kept or size > MOST_KEPT_BYTES:
                del self._transcripts[other.key]
                size -= other.size
        self._tell(transcript)

    @property
    def watched(self) -> bool:
        """Whether anybody watches."""
        return bool(self._watchers)

    @contextmanager
    def watching(self, key: str | None) -> Iterator[asyncio.Event]:
        """Yields an event that is set whenever the match of this key changes, or any match without a key."""
        event = asyncio.Event()
        self._watchers[event] = key
        self.arrived.set()
        try:
            yield event
        finally:
            del self._watchers[event]
            if not self._watchers:
                self.arrived.clear()

    def _tell(self, transcript: Transcript) -> None:
        if not transcript.running and transcript.key in self._running:
            self._running.discard(transcript.key)
            self.ended(transcript)
        self.tell(transcript.key)

    def tell(self, changed: str) -> None:
        """Notifies the watchers of this key, and those of everything."""
        for event, key in self._watchers.items():
            if key is None or key == changed:
                event.set()
