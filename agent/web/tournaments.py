"""What a page shows of a tournament, whoever runs it: the contract between the site and those who know the results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from agent.web.transcript import Transcript

MOST_MATCHES = 200
"""Matches that are listed at once, the newest first. Set by hand; not tuned."""


class ShownTournament(ABC):
    """One tournament. The site asks in threads, as summing up many matches takes a while."""

    key: str
    """Names it in links."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """What an overview says of it, as JSON data: `key`, `title`, `games` (names), `players` (names, the best
        first), `running`, `played` (matches), `planned` (None: not known)."""

    @abstractmethod
    def view(self) -> dict[str, Any]:
        """The summary, `seconds_left` (None: not known), `stalled`, `settings` and `table`, a line a player as
        `ggp-agent tournament --json` writes it."""

    @abstractmethod
    def matches(self, game: str | None, player: str | None) -> dict[str, Any]:
        """The matches of a game and a player (None: any), the newest `MOST_MATCHES` of them: `count` of all, and of
        each in `matches` the `game`, `round`, `seats` (`role`, `player`, `goal`), `plies`, `outcome`, `errors` (how
        many) and the `key` of its replay (None where the rules are not known any more)."""

    @abstractmethod
    def find(self, key: str) -> Transcript | None:
        """The match of that key, with its positions."""
