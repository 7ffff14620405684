"""What is kept of a tournament's matches, and what they have in common."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

from agent.errors import InputError
from agent.lab.tournament.contenders import Contender
from agent.refereeing.record import MatchRecord
from agent.sheet import Sheet
from protocol.kif import write
from protocol.scramble import ScrambleStyle


@dataclass(frozen=True)
class Settings:
    """What all matches have in common; those that differ in it are not counted together."""

    seed: int
    """Of openings, of the players `random` and of the moves that the referee makes."""
    opening_plies: int
    """Plies played at random before the players take over."""
    start_clock: int
    """Seconds, for players over HTTP."""
    play_clock: int
    """Seconds, for players over HTTP."""
    scramble: ScrambleStyle
    cores: int
    """That a match has to itself."""

    def as_json(self) -> dict[str, object]:
        """As data."""
        return asdict(self)


@dataclass(frozen=True)
class Pairing:
    """One match of the schedule."""

    game: str
    """The rulesheet's name."""
    round: int
    """From 1. All matches of a game's round have one opening."""
    seats: tuple[str, ...]
    """The label of the player of each role that is not nature's."""


@dataclass(frozen=True)
class MatchResult:
    """A match that was played, as plain data. Lists by seat leave the roles of nature out."""

    game: str
    round: int
    seats: list[str]
    """By seat, labels of players."""
    specs: list[str]
    """By seat, what those players are."""
    rules: str
    """Digest of the rulesheet's text."""
    roles: list[str]
    """By seat."""
    outcome: str
    """`finished`, or `stalled` where a role had no legal move before the end."""
    goals: list[int | None]
    """By seat, 0..100; None where the rules give no value. Empty unless the match finished."""
    opening: list[list[str]]
    """[plies][roles of the game]: random moves, as the rulesheet spells them."""
    moves: list[list[str]]
    """[plies][roles of the game]: those of the players."""
    errors: list[dict[str, object]]
    """What players did wrong: `seat`, and the fields of a match record's errors."""
    seconds: float
    """That the match took."""
    rulesheet: str = ""
    """The rulesheet's text, in one match of each game at least, so that a log is enough to show its matches again."""

    @property
    def pairing(self) -> Pairing:
        """The match of the schedule that it is."""
        return Pairing(self.game, self.round, tuple(self.seats))


def result_of(
    pairing: Pairing, sheet: Sheet, seats: list[int], contenders: list[Contender], record: MatchRecord, seconds: float
) -> MatchResult:
    """The result that a match's record holds. `seats` are the indices of the roles that are not nature's."""
    by_role = {write(record.roles[role]): seat for seat, role in enumerate(seats)}
    moves = [[write(move) for move in joint_move] for joint_move in record.moves]
    return MatchResult(
        pairing.game,
        pairing.round,
        seats=list(pairing.seats),
        specs=[contender.spec for contender in contenders],
        rules=digest(sheet),
        roles=list(by_role),
        outcome=record.outcome,
        goals=[record.goals[role] for role in seats] if record.goals else [],
        opening=moves[: record.opening_plies],
        moves=moves[record.opening_plies :],
        errors=[{"seat": by_role[write(error.role)], **error.as_json()} for error in record.errors],
        seconds=round(seconds, 3),
    )


def digest(sheet: Sheet) -> str:
    """Tells a rulesheet's text from another one's."""
    return hashlib.sha256(sheet.source.encode()).hexdigest()[:16]


def read_result(row: dict[str, Any]) -> MatchResult:
    """A result from a line of a log. Raises `TypeError` and `ValueError` for what is none."""
    result = MatchResult(**row)
    lists = (result.seats, result.specs, result.roles, result.goals, result.opening, result.moves, result.errors)
    if not all(isinstance(entry, list) for entry in lists) or not isinstance(result.round, int):
        raise ValueError
    if not all(isinstance(entry, str) for entry in (result.game, result.rulesheet, *result.seats, *result.specs)):
        raise ValueError
    if not len(result.seats) == len(result.specs) == len(result.roles):
        raise ValueError
    if result.outcome == "finished" and len(result.goals) != len(result.seats):
        raise ValueError
    return result


def check_same(result: MatchResult, contenders: dict[str, Contender], sheets: dict[str, Sheet], log: str) -> bool:
    """Whether a logged match is one of this tournament's players and games.

    Raises `InputError` where a player or a game of the same name was another one.
    """
    if result.game not in sheets or not all(seat in contenders for seat in result.seats):
        return False
    if result.rules != digest(sheets[result.game]):
        raise InputError(f"{log}: the rules of {result.game} have changed since; take another log")
    for label, spec in zip(result.seats, result.specs, strict=True):
        if contenders[label].spec != spec:
            raise InputError(f"{log}: {label} was {spec} there, and is {contenders[label].spec} now; name it otherwise")
    return True
