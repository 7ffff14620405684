"""What a tournament has shown so far: a table of the players, over all games and game by game."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from agent.lab.tally import Score, wilson
from agent.lab.tournament.bradley_terry import PRIOR_GAMES, Rating, ratings
from agent.lab.tournament.contenders import Contender
from agent.lab.tournament.results import MatchResult, Settings
from games.machine import points


@dataclass
class Average:
    """The mean of goals."""

    seats: int = 0
    """Roles played in matches that finished."""
    total: int = 0

    def add(self, goal: int) -> None:
        """One more role played."""
        self.seats += 1
        self.total += goal

    def as_json(self) -> dict[str, float | int | None]:
        """Mean, 0..100, and its 95 % interval (see `wilson`); None where nothing was played."""
        if not self.seats:
            return {"seats": 0, "average": None, "low": None, "high": None}
        low, high = wilson(self.total / self.seats / 100.0, self.seats)
        mean = self.total / self.seats
        return {
            "seats": self.seats,
            "average": round(mean, 2),
            "low": round(100 * low, 2),
            "high": round(100 * high, 2),
        }


@dataclass
class Line:
    """What the table says of one player."""

    contender: Contender
    goals: Average = field(default_factory=Average)
    by_game: dict[str, Average] = field(default_factory=dict)
    by_opponent: dict[str, Score] = field(default_factory=dict)
    """Roles compared with those of another player in the same match: who had the higher goal."""
    errors: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """How many of each kind, in all matches."""
    rating: Rating | None = None
    """None where it met nobody."""

    @property
    def score(self) -> Score:
        """Against all opponents together."""
        scores = self.by_opponent.values()
        return Score(sum(s.wins for s in scores), sum(s.draws for s in scores), sum(s.losses for s in scores))


class Standings:
    """The table. Does not depend on the order in which matches were played, nor on times."""

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
        """Matches that are missing, as their workers ended twice."""
        lines = {c.label: Line(c, by_game={game: Average() for game in games}) for c in contenders}
        for result in self.results:
            self._count(result, lines)
        met = [line.contender.label for line in lines.values() if line.by_opponent]
        wins = {
            (player, other): score.wins + 0.5 * score.draws
            for player in met
            for other, score in lines[player].by_opponent.items()
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
        for seat, goal in zip(result.seats, goals, strict=True):
            lines[seat].goals.add(goal)
            lines[seat].by_game[result.game].add(goal)
        for first, second in combinations(range(len(goals)), 2):
            if result.seats[first] != result.seats[second]:
                difference = goals[first] - goals[second]
                one, other = result.seats[first], result.seats[second]
                for player, opponent, sign in ((one, other, 1), (other, one, -1)):
                    scores = lines[player].by_opponent
                    scores[opponent] = scores.get(opponent, Score()).plus(sign * difference)

    def as_json(self, settings: Settings, rounds: int) -> dict[str, object]:
        """Table and matches as data; the same for the same matches."""
        return {
            "games": self.games,
            "rounds": rounds,
            **settings.as_json(),
            "matches_played": len(self.results),
            "matches_stalled": self.stalled,
            "matches_lost": self.lost,
            "elo_model": f"Bradley-Terry, draws half a win each, {PRIOR_GAMES} games of prior, mean 0",
            "table": self.table_json(),
            "matches": [
                {
                    "game": result.game,
                    "round": result.round,
                    "roles": result.roles,
                    "seats": result.seats,
                    "outcome": result.outcome,
                    "goals": result.goals,
                    "plies": len(result.opening) + len(result.moves),
                    "opening": result.opening,
                    "moves": result.moves,
                    "errors": result.errors,
                }
                for result in self.results
            ],
        }

    def table_json(self) -> list[dict[str, object]]:
        """A line for each player, the best first."""
        return [_line_json(line) for line in self.lines]

    def as_rows(self) -> list[dict[str, object]]:
        """The table as flat rows, for CSV."""
        rows = []
        for line in self.lines:
            score, rating = line.score, line.rating
            row: dict[str, object] = {"player": line.contender.label, "is": line.contender.spec}
            row |= line.goals.as_json()
            row |= {"wins": score.wins, "draws": score.draws, "losses": score.losses}
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
    mean = line.goals.total / line.goals.seats if line.goals.seats else -1.0
    return -(line.rating.elo if line.rating else 0.0), -mean, line.contender.label


def _line_json(line: Line) -> dict[str, object]:
    score = line.score
    return {
        "player": line.contender.label,
        "is": line.contender.spec,
        "goals": line.goals.as_json(),
        "goals_by_game": {game: average.as_json() for game, average in line.by_game.items()},
        "wins": score.wins,
        "draws": score.draws,
        "losses": score.losses,
        "against": {
            other: {"wins": s.wins, "draws": s.draws, "losses": s.losses}
            for other, s in sorted(line.by_opponent.items())
        },
        "elo": None
        if line.rating is None
        else {"elo": line.rating.elo, "low": line.rating.low, "high": line.rating.high},
        "errors": dict(sorted(line.errors.items())),
    }
