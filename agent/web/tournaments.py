"""The contract between the site and the tournaments on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from agent.web.transcript import Transcript

MOST_MATCHES = 200
"""Most matches listed at once, the newest first."""


class ShownTournament(ABC):
    """One tournament. Its methods are called in threads, as summing up many matches takes a while."""

    key: str
    """Key for links."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Returns the overview's data as JSON data: `key`, `title`, `games` (names), `players` (names, the best
        first), `running`, `played` (matches), `planned` (None: unknown)."""

    @abstractmethod
    def view(self) -> dict[str, Any]:
        """Returns the summary, `seconds_left` (None: unknown), `stalled`, `settings` and `table`, one row per player
        as in `ggp-agent tournament --json`."""

    @abstractmethod
    def matches(self, game: str | None, player: str | None) -> dict[str, Any]:
        """Returns the matches of a game and a player (None: any): their `count`, and the newest in `matches`.

        Each of these has `game`, `round`, `seats` (`role`, `player`, `goal`), `plies`, `outcome`, `errors` (their
        number) and the `key` of its replay (None where the rules are not known any more).
        """

    @abstractmethod
    def find(self, key: str) -> Transcript | None:
        """Returns the match of this key, with its positions."""
