"""The figures of a game, each from the matches that were played, with a 95 % interval, a definition and its source.

Browne: Automatic Generation and Evaluation of Recombination Games, PhD thesis, 2008. Ludii: the metrics of its
evaluation dialog (Ludeme/Ludii, `Evaluation/src/metrics`). TAG: Gaina et al., TAG: A Tabletop Games Framework, 2020.
What stands after `here` is not theirs.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent.lab.appraisal.match import PlayedMatch
from agent.lab.tally import wilson

CLEAR = 75.0
"""Worth of a position, 0..100, from which a role is taken to have won it."""

LEAD = 5.0
"""Least lead, 0..100, that is one: two searches of even positions differ a little."""

# Quantiles of Student's t distribution at 97.5 %, from one degree of freedom on.
# fmt: off
_STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)
# fmt: on

_NO_END = "no match has come to an end"
_NO_WINNER = "no match had a winner, a loser, and values of the search"
_NO_VALUES = "the search had no idea of any position"
_ONE_ROLE = "the game has one player"


@dataclass(frozen=True)
class Figure:
    """A figure of a game."""

    key: str
    name: str
    value: float | None
    """None where it makes no sense, or nothing is known yet."""
    low: float | None
    """Lower end of the 95 % interval; None where there is none."""
    high: float | None
    unit: str
    definition: str
    source: str
    reason: str | None = None
    """Why there is no value."""


@dataclass(frozen=True)
class _Measure:
    """The computation of a figure, from one number of each match that has one."""

    key: str
    name: str
    unit: str
    definition: str
    source: str
    of_match: Callable[[PlayedMatch], float | None]
    missing: str
    """Why there is no value where no match has a number."""
    for_one: bool = True
    """Whether it makes sense for a single player."""
    share: bool = False
    """Whether each match has a share, 0..1, of something that it wins or loses."""


def figures(roles: Sequence[str], matches: Sequence[PlayedMatch]) -> list[Figure]:
    """Returns all figures, in the order in which they are shown. `roles` are those of players."""
    found = [_figure(measure, roles, matches) for measure in _MEASURES]
    found.insert(1, _balance(roles, matches))
    if any(match.strong is not None for match in matches):
        found.insert(0, _figure(_SKILL, roles, matches))
    return found


def mean_interval(numbers: Sequence[float]) -> tuple[float, float] | None:
    """Returns the 95 % interval of a mean, by Student's t distribution; None for fewer than two numbers."""
    n = len(numbers)
    if n < 2:
        return None
    mean, quantile = statistics.fmean(numbers), _STUDENT[n - 2] if n - 2 < len(_STUDENT) else 1.96
    spread = quantile * statistics.stdev(numbers) / math.sqrt(n)
    return mean - spread, mean + spread


def _figure(measure: _Measure, roles: Sequence[str], matches: Sequence[PlayedMatch]) -> Figure:
    if len(roles) == 1 and not measure.for_one:
        return _made(measure, None, None, _ONE_ROLE)
    numbers = [number for match in matches if (number := measure.of_match(match)) is not None]
    if not numbers:
        return _made(measure, None, None, measure.missing if matches else "no match was played yet")
    mean = statistics.fmean(numbers)
    interval = wilson(mean, len(numbers)) if measure.share else mean_interval(numbers)
    return _made(measure, mean, interval)


def _made(
    measure: _Measure, mean: float | None, interval: tuple[float, float] | None, reason: str | None = None
) -> Figure:
    factor = 100.0 if measure.unit == "%" else 1.0
    most = 1.0 if measure.unit == "%" else math.inf
    low, high = interval or (None, None)
    return Figure(
        measure.key,
        measure.name,
        None if mean is None else round(factor * mean, 2),
        None if low is None else round(factor * max(0.0, low), 2),
        None if high is None else round(factor * min(most, high), 2),
        measure.unit,
        measure.definition,
        measure.source,
        reason,
    )


def _balance(roles: Sequence[str], matches: Sequence[PlayedMatch]) -> Figure:
    """Not a mean over matches: it compares the roles' means. Its interval is that of the first of two roles."""
    measure = _Measure(
        "balance",
        "balance",
        "%",
        "100 % less the greatest difference between two roles' shares of the points",
        "Ludii, Balance; here a win is shared among the winners",
        lambda match: match.share(0),
        _NO_END,
        for_one=False,
        share=True,
    )
    first = _figure(measure, roles, matches)
    if first.value is None:
        return first
    ended = [match for match in matches if match.outcome == "finished"]
    shares = [statistics.fmean(match.share(role) or 0.0 for match in ended) for role in range(len(roles))]
    interval = None
    if len(roles) == 2 and first.low is not None and first.high is not None:
        ends = [1 - abs(2 * end / 100 - 1) for end in (first.low, first.high)]
        interval = min(ends), 1.0 if first.low <= 50 <= first.high else max(ends)
    return _made(measure, 1 - (max(shares) - min(shares)), interval)


