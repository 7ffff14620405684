"""A log of lines that strangers cause, as many as they like."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass
from typing import Any

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 3600.0
"""Seconds for which further lines of a kind are only counted, after the first one and at most."""

MOST_KINDS = 1000
"""Kinds of lines remembered."""


@dataclass(slots=True)
class _Kind:
    until: float = -math.inf
    """Time until which lines are only counted."""
    pause: float = FIRST_PAUSE
    hidden: int = 0
    """Lines that were only counted since the last one."""


class SparingLog:
    """Tells lines of one text about one peer ever more rarely while they keep coming, and how many it left out."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._kinds: dict[tuple[str, str], _Kind] = {}

    def tell(self, peer: str, level: int, text: str, *arguments: object, exc_info: Any = None) -> None:
        """Logs a line, or counts it. `text` is what the `arguments` are put into."""
        now = time.monotonic()
        kind = self._kind(peer, text, now)
        if now < kind.until:
            kind.hidden += 1
            return
        kind.pause = min(2 * kind.pause, LONGEST_PAUSE) if now < kind.until + kind.pause else FIRST_PAUSE
        kind.until = now + kind.pause
        if kind.hidden:
            text, arguments = f"{text} (and %d more such lines)", (*arguments, kind.hidden)
            kind.hidden = 0
        self._log.log(level, text, *arguments, exc_info=exc_info)

    def _kind(self, peer: str, text: str, now: float) -> _Kind:
        if (peer, text) not in self._kinds and len(self._kinds) >= MOST_KINDS:
            self._kinds = {key: kind for key, kind in self._kinds.items() if now < kind.until + kind.pause}
            if len(self._kinds) >= MOST_KINDS:
                # All other peers count as one.
                peer = ""
        return self._kinds.setdefault((peer, text), _Kind())
