"""When something happened, in a form that a process started later can still make use of."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from agent.processes import boot_id


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time by two clocks: the time of day, which may be set, and one that only runs while the machine does.

    Seconds since 1970, and `time.monotonic` with what tells apart the machine's starts; None where nothing does.
    """

    at: float
    up: float | None = None
    boot: str | None = None

    @classmethod
    def present(cls) -> Moment:
        """Now."""
        boot = boot_id()
        return cls(time.time(), None if boot is None else time.monotonic(), boot)

    @classmethod
    def read(cls, line: dict[str, Any]) -> Moment:
        """From what `as_json` has given. Raises `KeyError`, `TypeError` or `ValueError` for anything else."""
        up, boot = line.get("up"), line.get("boot")
        return cls(float(line["at"]), None if up is None else float(up), boot)

    def as_json(self) -> dict[str, object]:
        """The fields of a line of JSON."""
        return {"at": self.at, "up": self.up, "boot": self.boot}

    def until(self, later: Moment) -> float:
        """Seconds from this moment to a later one, not negative.

        By the time of day only where the machine was started between them: whoever sets that clock does not mean that
        time has passed.
        """
        if self.boot is not None and self.boot == later.boot and self.up is not None and later.up is not None:
            return max(0.0, later.up - self.up)
        return max(0.0, later.at - self.at)
