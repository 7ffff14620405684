"""The score of one contender over many games, with its confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """The first contender's results."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    def plus(self, result: int) -> Score:
        """With one more game: +1, 0 or -1."""
        return Score(self.wins + (result > 0), self.draws + (result == 0), self.losses + (result < 0))

    @property
    def games(self) -> int:
        """How many games were played."""
        return self.wins + self.draws + self.losses

    @property
    def share(self) -> float:
        """The points won, 0..1; a draw is half a point."""
        return (self.wins + 0.5 * self.draws) / self.games

    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the share (E. Wilson, 1927)."""
        return wilson(self.share, self.games)

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"{100 * self.share:.1f} % of {self.games} games (95 % interval {100 * low:.1f}..{100 * high:.1f}): "
            f"+{self.wins} ={self.draws} -{self.losses}"
        )


def wilson(share: float, games: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % confidence interval of a share, 0..1 (E. Wilson, 1927).

    Right for games that are won or lost. For any other results between 0 and 1 with this mean it is too wide, never too
    narrow, since they vary less.
    """
    centre = (share + z * z / (2 * games)) / (1 + z * z / games)
    spread = z / (1 + z * z / games) * math.sqrt(share * (1 - share) / games + z * z / (4 * games * games))
    return max(0.0, centre - spread), min(1.0, centre + spread)
