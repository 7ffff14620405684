"""The opponent on a ladder against which a player scores half of the points: a level of this agent, or another engine
that is given less to search.

Adaptive: each pair of matches, with the roles exchanged, meets the rung that tells most, the one nearest to what is
expected so far (QUEST: Watson and Pelli, Perception & Psychophysics 33, 1983). The score against a rung is taken for a
logistic function of the doublings of playouts (nodes, milliseconds) between both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.errors import InputError
from agent.lab.tally import Tally
from agent.lab.tournament.contenders import Contender, parse_contender
from agent.lab.tournament.matches import MatchPlayer, SeatOutside
from agent.lab.tournament.results import MatchResult, Pairing, Settings
from agent.lab.tournament.series import SeriesLog, SeriesWatcher, check_addresses
from agent.search.levels import PREFIX
from agent.sheet import Sheet
from games.machine import points

STEP = 0.125
"""Doublings between two strengths that are told apart."""
SLOPES = np.geomspace(0.35, 1.2, 8)
"""Log odds per doubling that are thought possible, all equally likely: levels against levels have such ones."""
NARROW = 1.0
"""Doublings of a 95 % interval that is narrow enough: the game's remaining matches are left out."""


@dataclass(frozen=True)
class Estimate:
    """The strength of a player, in doublings from the lowest rung on."""

    strength: float
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the 95 % interval."""


@dataclass(frozen=True)
class Ladder:
    """Opponents, each with so many times as much to search as the one below it."""

    rungs: Sequence[Contender]
    """Lowest first."""
    lowest: int = 1
    """Playouts (nodes, milliseconds) a move of the lowest."""
    doublings: int = 1
    """Doublings from a rung to the next. A player may be outside of the ladder by as many: more cannot be told."""
    unit: str = "playouts"
    first: int | None = None
    """The rung of the first pair; the next ones climb or descend by one at most. None: no bounds."""
    outside: SeatOutside | None = None
    """Makes contenders of that kind."""

    @property
    def top(self) -> int:
        """Doublings from the lowest rung to the highest."""
        return self.doublings * (len(self.rungs) - 1)

    @cached_property
    def strengths(self) -> NDArray[np.float64]:
        """The strengths that are thought possible, all equally likely."""
        return np.arange(-self.doublings, self.top + self.doublings + STEP / 2, STEP)

    def height(self, label: str) -> int:
        """Returns the doublings from the lowest rung to that of a label."""
        return self.doublings * [rung.label for rung in self.rungs].index(label)

    def likelihood(self, scores: Iterable[tuple[float, float]]) -> NDArray[np.float64]:
        """Returns the probability of each of `strengths` after matches: doublings of the rung, and the points (0..1)
        against it."""
        logs = np.zeros((len(self.strengths), len(SLOPES)))
        for height, share in scores:
            odds = SLOPES * (self.strengths[:, None] - height)
            logs -= share * np.logaddexp(0, -odds) + (1 - share) * np.logaddexp(0, odds)
        weights = np.exp(logs - logs.max()).sum(axis=1)
        result: NDArray[np.float64] = weights / weights.sum()
        return result

    def estimate(self, likelihoods: Sequence[NDArray[np.float64]]) -> Estimate:
        """Returns the mean strength over games, from the probabilities in each."""
        weights = reduce(np.convolve, likelihoods)
        strengths = np.linspace(self.strengths[0], self.strengths[-1], len(weights))
        below = np.cumsum(weights) - weights / 2
        low, high = np.interp([0.025, 0.975], below, strengths)
        return Estimate(float(weights @ strengths), float(low), float(high))

    def text(self, strength: float) -> str:
        """Returns a strength in playouts a move, with two digits."""
        if strength < 0:
            return f"< {self.lowest}"
        if strength > self.top:
            return f"> {self.lowest << self.top}"
        return f"{float(f'{self.lowest * 2**strength:.2g}'):.9g}"

    def as_json(self, found: Estimate) -> dict[str, float]:
        """Returns an estimate in playouts a move."""
        names = {self.unit: found.strength, "low": found.low, "high": found.high}
        return {name: round(self.lowest * 2**strength, 2) for name, strength in names.items()}


LEVELS = Ladder([parse_contender(f"level.{2**doubling}={PREFIX}{2**doubling}", ()) for doubling in range(15)])
"""The levels of this agent, from a playout a move on."""


@dataclass
class GameRating:
    """The matches of a game."""

    game: str
    results: list[MatchResult]
    player: str
    """The rated player's label."""
    ladder: Ladder

    @property
    def scores(self) -> list[tuple[float, float]]:
        """Of the finished matches: doublings of the rung, and the player's points, 0..1."""
        found: list[tuple[float, float]] = []
        for result in self.results:
            if result.outcome == "finished":
                seat = result.seats.index(self.player)
                difference = points(result.goals[seat]) - points(result.goals[1 - seat])
                found.append((self.ladder.height(result.seats[1 - seat]), 0.5 + 0.5 * float(np.sign(difference))))
        return found

    @property
    def likelihood(self) -> NDArray[np.float64]:
        """See `Ladder.likelihood`."""
        return self.ladder.likelihood(self.scores)

    @property
    def estimate(self) -> Estimate:
        """The strength in this game."""
        return self.ladder.estimate([self.likelihood])

    @property
    def by_rung(self) -> dict[int, Tally]:
        """The results at each rung, by its playouts a move, lowest first."""
        tallies: dict[int, Tally] = {}
        for height, share in sorted(self.scores):
            playouts = round(self.ladder.lowest * 2**height)
            tallies[playouts] = tallies.get(playouts, Tally()).plus(round(2 * share) - 1)
        return tallies

    def as_json(self) -> dict[str, object]:
        """Returns the estimate and the results against each rung as data."""
        return {
            "game": self.game,
            **self.ladder.as_json(self.estimate),
            "matches": len(self.results),
            "errors": sum(len(errors_of(result, self.player)) for result in self.results),
            "levels": [
                {self.ladder.unit: rung, "matches": tally.games, "points": tally.share * tally.games}
                for rung, tally in self.by_rung.items()
            ],
        }


