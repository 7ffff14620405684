"""Results of a tournament's matches, and their common settings."""

from __future__ import annotations

import builtins
import hashlib
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from agent.errors import InputError
from agent.lab.tournament.contenders import Contender
from agent.lab.tournament.turns import Turns
from agent.record.match import Ending, MatchRecord
from agent.record.spelling import spell, spell_all
from agent.sheet import Sheet
from protocol.scramble import ScrambleStyle

LARGEST = 1 << 53
"""Largest number in a log: sums of these are finite, and browsers know them."""

Data = TypeVar("Data", "Settings", "MatchResult", Turns)


@dataclass(frozen=True)
class Settings:
    """Settings of all matches; matches of other settings are not counted together."""

    seed: int
    """Seed of openings, of `random` players and of the referee's moves."""
    opening_plies: int
    """Plies played at random before the players take over."""
    start_clock: int
    """Seconds, for players over HTTP."""
    play_clock: int
    """Seconds, for players over HTTP."""
    scramble: ScrambleStyle
    cores: int
    """Cores of each match."""
    balanced: bool = False
    """Whether openings are left out that a short search takes to be decided."""

    def as_json(self) -> dict[str, object]:
        """Returns the settings as data."""
        return asdict(self)


@dataclass(frozen=True)
class Pairing:
    """One match of the schedule."""

    game: str
    """The rulesheet's name."""
    round: int
    """Number from 1. All matches of a round have one opening."""
    seats: tuple[str, ...]
    """Label of the player of each role, without nature's."""


@dataclass(frozen=True)
class MatchResult:
    """A match that was played, as plain data. Seats are the roles without nature's."""

    game: str
    round: int
    seats: list[str]
    """Labels of players, by seat."""
    specs: list[str]
    """Those players as they were given (`Contender.spec`), by seat."""
    rules: str
    """Digest of the rulesheet's text."""
    roles: list[str]
    """Names of roles, by seat."""
    outcome: Ending
    """`finished`, or `stalled` where a role had no legal move before the end."""
    goals: list[int | None]
    """By seat; None where the rules give no value. Empty unless the match finished."""
    opening: list[list[str]]
    """[plies][roles of the game]: random moves, in the rulesheet's spelling."""
    moves: list[list[str]]
    """[plies][roles of the game]: moves of the players."""
    errors: list[dict[str, object]]
    """Errors of players: `seat`, and the fields of a match record's errors."""
    seconds: float
    """Duration of the match."""
    rulesheet: str = ""
    """Text of the rulesheet, in at least one match of each game: a log is enough to show its matches again."""
    chose_first: int | None = None
    """Seat that was the first to have a choice after the opening; None if several were at once, or none."""
    turns: list[Turns | None] = field(default_factory=list)
    """Turns of the engines in this process, by seat; None for other players."""

    @property
    def pairing(self) -> Pairing:
        """The match of the schedule."""
        return Pairing(self.game, self.round, tuple(self.seats))

    @property
    def plies(self) -> int:
        """Plies from the start of the match to its end."""
        return len(self.opening) + len(self.moves)


def result_of(
    pairing: Pairing,
    sheet: Sheet,
    seats: list[int],
    contenders: list[Contender],
    record: MatchRecord,
    seconds: float,
    chose_first: int | None,
    turns: list[Turns | None],
) -> MatchResult:
    """Returns the result of a match. `seats` are the indices of the roles that are not nature's."""
    by_role = {spell(record.roles[role]): seat for seat, role in enumerate(seats)}
    moves = list(map(spell_all, record.moves))
    return MatchResult(
        pairing.game,
        pairing.round,
        seats=list(pairing.seats),
        specs=[contender.spec for contender in contenders],
        rules=digest(sheet),
        roles=list(by_role),
        outcome="finished" if record.outcome == "finished" else "stalled",
        goals=[record.goals[role] for role in seats] if record.goals else [],
        opening=moves[: record.opening_plies],
        moves=moves[record.opening_plies :],
        errors=[{"seat": by_role[spell(error.role)], **error.as_json()} for error in record.errors],
        seconds=round(seconds, 3),
        chose_first=chose_first,
        turns=turns,
    )


def digest(sheet: Sheet) -> str:
    """Returns a digest of a rulesheet's text."""
    return hashlib.sha256(sheet.source.encode()).hexdigest()[:16]


def read_settings(row: dict[str, Any]) -> Settings:
    """Takes the settings out of a log's line. Raises `TypeError` and `ValueError` for anything else."""
    return _checked(Settings(**{field.name: row.pop(field.name) for field in fields(Settings) if field.name in row}))


def read_result(row: dict[str, Any]) -> MatchResult:
    """Returns the result of a log's line. Raises `TypeError` and `ValueError` for anything else."""
    turns = [entry and _checked(Turns(**entry)) for entry in row.pop("turns", [])]
    result = _checked(MatchResult(**row, turns=turns))
    if not len(result.seats) == len(result.specs) == len(result.roles):
        raise ValueError
    if len(result.goals) != (len(result.seats) if result.outcome == "finished" else 0):
        raise ValueError
    if not all(_fits(error.get("seat"), int) and "kind" in error for error in result.errors):
        raise ValueError
    if not all(error["seat"] in range(len(result.seats)) for error in result.errors):
        raise ValueError
    return result


def _checked(data: Data) -> Data:
    """Returns a dataclass whose fields have the types that it says. Raises `ValueError`."""
    for name, kind in get_type_hints(type(data)).items():
        if not _fits(getattr(data, name), kind):
            raise ValueError(f"{name} is of another type")
    return data


def _fits(value: object, kind: Any) -> bool:
    """Returns whether JSON data is of a type; numbers only up to `LARGEST`."""
    parts = get_args(kind)
    match get_origin(kind):
        case typing.Literal:
            return value in parts
        case types.UnionType:
            return any(_fits(value, part) for part in parts)
        case builtins.list:
            return isinstance(value, list) and all(_fits(one, parts[0]) for one in value)
        case builtins.dict:
            return isinstance(value, dict)
    if kind in (int, float):
        return isinstance(value, int | kind) and not isinstance(value, bool) and abs(value) <= LARGEST
    return isinstance(value, kind)


def check_same(result: MatchResult, contenders: Mapping[str, Contender], sheets: Mapping[str, Sheet], log: str) -> bool:
    """Whether a logged match is one of these players and games.

    Raises `InputError` where a player or a game of that name was another one.
    """
    if result.game not in sheets or not all(seat in contenders for seat in result.seats):
        return False
    if result.rules != digest(sheets[result.game]):
        raise InputError(f"{log}: the rules of {result.game} have changed since; take another log")
    for label, spec in zip(result.seats, result.specs, strict=True):
        if contenders[label].spec != spec:
            raise InputError(f"{log}: {label} was {spec} there, and is {contenders[label].spec} now; name it otherwise")
    return True
