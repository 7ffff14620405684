"""The level of this agent against which another player scores half of the points.

Adaptive: each pair of matches, with the roles exchanged, meets the level that tells most, the one nearest to what is
expected so far (QUEST: Watson and Pelli, Perception & Psychophysics 33, 1983). The score against a level is taken for a
logistic function of the doublings of playouts between both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.errors import InputError
from agent.lab.tournament.contenders import Contender, parse_contender
from agent.lab.tournament.log import MatchLog
from agent.lab.tournament.matches import MatchPlayer
from agent.lab.tournament.results import MatchResult, Pairing, Settings, check_same, read_result
from agent.lab.tournament.series import SeriesWatcher, check_addresses, log_row
from agent.search.levels import PREFIX, level_of
from agent.sheet import Sheet
from games.machine import points
from games.roles import is_random_role

TOP = 14
"""Doublings from the lowest level of the ladder, a playout a move, to the highest."""
BEYOND = 1.0
"""Doublings for which a player may be outside of the ladder: more cannot be told."""
STEP = 0.125
"""Doublings between two strengths that are told apart."""
STRENGTHS = np.arange(-BEYOND, TOP + BEYOND + STEP / 2, STEP)
SLOPES = np.geomspace(0.35, 1.2, 8)
"""Log odds per doubling that are thought possible, all equally likely: levels against levels have such ones."""
NARROW = 1.0
"""Doublings of a 95 % interval that is narrow enough: the game's remaining matches are left out."""
LADDER = [parse_contender(f"level.{2**doubling}={PREFIX}{2**doubling}", ()) for doubling in range(TOP + 1)]
"""The levels, lowest first."""


@dataclass(frozen=True)
class Estimate:
    """The strength of a player, in doublings of playouts a move from one on."""

    strength: float
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the 95 % interval."""


def likelihood(scores: Iterable[tuple[float, float]]) -> NDArray[np.float64]:
    """Returns the probability of each of `STRENGTHS` after matches: doublings of the level, and the points (0..1)
    against it."""
    logs = np.zeros((len(STRENGTHS), len(SLOPES)))
    for level, share in scores:
        odds = SLOPES * (STRENGTHS[:, None] - level)
        logs -= share * np.logaddexp(0, -odds) + (1 - share) * np.logaddexp(0, odds)
    weights = np.exp(logs - logs.max()).sum(axis=1)
    result: NDArray[np.float64] = weights / weights.sum()
    return result


def estimate(likelihoods: Sequence[NDArray[np.float64]]) -> Estimate:
    """Returns the mean strength over games, from the probabilities in each."""
    weights = reduce(np.convolve, likelihoods)
    strengths = np.linspace(STRENGTHS[0], STRENGTHS[-1], len(weights))
    below = np.cumsum(weights) - weights / 2
    low, high = np.interp([0.025, 0.975], below, strengths)
    return Estimate(float(weights @ strengths), float(low), float(high))


def playouts(strength: float) -> str:
    """Returns a strength as a number of playouts a move, with two digits."""
    if strength < 0:
        return "< 1"
    if strength > TOP:
        return f"> {2**TOP}"
    return f"{float(f'{2**strength:.2g}'):g}"


@dataclass
class GameRating:
    """The matches of a game."""

    game: str
    results: list[MatchResult]
    player: str
    """The rated player's label."""

    @property
    def scores(self) -> list[tuple[float, float]]:
        """Of the finished matches: doublings of the level, and the player's points, 0..1."""
        found = []
        for result in self.results:
            if result.outcome == "finished":
                seat = result.seats.index(self.player)
                level = level_of(result.specs[1 - seat])
                assert level is not None
                difference = points(result.goals[seat]) - points(result.goals[1 - seat])
                found.append((float(np.log2(level.nodes)), 0.5 + 0.5 * float(np.sign(difference))))
        return found

    @property
    def likelihood(self) -> NDArray[np.float64]:
        """See `likelihood`."""
        return likelihood(self.scores)

    def as_json(self) -> dict[str, object]:
        """Returns the estimate and the points against each level as data."""
        by_level: dict[int, list[float]] = {}
        for level, share in sorted(self.scores):
            by_level.setdefault(round(2**level), []).append(share)
        return {
            "game": self.game,
            **estimate_json(estimate([self.likelihood])),
            "matches": len(self.results),
            "errors": sum(len(errors_of(result, self.player)) for result in self.results),
            "levels": [
                {"playouts": level, "matches": len(shares), "points": sum(shares)} for level, shares in by_level.items()
            ],
        }


def errors_of(result: MatchResult, player: str) -> list[dict[str, object]]:
    """Returns a player's errors in a match."""
    return [error for error in result.errors if error["seat"] == result.seats.index(player)]


def estimate_json(found: Estimate) -> dict[str, float]:
    """Returns an estimate in playouts a move."""
    return {"playouts": round(2**found.strength, 2), "low": round(2**found.low, 2), "high": round(2**found.high, 2)}


def rate(
    player: Contender,
    sheets: Sequence[Sheet],
    settings: Settings,
    *,
    matches: int,
    log: Path | None = None,
    watcher: SeriesWatcher | None = None,
) -> list[GameRating]:
    """Plays up to that many matches of each game, those of the log included; returns a rating for each game.

    Raises `CommandError` where player, games or log make no sense.
    """
    watcher = watcher or SeriesWatcher()
    for sheet in sheets:
        if len(sheet.roles) != 2 or any(map(is_random_role, sheet.roles)):
            raise InputError(f"{sheet.name}: players are rated at games of two players")
    contenders = {contender.label: contender for contender in (player, *LADDER)}
    by_name = {sheet.name: sheet for sheet in sheets}
    file = None if log is None else MatchLog(log, settings.as_json(), read_result)
    logged = file.read() if file is not None else []
    known = {found.pairing: found for found in logged if check_same(found, contenders, by_name, str(log))}
    logged_rules = {found.game for found in logged if found.rulesheet}
    asyncio.run(check_addresses([player]))
    watcher.begins(sheets, matches * len(sheets), known.values())
    ratings = []
    with closing(MatchPlayer(settings, contenders, by_name)) as playing:
        for sheet in sheets:
            rating = GameRating(sheet.name, [], player.label)
            ratings.append(rating)
            for pairing in _pairings(rating, matches):
                if (result := known.get(pairing)) is None:
                    result = next(playing.play(pairing))
                    if file is not None:
                        file.append(log_row(result, by_name, logged_rules))
                    watcher.ended(result, "here")
                rating.results.append(result)
    return ratings


def _pairings(rating: GameRating, matches: int) -> Iterator[Pairing]:
    """Yields the next match of a game, until it tells enough."""
    for number in range(1, matches // 2 + 1):
        found = estimate([rating.likelihood])
        if found.high - found.low <= NARROW:
            return
        level = LADDER[min(max(round(found.strength), 0), TOP)].label
        for seats in ((rating.player, level), (level, rating.player)):
            yield Pairing(rating.game, number, seats)
