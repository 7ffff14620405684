"""Progress of a command that takes long, with the time left: a bar on a terminal, else a line each time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agent.console import console, shows_progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class Pace:
    """An estimate of the time left, from what this run does: what was known before took none."""

    def __init__(self, total: float, known: float = 0) -> None:
        """There are `total` of something to do, of which some are `known` to be done."""
        self.total, self.known, self.done = total, known, known
        self._begin = self._latest = time.monotonic()

    def reaches(self, done: float) -> None:
        """As much is done now."""
        self.done, self._latest = done, time.monotonic()

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the rest takes at the pace so far; None before anything is done."""
        own = self.done - self.known
        return (self._latest - self._begin) / own * max(0, self.total - self.done) if own > 0 else None


class Progress:
    """Shows the count of what is done, and the time left."""

    def __init__(self, bar: Bar | None = None) -> None:
        """Lines are printed where there is no `bar`."""
        self._bar = bar
        self._task: Any = None if bar is None else bar.add_task("setting up", total=None, left="")
        self._pace = Pace(0)

    def begins(self, what: str, total: float, known: float = 0) -> None:
        """There are `total` of something to do, of which some are `known` to be done."""
        self._pace = Pace(total, known)
        if self._bar is not None:
            self._bar.reset(self._task, total=total, completed=int(known), description=what, left="")

    def under_way(self, lines: Sequence[str]) -> None:
        """Shows below the bar what is being done."""
        if self._bar is not None:
            self._bar.update(self._task, description="\n".join(lines))

    def reaches(self, done: float, line: str) -> None:
        """As much is done; the line is about the newest."""
        self._pace.reaches(done)
        left = self._pace.seconds_left
        told = "" if left is None else f"{duration(left)} left"
        if self._bar is None:
            print(f"{done:.0f}/{self._pace.total:.0f}  {line}{told and f'  ({told})'}", flush=True)
        else:
            self._bar.console.print(line)
            self._bar.update(self._task, completed=int(done), left=told)

    def advances(self, line: str) -> None:
        """One more is done."""
        self.reaches(self._pace.done + 1, line)

    def tell(self, line: str) -> None:
        """Prints a line about something else."""
        if self._bar is None:
            print(line, flush=True)
        else:
            self._bar.console.print(line)


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Yields a progress that is shown on standard error as a bar, which vanishes at its end; else as lines."""
    if not shows_progress():
        yield Progress()
        return
    # Imported here, so that `--help` comes at once.
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        yield Progress(bar)


def duration(seconds: float) -> str:
    """Returns a time in its two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
