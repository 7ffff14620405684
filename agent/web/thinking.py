"""What a player thought at one ply: its newest opinion, and how that came about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from games.machine import Term
from protocol.kif import read_one, write

if TYPE_CHECKING:
    # With it comes NumPy, which a server is not to wait for.
    from agent.search.engine import Opinion, Score

Spelling: TypeAlias = Callable[[Term], Term]
"""From a player's spelling of a term to that of the page."""

COUNTS = ("playouts", "visits", "nodes")
"""What an opinion may count, in the order in which a rate is made of it."""

MOST_SAMPLES = 64
"""Values that are kept of one ply; with more, every second one is forgotten."""

SHORTEST_RATE = 0.02
"""Seconds from which on counts make a rate."""

LONGEST_TEXT = 200
"""Characters of what an engine says in words."""


@dataclass(slots=True)
class Thinking:
    """One player's thoughts at one ply."""

    engine: str
    reason: str = ""
    """Why this engine plays."""
    opinion: Opinion | None = None
    seconds: float = 0.0
    """From the beginning of the turn to the newest opinion."""
    samples: list[tuple[float, float]] = field(default_factory=list)
    """Some of the values that were reported, each with the second of the turn."""
    first: tuple[float, float] | None = None
    """Second and count of the first opinion that counted."""
    rate: float | None = None
    """Counts per second since then."""

    def add(self, opinion: Opinion, engine: str, reason: str, seconds: float) -> None:
        """Takes a new opinion in; `seconds` is when in the turn it came."""
        if engine != self.engine:
            # Another engine counts from zero, and judges in another way.
            self.samples.clear()
            self.first = self.rate = None
        elif self.opinion is not None and not (opinion.candidates or opinion.line or opinion.final):
            # Looked up now and then only.
            opinion = replace(opinion, candidates=self.opinion.candidates, line=self.opinion.line)
        self.engine, self.reason, self.opinion, self.seconds = engine, reason, opinion, seconds
        if opinion.score is not None:
            self.samples.append((seconds, opinion.score.goal))
            if len(self.samples) > MOST_SAMPLES:
                del self.samples[::2]
        count = _count(opinion.info)
        if count is None:
            return
        if self.first is None or count[1] < self.first[1]:
            self.first = seconds, count[1]
        elif seconds - self.first[0] >= SHORTEST_RATE:
            self.rate = (count[1] - self.first[1]) / (seconds - self.first[0])

    @property
    def spread(self) -> tuple[float, float] | None:
        """Between which values the opinion has moved in the second half of the time that was thought.

        None without values, and where the last one is proven.
        """
        if self.opinion is not None and self.opinion.score is not None and self.opinion.score.proven:
            return None
        late = [value for seconds, value in self.samples if 2 * seconds >= self.seconds]
        return (min(late), max(late)) if late else None

    def as_json(self) -> dict[str, Any] | None:
        """As JSON data; None without an opinion."""
        opinion = self.opinion
        if opinion is None:
            return None
        counted = _count(opinion.info)
        return {
            "engine": self.engine,
            "reason": self.reason,
            "move": write(opinion.move),
            **_score_as_json(opinion.score),
            "final": opinion.final,
            "spread": None if self.spread is None else [round(value, 2) for value in self.spread],
            "info": {name: _plain(what) for name, what in opinion.info.items()},
            "rate": None if self.rate is None or counted is None else {"of": counted[0], "value": round(self.rate, 1)},
            "seconds": round(self.seconds, 2),
            "candidates": [
                {
                    "move": write(candidate.move),
                    **_score_as_json(candidate.score),
                    "visits": candidate.visits,
                }
                for candidate in opinion.candidates
            ],
            "line": [write(move) for move in opinion.line],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], spelling: Spelling = lambda term: term) -> Thinking:
        """What `as_json` gave. Raises `ValueError`, `TypeError` or `KeyError` for anything else."""
        from agent.search.engine import MOST_CANDIDATES, Candidate, Opinion

        def read(text: object) -> Term:
            if not isinstance(text, str):
                raise ValueError("a move is no text")
            return spelling(read_one(text))

        opinion = Opinion(
            read(data["move"]),
            _read_score(data),
            # Release 0.1 wrote one word for both.
            bool(data.get("final", data["proven"])),
            {str(name): _plain(what) for name, what in data["info"].items()},
            tuple(
                Candidate(
                    read(one["move"]),
                    _read_score(one),
                    None if one["visits"] is None else int(one["visits"]),
                )
                for one in data["candidates"][:MOST_CANDIDATES]
            ),
            tuple(map(read, data["line"])),
        )
        spread, rate, seconds = data["spread"], data["rate"], float(data["seconds"])
        return cls(
            engine=str(data["engine"]),
            reason=str(data["reason"]),
            opinion=opinion,
            seconds=seconds,
            samples=[] if spread is None else [(seconds, float(value)) for value in spread],
            rate=None if rate is None else float(rate["value"]),
        )


def _count(info: Mapping[str, object]) -> tuple[str, float] | None:
    for name in COUNTS:
        count = info.get(name)
        if isinstance(count, int | float):
            return name, float(count)
    return None


def _plain(what: object) -> object:
    return what if isinstance(what, bool | int | float | None) else str(what)[:LONGEST_TEXT]


def _score_as_json(score: Score | None) -> dict[str, Any]:
    if score is None:
        return {"value": None, "proven": False, "plies": None}
    return {"value": round(float(score.goal), 2), "proven": score.proven, "plies": score.plies}


def _read_score(data: Mapping[str, Any]) -> Score | None:
    from agent.search.engine import Score

    value, plies = data["value"], data.get("plies")
    if value is None:
        return None
    if not isinstance(value, int | float) or not isinstance(plies, int | None):
        raise ValueError("a value is no number")
    return Score(float(value), bool(data["proven"]), plies)
