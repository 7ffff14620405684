"""Points in time that a process started later can still use."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from agent.bounded_json import number
from agent.processes import boot_id


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time by two clocks: the time of day, which may be set, and one that starts with the machine."""

    at: float
    """Seconds since 1970."""
    up: float | None = None
    """Seconds of `time.monotonic`; None where the machine's start is not known."""
    boot: str | None = None
    """Identifier of the machine's start."""

    @classmethod
    def present(cls) -> Moment:
        """Returns the present moment."""
        boot = boot_id()
        return cls(time.time(), None if boot is None else time.monotonic(), boot)

    @classmethod
    def read(cls, line: dict[str, Any]) -> Moment:
        """Reads what `as_json` wrote. Raises `KeyError`, `TypeError` or `ValueError` for anything else."""
        up, boot = line.get("up"), line.get("boot")
        return cls(number(line["at"]), None if up is None else number(up), boot)

    def as_json(self) -> dict[str, object]:
        """Returns the fields of a line of JSON."""
        return {"at": self.at, "up": self.up, "boot": self.boot}

    def until(self, later: Moment) -> float:
        """Returns the seconds from this moment to a later one, not negative.

        The time of day, which may be set, counts only where the machine was started in between.
        """
        if self.boot is not None and self.boot == later.boot and self.up is not None and later.up is not None:
            return max(0.0, later.up - self.up)
        return max(0.0, later.at - self.at)
