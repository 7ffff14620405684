"""Plots of a game: the course of its matches, ply by ply, as data."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence

from agent.lab.appraisal.match import PlayedMatch

SHOWN_MATCHES = 6
"""Newest matches with a curve of their own: a page has six colours."""

Points = list[list[float]]
"""Pairs of x and y."""


def plots(roles: Sequence[str], matches: Sequence[PlayedMatch]) -> list[dict[str, object]]:
    """Returns all plots. `roles` are those of players."""
    values = [
        (role, _means((match, [position[number] for position in match.values]) for match in matches))
        for number, role in enumerate(roles)
    ]
    branching = _means((match, [float(math.prod(position)) for position in match.choices]) for match in matches)
    curves = [
        (f"match {match.number}", _curve(match, [position[0] for position in match.values]))
        for match in matches[-SHOWN_MATCHES:]
    ]
    return [
        _plot("values", "Worth of the position to each role, by the search", "0..100, mean", values),
        _plot("branching", "Joint moves of a position", "moves, mean", [("moves", branching)]),
        _plot("ended", "Matches that are over", "% of all", [("over", _over(matches))]),
        _plot("matches", f"Worth of the position to {roles[0]}, match by match", "0..100", curves),
    ]


def _plot(key: str, title: str, y: str, series: Sequence[tuple[str, Points]]) -> dict[str, object]:
    return {
        "key": key,
        "title": title,
        "x": "ply",
        "y": y,
        "series": [{"name": name, "points": points} for name, points in series],
    }


def _curve(match: PlayedMatch, numbers: Sequence[float | None]) -> Points:
    """Numbers of the positions after the opening, each at the plies played before it."""
    return [[match.opening + index, round(number, 2)] for index, number in enumerate(numbers) if number is not None]


def _means(curves: Iterable[tuple[PlayedMatch, Sequence[float | None]]]) -> Points:
    """Means over the matches that are under way at a ply."""
    at: dict[float, list[float]] = defaultdict(list)
    for match, numbers in curves:
        for ply, number in _curve(match, numbers):
            at[ply].append(number)
    return [[ply, round(statistics.fmean(at[ply]), 2)] for ply in sorted(at)]


def _over(matches: Sequence[PlayedMatch]) -> Points:
    ends = sorted(match.plies for match in matches if match.outcome == "finished")
    points: Points = [[0, 0.0]]
    for number, ply in enumerate(ends, 1):
        # A count has steps.
        points += [[ply, points[-1][1]], [ply, round(100 * number / len(matches), 2)]]
    return points
