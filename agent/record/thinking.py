"""A player's thoughts at one ply: its newest opinion, and the values on the way to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from agent.bounded_json import number
from agent.record.spelling import read_term
from games.machine import Term
from protocol.kif import write

if TYPE_CHECKING:
    # It imports NumPy, which would slow a server's start.
    from agent.search.engine import Opinion, Score

Spelling: TypeAlias = Callable[[Term], Term]
"""Translates a term from a player's spelling to the page's."""

COUNTS = ("playouts", "visits", "nodes")
"""Counts in an opinion's `info`; the first one present makes the rate."""

MOST_SAMPLES = 64
"""Most values kept of one ply; with more, every second one is dropped."""

FEWEST = 20
"""Fewest counts of a value that is one of the samples: of fewer it is chance."""

SHORTEST_RATE = 0.02
"""Least number of seconds for a rate."""

LONGEST_TEXT = 200
"""Most characters of an engine's text."""


@dataclass(slots=True)
class Thinking:
    """One player's thoughts at one ply."""

    engine: str
    reason: str = ""
    """Reason for the choice of this engine."""
    opinion: Opinion | None = None
    seconds: float = 0.0
    """From the beginning of the turn to the newest opinion."""
    samples: list[tuple[float, float]] = field(default_factory=list)
    """Some of the reported values, each after its second of the turn."""
    first: tuple[float, float] | None = None
    """Second and count of the first opinion with a count."""
    rate: float | None = None
    """Counts per second since then."""

    def add(self, opinion: Opinion, engine: str, reason: str, seconds: float) -> None:
        """Takes in a new opinion; `seconds` is its time in the turn."""
        if engine != self.engine:
            # Another engine has counts and values of its own.
            self.samples.clear()
            self.first = self.rate = None
        elif self.opinion is not None and not (opinion.candidates or opinion.line or opinion.final):
            # Not all opinions have these details: keep the last ones.
            opinion = replace(opinion, candidates=self.opinion.candidates, line=self.opinion.line)
        self.engine, self.reason, self.opinion, self.seconds = engine, reason, opinion, seconds
        count = _count(opinion.info)
        if opinion.score is not None and (count is None or count[1] >= FEWEST):
            self.samples.append((seconds, opinion.score.goal))
            if len(self.samples) > MOST_SAMPLES:
                del self.samples[::2]
        if count is None:
            return
        if self.first is None or count[1] < self.first[1]:
            self.first = seconds, count[1]
        elif seconds - self.first[0] >= SHORTEST_RATE:
            self.rate = (count[1] - self.first[1]) / (seconds - self.first[0])

    @classmethod
    def of(cls, move: Term) -> Thinking:
        """Returns thoughts of which nothing is known but the move."""
        from agent.search.engine import Opinion

        return cls(engine="", opinion=Opinion(move))

    @property
    def move(self) -> Term | None:
        """The move of the newest opinion."""
        return None if self.opinion is None else self.opinion.move

    @property
    def spread(self) -> tuple[float, float] | None:
        """Smallest and largest value in the second half of the time; None without values, and for a proven score."""
        if self.opinion is not None and self.opinion.score is not None and self.opinion.score.proven:
            return None
        late = [value for seconds, value in self.samples if 2 * seconds >= self.seconds]
        return (min(late), max(late)) if late else None

    def as_json(self, spell: Callable[[Term], str] = write) -> dict[str, Any] | None:
        """Returns JSON data, with moves spelled like this; None without an opinion."""
        opinion = self.opinion
        if opinion is None:
            return None
        counted = _count(opinion.info)
        return {
            "engine": self.engine,
            "reason": self.reason,
            "move": spell(opinion.move),
            **_score_as_json(opinion.score),
            "final": opinion.final,
            "spread": None if self.spread is None else [round(value, 2) for value in self.spread],
            "info": {name: _plain(what) for name, what in opinion.info.items()},
            "rate": None if self.rate is None or counted is None else {"of": counted[0], "value": round(self.rate, 1)},
            "seconds": round(self.seconds, 2),
            "candidates": [
                {
                    "move": spell(candidate.move),
                    **_score_as_json(candidate.score),
                    "visits": candidate.visits,
                }
                for candidate in opinion.candidates
            ],
            "line": list(map(spell, opinion.line)),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], spelling: Spelling = lambda term: term) -> Thinking:
        """Reads the result of `as_json`. Raises `ValueError`, `TypeError` or `KeyError`."""
        from agent.search.engine import MOST_CANDIDATES, Candidate, Opinion

        def read(text: object) -> Term:
            return spelling(read_term(text))

        opinion = Opinion(
            read(data["move"]),
            _read_score(data),
            # Release 0.1 wrote one word for both.
            bool(data.get("final", data["proven"])),
            {str(name): _plain(what) for name, what in dict(data["info"]).items()},
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
        spread, rate, seconds = data["spread"], data["rate"], number(data["seconds"])
        return cls(
            engine=str(data["engine"]),
            reason=str(data["reason"]),
            opinion=opinion,
            seconds=seconds,
            samples=[] if spread is None else [(seconds, number(value)) for value in spread],
            rate=None if rate is None else number(rate["value"]),
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
