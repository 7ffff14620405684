"""Report on checked rulesheets: per sheet, in total, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

CIRCUIT, INTERPRETER = "circuit", "interpreter"
"""Kinds of machines in reports."""

TRACE, NOTHING = "trace", "nothing"
"""References of comparisons in reports, besides the `INTERPRETER`."""

MAX_DESCRIBED = 5
"""Differences of a sheet that are described; others are only counted."""


@dataclass
class SheetReport:
    """Report on one sheet."""

    game: str
    engine: str = ""
    """`circuit` or `interpreter`; empty where there is no machine."""
    against: str = ""
    """Reference of the comparison: `trace`, or without one `interpreter`, or `nothing` where that plays itself."""
    matches: int = 0
    """Random matches played, where there is no trace."""
    cut: bool = False
    """Whether time was too short for all random matches."""
    differences: int = 0
    described: list[str] = field(default_factory=list)
    """The first few differences."""
    states: int = 0
    """States checked."""
    states_in_trace: int = 0
    setup_cpu_seconds: float = 0.0
    """CPU time of setting up, including a failed compilation."""
    peak_mb: float = 0.0
    """Largest resident memory of a process of the sheet."""
    states_per_s: float = 0.0
    """Per CPU second, or per second of wall time for a short trace. For each state, facts, end, all legal moves, and
    the next state or the goals are compared; without a trace, on both machines."""
    error: str | None = None
    """Reason why there is no machine, or no readable trace."""

    def differ(self, place: str, text: str) -> None:
        """Notes a difference."""
        self.differences += 1
        if len(self.described) < MAX_DESCRIBED:
            self.described.append(f"{place}: {text}")

    @property
    def failed(self) -> bool:
        """Whether anything differs, or could not be checked."""
        return self.differences > 0 or self.error is not None


@dataclass
class Conformity:
    """The reports of all sheets."""

    sheets: list[SheetReport]

    @property
    def failed(self) -> bool:
        """Whether any sheet failed."""
        return any(sheet.failed for sheet in self.sheets)

    def as_json(self) -> dict[str, object]:
        """Returns the reports as plain data."""
        return {"sheets": [asdict(sheet) for sheet in self.sheets]}


HEADER = f"{'game':<36} {'engine':<11} {'differences':>11} {'states':>8} {'set-up s':>9} {'peak MB':>8} {'states/s':>9}"


def table_lines(sheet: SheetReport) -> Iterator[str]:
    """Yields a sheet's row of the table, and remarks below it."""
    yield (
        f"{sheet.game:<36} {sheet.engine or '-':<11} {sheet.differences:>11} {sheet.states:>8} "
        f"{sheet.setup_cpu_seconds:>9.3f} {sheet.peak_mb:>8.0f} {sheet.states_per_s:>9.0f}"
    )
    if sheet.error is not None:
        yield f"    error: {sheet.error}"
    if sheet.error is None and sheet.states < sheet.states_in_trace:
        yield f"    checked {sheet.states} of {sheet.states_in_trace} states in the time there is"
    if sheet.against == NOTHING:
        yield "    no circuit: played by the interpreter alone, and there is no trace to compare it with"
    if sheet.cut:
        yield f"    {sheet.matches} random matches finished in the time there is"
    for text in sheet.described:
        yield f"    {text}"


def summary(result: Conformity) -> str:
    """Returns the last line of the table."""
    sheets = result.sheets
    by_circuit = sum(sheet.engine == CIRCUIT for sheet in sheets)
    by_interpreter = sum(sheet.engine == INTERPRETER for sheet in sheets)
    without_trace = sum(sheet.against == INTERPRETER for sheet in sheets)
    compared = f"; {without_trace} without a trace, compared with the interpreter" if without_trace else ""
    errors = sum(sheet.error is not None for sheet in sheets)
    return (
        f"{len(sheets)} sheets, {by_circuit} by circuit, {by_interpreter} by interpreter: "
        f"{sum(sheet.differences for sheet in sheets)} differences, {errors} errors{compared}"
    )
