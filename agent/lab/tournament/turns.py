"""Turns of an engine: proofs and times, in one match and over many."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Turns:
    """All turns of an engine in a match. Turns without a choice do not count."""

    proven_from: int | None
    """First ply of the match, counted from 1, of its proven turns up to the last; None if that was not proven."""
    proofs_missed: int
    """Turns at which it held a higher goal to be proven than it got in the end."""
    slowest: float
    """Seconds of the longest turn."""
    available: float
    """CPU seconds of its cores during its turns."""
    cpu: float
    """CPU seconds used of them: fewer where other processes ran, or the engine used fewer cores."""


@dataclass
class TurnStatistics:
    """Turns of an engine in many matches; one without a proof counts as proven at its end."""

    plies: list[int] = field(default_factory=list)
    """First proven ply, by match."""
    before_end: list[int] = field(default_factory=list)
    """Plies from that one to the last, both included, by match."""
    never: int = 0
    """Matches without a proof."""
    proofs_missed: int = 0
    slowest: float = 0.0
    available: float = 0.0
    cpu: float = 0.0

    def add(self, turns: Turns, length: int) -> None:
        """Counts a match of that many plies."""
        ply = length + 1 if turns.proven_from is None else turns.proven_from
        self.plies.append(ply)
        self.before_end.append(length + 1 - ply)
        self.never += turns.proven_from is None
        self.proofs_missed += turns.proofs_missed
        self.slowest = max(self.slowest, turns.slowest)
        self.available += turns.available
        self.cpu += turns.cpu

    @property
    def busy(self) -> float:
        """Share of its cores' time that the engine used, 0..1; well below 1 where others used them."""
        return self.cpu / self.available if self.available >= 1e-4 else 1.0

    def as_json(self) -> dict[str, float] | None:
        """Returns medians, sums and extremes as data; None where nothing was counted."""
        if not self.plies:
            return None
        return {
            "matches": len(self.plies),
            "proven_from": statistics.median(self.plies),
            "proven_before_end": statistics.median(self.before_end),
            "never_proven": self.never,
            "proofs_missed": self.proofs_missed,
            "slowest": round(self.slowest, 4),
            "busy": round(self.busy, 4),
        }
