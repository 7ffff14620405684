"""Players of a tournament, as the command line names them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent.errors import InputError
from agent.search.levels import level_of
from protocol.client import given_twice

Kind: TypeAlias = Literal["engine", "random", "legal", "agent", "address", "outside"]
"""The last is an engine of others, which the command line of a tournament does not name."""

_LABEL = re.compile(r"([A-Za-z0-9_.+-]+)=(.+)")
_ENGINE = re.compile(
    r"(?P<name>[A-Za-z_][A-Za-z0-9_-]*(?:\+[1-9][0-9]*)?)@(?P<seconds>[0-9.]+)(?:\+(?P<start>[0-9.]+))?"
)
_RANDOM = re.compile(r"random(?::(?P<seed>[0-9]{1,9}))?")

FORMS = (
    "an address (http://host:port), `agent`, `agent:LEVEL`, `random`, `random:SEED`, `legal`, or an engine with its "
    "seconds per move such as general@0.2"
)
"""The kinds of players, for messages."""


@dataclass(frozen=True)
class Contender:
    """One player of a tournament."""

    label: str
    """Name in table and log."""
    spec: str
    """The player as it was given."""
    kind: Kind
    engine: str = ""
    seconds: float | None = None
    """Of an engine, per move; None for one at a level."""
    start_seconds: float = 0.0
    """Of an engine, before its first move."""
    seed: int = 0
    """Of a random player."""

    @property
    def over_http(self) -> bool:
        """Whether it is asked over HTTP, by the clocks of the match."""
        return self.kind in ("agent", "address")

    @property
    def plays_one_match(self) -> bool:
        """Whether it plays one role of one match at a time, as nothing else is known of it."""
        return self.kind == "address"


def parse_contenders(texts: Sequence[str], engines: Sequence[str]) -> list[Contender]:
    """Reads players, each `LABEL=PLAYER` or `PLAYER` (see `FORMS`); `engines` are the names of all engines.

    Raises `InputError`, also for two of one label or address.
    """
    contenders = [parse_contender(text, engines) for text in texts]
    if not contenders:
        raise InputError(f"no players: name some, each {FORMS}")
    labels = [contender.label for contender in contenders]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise InputError(f"{twice} is there twice: tell them apart by names, as in first={twice}")
    twice = given_twice([contender.spec for contender in contenders if contender.kind == "address"])
    if twice is not None:
        raise InputError(f"{twice} is there twice, and cannot play against itself")
    return contenders


def parse_contender(text: str, engines: Sequence[str]) -> Contender:
    """Reads a player. Raises `InputError`."""
    named = _LABEL.fullmatch(text)
    label, spec = (named[1], named[2]) if named else (text, text)
    if spec.startswith(("http://", "https://")):
        return Contender(label, spec.rstrip("/"), "address")
    if spec == "agent":
        return Contender(label, spec, "agent")
    if level_of(spec) is not None:
        return Contender(label, spec, "engine", spec)
    if spec == "legal":
        return Contender(label, spec, "legal")
    if match := _RANDOM.fullmatch(spec):
        return Contender(label, spec, "random", seed=int(match["seed"] or 0))
    if match := _ENGINE.fullmatch(spec):
        name, seconds, start = match["name"], _seconds(match["seconds"]), _seconds(match["start"] or "0")
        if name.partition("+")[0] in engines and seconds > 0 and math.isfinite(start):
            return Contender(label, spec, "engine", name, seconds, start)
    name = spec.partition("@")[0]
    if name in engines:
        raise InputError(f"{text:.100}: an engine is given with its seconds per move, as in {name:.100}@0.2")
    raise InputError(f"{text:.100}: a player is {FORMS}; engines: {', '.join(engines)}")


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
