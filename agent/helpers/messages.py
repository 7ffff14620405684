"""Messages between a match's worker, its broker and the helpers: plain data.

Contents are pickled already: the broker passes them on unread.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import TypeAlias

from agent.processes import boot_id

# ------------------------------------------------------------------------------------------- worker -> broker


@dataclass(frozen=True, slots=True)
class Join:
    """The first message: find helpers."""

    address: str
    """Address of the cluster, for `ray.init`."""
    most: int
    """Most helpers; 0 for one on each core."""
    place: Place
    """The worker's machine and cores."""


@dataclass(frozen=True, slots=True)
class Place:
    """The worker's cores, which no helper takes."""

    machine: str
    """See `machine_name`."""
    cores: frozenset[int]


@dataclass(frozen=True, slots=True)
class Content:
    """A game or a setting: sent once, named by many orders."""

    number: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Order:
    """Work for all helpers from now on; later orders have higher numbers."""

    number: int
    game: int
    """Number of the content with the pickled (`CircuitMachine`, role)."""
    setting: int
    """Number of the content with the pickled `Setting`."""
    question: int
    """Number that answers name; stays as long as state and setting do."""
    state: bytes
    working: bool
    """Whether to search, or to rest."""


@dataclass(frozen=True, slots=True)
class Note:
    """A note for all helpers at this question; the newest counts."""

    question: int
    data: bytes


Request: TypeAlias = Join | Content | Order | Note


# ------------------------------------------------------------------------------------------- broker -> worker


@dataclass(frozen=True, slots=True)
class HelperAnswer:
    """A helper's findings so far."""

    helper: int
    question: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Present:
    """Number of helpers at work."""

    helpers: int


@dataclass(frozen=True, slots=True)
class HelperFailed:
    """This broker has no helpers, and ends."""

    reason: str
    hopeless: bool
    """Whether another try would fail, too."""


Response: TypeAlias = HelperAnswer | Present | HelperFailed


# ------------------------------------------------------------------------------------------- helper -> broker


@dataclass(frozen=True, slots=True)
class HelperReady:
    """A helper has loaded its kernels."""

    name: str
    """Machine and process, for the log."""
    version: str
    """Digest of its sources, which must be the broker's."""
    refusal: str = ""
    """Reason why it cannot help; empty if it can."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The result of `Helper.listen`."""

    question: int
    data: bytes | None
    """None where there is nothing new."""


ANSWERS_PER_SECOND = 60.0
"""Most answers of all helpers together: bounds the work of broker and worker."""

MOST_OFTEN = 0.05
"""Fewest seconds between two answers of a helper."""


def pause(helpers: int) -> float:
    """Seconds between two answers of each helper."""
    return max(MOST_OFTEN, helpers / ANSWERS_PER_SECOND)


def machine_name() -> str:
    """A name of this machine; containers of one machine share it."""
    return boot_id() or platform.node()
