"""Notes of a match, and of the game: plain data, from workers to the process that reports."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

Outcome: TypeAlias = Literal["finished", "stalled", "endless"]
"""The end of a match: by the rules, at a role without a legal move, or at the bound on plies."""


@dataclass(frozen=True)
class PlayedMatch:
    """A match. Roles are those of players, without nature's, in the order of the rulesheet."""

    number: int
    """Number of the match, from 1."""
    opening: int
    """Random plies before the players took over."""
    plies: int
    """Plies from the start of the match to its end, opening included."""
    outcome: Outcome
    goals: tuple[int, ...]
    """By role, 0 where the rules give none. Empty unless the match finished."""
    lowest: tuple[int, ...]
    """By role, its lowest goal in the rules."""
    highest: tuple[int, ...]
    """By role, its highest goal in the rules."""
    choices: tuple[tuple[int, ...], ...]
    """[plies after the opening][roles]: numbers of legal moves."""
    values: tuple[tuple[float | None, ...], ...]
    """[plies after the opening][roles]: worth of the position to the role by its search, 0..100; None where the search
    had no idea. Of two roles, one of which gains what the other loses, one that has no choice has what the other
    leaves. Averaged over turns (see `playing.smoothed`)."""
    covered: float | None = None
    """Share, 0..1, of the board's squares that had a piece in some position; None where no board is found."""
    stuck: tuple[str, ...] = ()
    """Roles without a legal move, where the match stalled."""
    errors: int = 0
    """Moves that a search failed to choose; random ones were played."""
    strong: int | None = None
    """Role of the stronger player, where players were unequal."""
    seconds: float = 0.0

    @property
    def winners(self) -> tuple[int, ...] | None:
        """Roles with the highest goal of all; a single role wins by its highest goal. None without an end."""
        if self.outcome != "finished":
            return None
        best = self.highest[0] if len(self.goals) == 1 else max(self.goals)
        return tuple(role for role, goal in enumerate(self.goals) if goal >= best)

    @property
    def drawn(self) -> bool:
        """Whether several roles got the same goal, and nobody another one."""
        return len(self.goals) > 1 and len(set(self.goals)) == 1

    def share(self, role: int) -> float | None:
        """The role's share of the points, 0..1: a win is shared among the winners. None without an end."""
        winners = self.winners
        return None if winners is None else (role in winners) / max(1, len(winners))


@dataclass(frozen=True)
class Seen:
    """Rules and moves that a worker has seen for the first time."""

    positions: int = 0
    fired: frozenset[int] = frozenset()
    """Statements of the rulesheet whose rules have fired."""
    legal: frozenset[tuple[int, str]] = frozenset()
    """Moves that were legal, with their role's number."""


@dataclass(frozen=True)
class RandomSurvey:
    """The game as its rules and random matches of it show it."""

    matches: int = 0
    """Number of random matches; 0 where the rules have no circuit."""
    ended: int = 0
    """Number of them that came to an end."""
    stuck: tuple[str, ...] = ()
    """Roles that were without a legal move in one of them."""
    best: tuple[int, ...] = ()
    """By role, its highest goal at an end; empty where none came."""
    moves: tuple[tuple[str, ...], ...] = ()
    """By role, all moves that the circuit knows; empty where there is none."""
    rules: frozenset[int] = frozenset()
    """Statements whose rules may fire."""
    seen: Seen = field(default_factory=Seen)


@dataclass(frozen=True)
class Played:
    """A worker's message: a match and what was new in it, with the survey for the first match."""

    match: PlayedMatch
    seen: Seen
    unknown: frozenset[int] = frozenset()
    """Statements whose rules take too long to evaluate."""
    survey: RandomSurvey | None = None


def as_row(played: Played) -> dict[str, Any]:
    """Returns the message as JSON data, for a log."""
    row: dict[str, Any] = json.loads(json.dumps(asdict(played), default=sorted))
    return row


def from_row(row: dict[str, Any]) -> Played:
    """Returns the message of a log. Raises `TypeError` and `KeyError` for anything else."""
    survey = row["survey"]
    if survey is not None:
        survey = {**_tupled(survey), "rules": frozenset(survey["rules"]), "seen": _read_seen(survey["seen"])}
    return Played(
        PlayedMatch(**_tupled(row["match"])),
        _read_seen(row["seen"]),
        frozenset(row["unknown"]),
        None if survey is None else RandomSurvey(**survey),
    )


def _read_seen(data: dict[str, Any]) -> Seen:
    return Seen(data["positions"], frozenset(data["fired"]), frozenset((role, move) for role, move in data["legal"]))


def _tupled(data: Any) -> Any:
    """Returns JSON data with tuples in place of lists."""
    if isinstance(data, dict):
        return {name: _tupled(value) for name, value in data.items()}
    return tuple(map(_tupled, data)) if isinstance(data, list) else data
