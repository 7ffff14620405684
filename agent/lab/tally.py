"""Won, drawn and lost games of one contender, and the confidence interval of its share of the points."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Tally:
    """Games of one contender."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    def plus(self, result: int) -> Tally:
        """Returns the tally with one more game: won (result > 0), drawn (0) or lost (< 0)."""
        return Tally(self.wins + (result > 0), self.draws + (result == 0), self.losses + (result < 0))

    @property
    def games(self) -> int:
        """Number of games."""
        return self.wins + self.draws + self.losses

    @property
    def share(self) -> float:
        """Share of the points, 0..1; a draw is half a point."""
        return (self.wins + 0.5 * self.draws) / self.games

    def interval(self) -> tuple[float, float]:
        """Returns the 95 % confidence interval of the share (see `wilson`)."""
        return wilson(self.share, self.games)

    def as_json(self) -> dict[str, float]:
        """Returns the numbers of games, and where there are any the share and its interval."""
        if not self.games:
            return asdict(self)
        low, high = self.interval()
        return {**asdict(self), "share": round(self.share, 4), "low": round(low, 4), "high": round(high, 4)}

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"{100 * self.share:.1f} % of {self.games} games (95 % interval {100 * low:.1f}..{100 * high:.1f}): "
            f"+{self.wins} ={self.draws} -{self.losses}"
        )


def wilson(share: float, games: int, z: float = 1.96) -> tuple[float, float]:
    """Returns the 95 % confidence interval of a share, 0..1 (E. Wilson, 1927).

    Exact for games that are won or lost. For other results between 0 and 1 it is too wide, as they vary less.
    """
    centre = (share + z * z / (2 * games)) / (1 + z * z / games)
    spread = z / (1 + z * z / games) * math.sqrt(share * (1 - share) / games + z * z / (4 * games * games))
    return max(0.0, centre - spread), min(1.0, centre + spread)