# ------------------------------------------------------------------------------------------ numbers of one match


def _known(match: PlayedMatch) -> list[list[float]]:
    """Worths of the positions that all roles had an idea of."""
    return [[value for value in position if value is not None] for position in match.values if None not in position]


def _parties(match: PlayedMatch) -> tuple[list[int], list[int]] | None:
    """Winners and losers of a match that has both."""
    winners = list(match.winners or ())
    losers = [role for role in range(len(match.goals)) if role not in winners]
    return (winners, losers) if winners and losers else None


def _decisiveness(match: PlayedMatch) -> float | None:
    parties, known = _parties(match), _known(match)
    if parties is None or not known:
        return None
    winners, losers = parties
    threshold = max(CLEAR, *(position[role] for position in known for role in losers))
    clear = 0
    while clear < len(known) and max(known[-1 - clear][role] for role in winners) > threshold:
        clear += 1
    return clear / len(known)


def _drama(match: PlayedMatch) -> float | None:
    parties, known = _parties(match), _known(match)
    if parties is None or not known:
        return None
    winners, _ = parties
    return statistics.fmean(max(position) - statistics.fmean(position[role] for role in winners) for position in known)


def _lead_changes(match: PlayedMatch) -> float | None:
    known = _known(match)
    if not known or len(known[0]) < 2:
        return None
    leaders = []
    for position in known:
        second, first = sorted(position)[-2:]
        if first - second >= LEAD:
            leaders.append(position.index(first))
    return float(sum(a != b for a, b in pairwise(leaders)))


def _branching(match: PlayedMatch) -> float | None:
    return statistics.fmean(map(math.prod, match.choices)) if match.choices else None


def _forced(match: PlayedMatch) -> float | None:
    return statistics.fmean(max(position) <= 1 for position in match.choices) if match.choices else None


_SKILL = _Measure(
    "skill",
    "skill",
    "%",
    "share of the points of the stronger player, who has each role in turn; 50 % means that strength decides nothing",
    "here; compare the skill trace of Ludii",
    lambda match: None if match.strong is None else match.share(match.strong),
    _NO_END,
    for_one=False,
    share=True,
)

_MEASURES = (
    _Measure(
        "advantage",
        "advantage of the first role",
        "%",
        "share of the points of the role that the rules name first, in matches that ended",
        "Ludii, AdvantageP1; here a win is shared among the winners",
        lambda match: match.share(0),
        _NO_END,
        for_one=False,
        share=True,
    ),
    _Measure(
        "drawishness",
        "drawishness",
        "%",
        "share of the matches that ended in which all roles got the same goal",
        "Ludii, Drawishness",
        lambda match: None if match.outcome != "finished" else float(match.drawn),
        _NO_END,
        for_one=False,
        share=True,
    ),
    _Measure(
        "completion",
        "completion",
        "%",
        "share of all matches that ended with a winner; a single player wins by the highest goal",
        "Browne; Ludii, Completion",
        lambda match: float(bool(match.winners) and not match.drawn),
        _NO_END,
        share=True,
    ),
    _Measure(
        "duration",
        "duration",
        "plies",
        "plies of the matches that ended",
        "Ludii, DurationMoves",
        lambda match: None if match.outcome != "finished" else float(match.plies),
        _NO_END,
    ),
    _Measure(
        "decisiveness",
        "decisiveness",
        "%",
        f"share of a match that was left when a winner's position was worth more than {CLEAR:g} of 100, and more than "
        "any loser's ever, for good",
        f"Browne; Ludii, DecisivenessMoves; here with {CLEAR:g}, and for good",
        _decisiveness,
        _NO_WINNER,
        for_one=False,
    ),
    _Measure(
        "drama",
        "drama",
        "of 100",
        "how much less a winner's position was worth than the leader's, on average over the match",
        "Browne; Ludii, Drama; here of worths averaged over two turns",
        _drama,
        _NO_WINNER,
        for_one=False,
    ),
    _Measure(
        "lead_changes",
        "lead changes",
        "a match",
        f"times that another role's position was worth most, by at least {LEAD:g} of 100",
        f"Browne; Ludii, LeadChange; here of {LEAD:g} at least, averaged over two turns",
        _lead_changes,
        _NO_VALUES,
        for_one=False,
    ),
    _Measure(
        "branching",
        "branching factor",
        "moves",
        "joint moves of a position, on average: moves of whoever is to move, multiplied where several are",
        "Ludii, BranchingFactor; TAG",
        _branching,
        _NO_END,
    ),
    _Measure(
        "forced",
        "forced moves",
        "%",
        "share of the positions in which no role has a choice",
        "100 % less Ludii's DecisionMoves",
        _forced,
        _NO_END,
    ),
    _Measure(
        "coverage",
        "coverage of the board",
        "%",
        "share of the board's squares that had a piece in some position of the match",
        "Ludii, BoardCoverageDefault",
        lambda match: match.covered,
        "no board is found in the rules",
    ),
)
