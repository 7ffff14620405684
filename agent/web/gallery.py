"""The matches that a page shows, and who is told when one of them changes."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agent.web.transcript import Transcript

log = logging.getLogger(__name__)

KEPT = 20
"""Finished matches that are remembered. Set by hand; not tuned."""


def key_of(name: str, taken: object = ()) -> str:
    """A key for links: readable, and one match's own whatever managers call their matches."""
    readable = re.sub(r"[^0-9A-Za-z._-]", "_", name)[:60]
    digest = hashlib.sha256(f"{name}\0{taken}".encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{readable}-{digest}"


class Gallery:
    """Running matches, and the last finished ones."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._transcripts: dict[str, Transcript] = {}
        self._watchers: dict[asyncio.Event, str | None] = {}
        self._begun = 0
        self.ended: Callable[[Transcript], None] = lambda transcript: None
        """Told of each match when it is over."""
        self._running: set[str] = set()
        self.arrived = asyncio.Event()
        """Set while somebody watches."""

    @property
    def transcripts(self) -> list[Transcript]:
        """All matches, the newest first."""
        return list(reversed(self._transcripts.values()))

    def find(self, key: str) -> Transcript | None:
        """The match of that key."""
        return self._transcripts.get(key)

    def new_key(self, name: str) -> str:
        """A key for a match that begins."""
        self._begun += 1
        return key_of(name, (self._begun, id(self)))

    def add(self, transcript: Transcript) -> None:
        """Shows a match from now on."""
        transcript.changed = self._tell
        self._transcripts[transcript.key] = transcript
        if transcript.running:
            self._running.add(transcript.key)
        finished = [key for key, other in self._transcripts.items() if not other.running]
        for key in finished[: max(0, len(finished) - self._kept)]:
            del self._transcripts[key]
        self._tell(transcript)

    @property
    def watched(self) -> bool:
        """Whether anybody watches."""
        return bool(self._watchers)

    @contextmanager
    def watching(self, key: str | None) -> Iterator[asyncio.Event]:
        """Within, the event is set whenever the match of that key changes; without a key, whenever any does."""
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
        """Tells those who watch what has that key, or everything, that it has changed."""
        for event, key in self._watchers.items():
            if key is None or key == changed:
                event.set()
