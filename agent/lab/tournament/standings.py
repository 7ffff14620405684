"""Table of a tournament's players, over all games and game by game."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations

from agent.lab.tally import Tally, wilson
from agent.lab.tournament.bradley_terry import PRIOR_GAMES, Rating, ratings
from agent.lab.tournament.contenders import Contender
from agent.lab.tournament.results import MatchResult, Settings
from agent.lab.tournament.turns import TurnStatistics
from games.machine import USUAL_GOALS, GoalScale, points

_SHOWN = ("game", "round", "roles", "seats", "outcome", "goals", "plies", "opening", "moves", "errors")
"""Figures of a match in the result."""


@dataclass
class Average:
    """Mean of goals."""

    seats: int = 0
    """Roles played in matches that finished."""
    total: int = 0
    """Sum of goals."""
    scale: GoalScale = USUAL_GOALS
    """The range of the goals."""

    def add(self, goal: int) -> None:
        """Counts one more role played."""
        self.seats += 1
        self.total += goal
        self.scale = self.scale.including([goal])

    def as_json(self) -> dict[str, float | int | None]:
        """Returns the mean and its 95 % interval (see `wilson`); None where nothing was played."""
        if not self.seats:
            return {"seats": 0, "average": None, "low": None, "high": None}
        mean = self.total / self.seats
        low, high = wilson(self.scale.worth(mean) / 100.0, self.seats)
        return {
            "seats": self.seats,
            "average": round(mean, 2),
            "low": round(self.scale.goal(100 * low), 2),
            "high": round(self.scale.goal(100 * high), 2),
        }


@dataclass
class Line:
    """A player's line of the table."""

    contender: Contender
    goals: Average = field(default_factory=Average)
    by_game: dict[str, Average] = field(default_factory=dict)
    by_opponent: dict[str, Tally] = field(default_factory=dict)
    """Comparisons of its goals with those of each other player of the same match."""
    moving_first: Tally = field(default_factory=Tally)
    """Comparisons in matches in which it was the first to have a choice after the opening."""
    moving_later: Tally = field(default_factory=Tally)
    """Comparisons in matches in which another player was the first."""
    turns: TurnStatistics = field(default_factory=TurnStatistics)
    errors: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Number of errors of each kind, in all matches."""
    rating: Rating | None = None
    """None for a player that met no other."""

    @property
    def tally(self) -> Tally:
        """Comparisons with all opponents together."""
        tallies = self.by_opponent.values()
        return Tally(sum(t.wins for t in tallies), sum(t.draws for t in tallies), sum(t.losses for t in tallies))


class Standings:
    """The table. Does not depend on the order in which matches were played."""

    def __init__(
        self,
        contenders: Sequence[Contender],
        games: Sequence[str],
        results: Iterable[MatchResult],
        lost: int = 0,
    ) -> None:
        self.results = sorted(results, key=lambda result: (games.index(result.game), result.round, result.seats))
        self.games = list(games)
        self.stalled = 0
        """Matches without a result, in which some role had no legal move."""
        self.lost = lost
        """Matches missing because their workers ended twice."""
        lines = {c.label: Line(c, by_game={game: Average() for game in games}) for c in contenders}
        for result in self.results:
            self._count(result, lines)
        met = [line.contender.label for line in lines.values() if line.by_opponent]
        wins = {
            (player, other): tally.wins + 0.5 * tally.draws
            for player in met
            for other, tally in lines[player].by_opponent.items()
        }
        for player, rating in ratings(met, wins).items():
            lines[player].rating = rating
        self.lines = sorted(lines.values(), key=_rank)
        """Best first: by Elo rating, or where there is none by average goal."""

    def _count(self, result: MatchResult, lines: dict[str, Line]) -> None:
        for error in result.errors:
            lines[result.seats[int(str(error["seat"]))]].errors[str(error["kind"])] += 1
        if result.outcome != "finished":
            self.stalled += 1
            return
        goals = [points(goal) for goal in result.goals]
        for player, goal in zip(result.seats, goals, strict=True):
            lines[player].goals.add(goal)
            lines[player].by_game[result.game].add(goal)
        for player, turns in zip(result.seats, result.turns, strict=False):
            if turns is not None:
                lines[player].turns.add(turns, result.plies)
        for first, second in combinations(range(len(goals)), 2):
            if result.seats[first] != result.seats[second]:
                difference = goals[first] - goals[second]
                one, other = result.seats[first], result.seats[second]
                for seat, player, opponent, sign in ((first, one, other, 1), (second, other, one, -1)):
                    line, outcome = lines[player], sign * difference
                    line.by_opponent[opponent] = line.by_opponent.get(opponent, Tally()).plus(outcome)
                    if result.chose_first == seat:
                        line.moving_first = line.moving_first.plus(outcome)
                    elif result.chose_first is not None:
                        line.moving_later = line.moving_later.plus(outcome)

    def as_json(self, settings: Settings, rounds: int) -> dict[str, object]:
        """Returns table and matches as data; the same for the same matches."""
        return {
            "games": self.games,
            "rounds": rounds,
            **settings.as_json(),
            "matches_played": len(self.results),
            "matches_stalled": self.stalled,
            "matches_lost": self.lost,
            "elo_model": f"Bradley-Terry, draws half a win each, {PRIOR_GAMES} games of prior, mean 0",
            "table": self.table_json(),
            "matches": [{name: getattr(result, name) for name in _SHOWN} for result in self.results],
        }

    def table_json(self) -> list[dict[str, object]]:
        """Returns a line for each player, best first."""
        return [_line_json(line) for line in self.lines]

    def as_rows(self) -> list[dict[str, object]]:
        """Returns the table as flat rows, for CSV."""
        rows = []
        for line in self.lines:
            tally, rating = line.tally, line.rating
            row: dict[str, object] = {"player": line.contender.label, "is": line.contender.spec}
            row |= line.goals.as_json()
            row |= asdict(tally)
            row |= {
                "elo": rating and rating.elo,
                "elo_low": rating and rating.low,
                "elo_high": rating and rating.high,
                "errors": sum(line.errors.values()),
            }
            row |= {f"average_{game}": average.as_json()["average"] for game, average in line.by_game.items()}
            rows.append(row)
        return rows


def _rank(line: Line) -> tuple[float, float, str]:
    mean = line.goals.total / line.goals.seats if line.goals.seats else -math.inf
    return -(line.rating.elo if line.rating else 0.0), -mean, line.contender.label


def _line_json(line: Line) -> dict[str, object]:
    return {
        "player": line.contender.label,
        "is": line.contender.spec,
        "goals": line.goals.as_json(),
        "goals_by_game": {game: average.as_json() for game, average in line.by_game.items()},
        **asdict(line.tally),
        "against": {other: asdict(tally) for other, tally in sorted(line.by_opponent.items())},
        "points": line.tally.as_json(),
        "moving_first": line.moving_first.as_json(),
        "moving_later": line.moving_later.as_json(),
        "turns": line.turns.as_json(),
        "elo": line.rating and asdict(line.rating),
        "errors": dict(sorted(line.errors.items())),
    }