def errors_of(result: MatchResult, player: str) -> list[dict[str, object]]:
    """Returns a player's errors in a match."""
    return [error for error in result.errors if error["seat"] == result.seats.index(player)]


def rate(
    player: Contender,
    sheets: Sequence[Sheet],
    settings: Settings,
    *,
    matches: int,
    ladder: Ladder = LEVELS,
    narrow: float = NARROW,
    log: Path | None = None,
    watcher: SeriesWatcher | None = None,
) -> list[GameRating]:
    """Plays up to that many matches of each game, those of the log included; returns a rating for each game.

    A game ends earlier once its interval has no more than `narrow` doublings. Balanced openings lead to different
    positions. Raises `CommandError` where player, games or log make no sense.
    """
    watcher = watcher or SeriesWatcher()
    for sheet in sheets:
        if not sheet.for_two:
            raise InputError(f"{sheet.name}: players are rated at games of two players and perfect information")
    contenders = {contender.label: contender for contender in (player, *ladder.rungs)}
    by_name = {sheet.name: sheet for sheet in sheets}
    played = SeriesLog(log, settings, contenders, by_name)
    known = played.known
    asyncio.run(check_addresses([player]))
    watcher.begins(sheets, matches * len(sheets), known.values())
    ratings = []
    with closing(MatchPlayer(settings, contenders, by_name, ladder.outside)) as playing:
        for sheet in sheets:
            rating = GameRating(sheet.name, [], player.label, ladder)
            ratings.append(rating)
            of_game = [result for result in known.values() if result.game == sheet.name]
            for pairing in _pairings(rating, matches, narrow):
                if (result := known.get(pairing)) is None:
                    openings = {other.round: other.opening for other in (*of_game, *rating.results)}
                    opening = openings.get(pairing.round)
                    if opening is None and settings.balanced:
                        opening = playing.draw(sheet.name, pairing.round, openings.values())
                    result = next(playing.play(pairing, opening))
                    played.add(result)
                    watcher.ended(result, "here")
                rating.results.append(result)
    return ratings


def _pairings(rating: GameRating, matches: int, narrow: float) -> Iterator[Pairing]:
    """Yields the next match of a game, until it tells enough."""
    ladder, rung = rating.ladder, rating.ladder.first
    for number in range(1, matches // 2 + 1):
        found = rating.estimate
        if found.high - found.low <= narrow:
            return
        nearest = min(max(round(found.strength / ladder.doublings), 0), len(ladder.rungs) - 1)
        if rung is None or ladder.first is None:
            rung = nearest
        elif number > 1:
            rung = min(max(nearest, rung - 1), rung + 1)
        level = ladder.rungs[rung].label
        for seats in ((rating.player, level), (level, rating.player)):
            yield Pairing(rating.game, number, seats)
