"""The record of a refereed match, as data and as JSON."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from games.machine import Term
from protocol.kif import write
from protocol.scramble import ScrambleStyle

AGAIN_SECONDS = 10
"""Seconds for players to get ready after moves were taken back, at least: rules are compiled by then also on a busy
machine, and meanwhile a person thinks."""

Kind: TypeAlias = Literal["late", "unreachable", "malformed", "illegal", "failed"]
"""A player's error: no reply in time, no reply at all, a reply that is no term, an illegal move, or, in the referee's
own process, an exception."""

Request: TypeAlias = Literal["start", "play", "stop"]
"""The message to a player."""

Outcome: TypeAlias = Literal["finished", "stalled", "resigned", "aborted"]
"""The end of a match: terminal, with a role that had no legal move, by a person's resignation, or interrupted."""


@dataclass(frozen=True)
class PlayerError:
    """One error of a player."""

    role: Term
    step: int
    """0 for START, k for the k-th PLAY, one more than the last PLAY for STOP."""
    request: Request
    kind: Kind
    detail: str
    """Explanation for a person."""

    def as_json(self) -> dict[str, object]:
        """Returns the error as JSON data."""
        return {
            "role": write(self.role),
            "step": self.step,
            "request": self.request,
            "kind": self.kind,
            "detail": self.detail,
        }


def new_match_id(game: str) -> str:
    """Returns a name for a new match of a game."""
    return f"match.{re.sub(r'[^0-9A-Za-z_-]', '_', game)}.{time.time_ns() // 1_000_000}"


@dataclass
class MatchRecord:
    """A match. Terms are spelled as in the rulesheet, without scrambling."""

    game: str
    match_id: str
    roles: tuple[Term, ...]
    players: tuple[str, ...]
    """Per role: the player's address or built-in name; `referee` for the role that the referee plays."""
    start_clock: int
    play_clock: int
    scramble: ScrambleStyle
    seed: int
    states: list[frozenset[Term]] = field(default_factory=list)
    """States from the initial one on: one more than there are moves."""
    moves: list[tuple[Term, ...]] = field(default_factory=list)
    """Joint moves as played, substitutes included."""
    seconds: list[list[float]] = field(default_factory=list)
    """Per role and step: time from sending PLAY to the reply's arrival, or to the deadline."""
    goals: list[int | None] = field(default_factory=list)
    """Per role; empty unless the match finished."""
    errors: list[PlayerError] = field(default_factory=list)
    outcome: Outcome = "aborted"
    resigned: int | None = None
    """Role whose player has resigned."""
    opening_plies: int = 0
    """Number of first joint moves that were given, not chosen by the players."""
    taken_back: bool = False
    """Whether moves were taken back: the players' match began again."""
    thoughts: list[dict[str, Any]] = field(default_factory=list)
    """Per state, our agents' thoughts by role, in the form of `agent.web.thinking`; empty without a page."""

    @property
    def getting_ready(self) -> int:
        """Seconds of the start clock: fewer where moves were taken back, as players know the game."""
        return min(self.start_clock, max(self.play_clock, AGAIN_SECONDS)) if self.taken_back else self.start_clock

    def take_back(self, ply: int) -> None:
        """Forgets everything after the first `ply` joint moves."""
        self.taken_back = True
        del self.states[ply + 1 :], self.moves[ply:]
        for seconds in self.seconds:
            del seconds[ply:]
        self.errors = [error for error in self.errors if error.step <= ply]

    def resign(self, role: int) -> None:
        """Ends the match: the player of a role gives up."""
        self.outcome, self.resigned = "resigned", role

    def as_json(self) -> dict[str, object]:
        """Returns the record as JSON data: facts and moves as KIF text, facts sorted."""
        return {
            "game": self.game,
            "match_id": self.match_id,
            "roles": [write(role) for role in self.roles],
            "players": list(self.players),
            "start_clock": self.start_clock,
            "play_clock": self.play_clock,
            "scramble": self.scramble,
            "seed": self.seed,
            "outcome": self.outcome,
            "goals": self.goals,
            **({} if self.resigned is None else {"resigned": self.resigned}),
            "errors": [error.as_json() for error in self.errors],
            "steps": len(self.moves),
            "moves": [[write(move) for move in joint_move] for joint_move in self.moves],
            "states": [sorted(map(write, facts)) for facts in self.states],
            "seconds": [[round(seconds, 4) for seconds in steps] for steps in self.seconds],
            **({"thoughts": self.thoughts} if any(self.thoughts) else {}),
        }
