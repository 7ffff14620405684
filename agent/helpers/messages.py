"""What passes between a match's worker, its broker, and the helpers: plain data, in which contents are pickled already.

The broker passes contents on without looking into them.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import TypeAlias

from agent.processes import boot_id

# ------------------------------------------------------------------------------------------- worker -> broker


@dataclass(frozen=True, slots=True)
class Join:
    """Find helpers. The first message."""

    address: str
    """Of the cluster, as `ray.init` takes it."""
    most: int
    """Helpers at most; 0 for as many as there are cores."""
    place: Place
    """Where the worker runs."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which cores of which machine the worker uses, so that no helper takes them from it."""

    machine: str
    """What tells machines apart, also where containers have the same name."""
    cores: frozenset[int]


@dataclass(frozen=True, slots=True)
class Content:
    """A game or a setting, which many orders refer to: sent once."""

    number: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Order:
    """What all helpers are to do from now on; orders with higher numbers come later."""

    number: int
    game: int
    """The number of the content that is a pickled (`CircuitMachine`, role)."""
    setting: int
    """The number of the content that is a pickled `Setting`."""
    question: int
    """What answers are to name; the same for as long as the state and how to search it are."""
    state: bytes
    working: bool
    """Whether to search, or to rest."""


@dataclass(frozen=True, slots=True)
class Note:
    """What helpers are to be told that search for this question; of several, the newest counts."""

    question: int
    data: bytes


Request: TypeAlias = Join | Content | Order | Note


# ------------------------------------------------------------------------------------------- broker -> worker


@dataclass(frozen=True, slots=True)
class Answer:
    """What a helper knows by now."""

    helper: int
    question: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Present:
    """How many helpers are at work by now."""

    helpers: int


@dataclass(frozen=True, slots=True)
class Failed:
    """There will be no helpers from this broker."""

    reason: str
    hopeless: bool
    """Whether another try would fail as well."""


Response: TypeAlias = Answer | Present | Failed


# ------------------------------------------------------------------------------------------- helper -> broker


@dataclass(frozen=True, slots=True)
class Ready:
    """A helper has its kernels, and can be counted in."""

    name: str
    """Machine and process, for the log."""
    version: str
    """The digest of its sources: searches of others may differ in what they say, and in how they say it."""
    refusal: str = ""
    """Why it cannot help."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a helper tells when it is listened to."""

    question: int
    data: bytes | None
    """None where it has nothing to tell, or nothing new."""


ANSWERS_PER_SECOND = 60.0
"""Of all helpers together, at most: what bounds the work of broker and worker (see `docs/cluster-match.md`). Set by
hand; not tuned."""

MOST_OFTEN = 0.05
"""Seconds between two answers of a helper, at least. Set by hand; not tuned."""


def pause(helpers: int) -> float:
    """Seconds between two answers of each of so many helpers."""
    return max(MOST_OFTEN, helpers / ANSWERS_PER_SECOND)


def machine_name() -> str:
    """What tells this machine from others: two containers of one machine have it in common."""
    return boot_id() or platform.node()
