"""A tournament for people: progress while it runs, the tables at its end; the table as CSV."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agent.errors import InputError
from agent.lab.progress import Progress, shown_progress
from agent.lab.tables import print_table
from agent.lab.tally import Tally
from agent.lab.tournament.results import MatchResult, Pairing
from agent.lab.tournament.series import SeriesWatcher
from agent.lab.tournament.standings import Average, Line, Standings
from agent.sheet import Sheet

MAX_PLACES = 16
"""Lines below the bar, a match each."""


@contextmanager
def progress() -> Iterator[SeriesWatcher]:
    """Shows the progress of a tournament."""
    with shown_progress() as shown:
        yield _SeriesProgress(shown)


class _SeriesProgress(SeriesWatcher):
    def __init__(self, shown: Progress) -> None:
        self._shown = shown
        self._running: dict[str, Pairing] = {}

    def begins(self, sheets: Sequence[Sheet], matches: int, known: Collection[MatchResult]) -> None:
        self._shown.tell(f"{matches} matches" + (f", {len(known)} of them in the log already" if known else ""))
        self._shown.begins("matches", matches, len(known))

    def started(self, pairing: Pairing, place: str) -> None:
        # A match that was lost elsewhere is not under way there any more.
        self._running = {where: what for where, what in self._running.items() if what != pairing}
        self._running[place] = pairing
        lines = [f"{where}: {name(what)}" for where, what in self._running.items()]
        if len(lines) > MAX_PLACES:
            lines[MAX_PLACES:] = [f"and on {len(lines) - MAX_PLACES} more"]
        self._shown.under_way(["matches", *lines])

    def ended(self, result: MatchResult, place: str) -> None:
        self._running.pop(place, None)
        self._shown.advances(describe(result, place))

    def lost(self, pairing: Pairing, reason: str) -> None:
        self._shown.tell(describe_loss(pairing, reason))

    def tell(self, line: str) -> None:
        self._shown.tell(line)


def name(pairing: Pairing) -> str:
    """Returns game, round and players of a match."""
    return f"{pairing.game}, round {pairing.round}: {', '.join(pairing.seats)}"


def describe_loss(pairing: Pairing, reason: str) -> str:
    """Returns a line about a missing match."""
    return f"{name(pairing)}: lost twice, and missing from the table ({reason})"


def describe(result: MatchResult, place: str) -> str:
    """Returns a line about a match."""
    goals = result.goals or [None] * len(result.seats)
    seats = ", ".join(
        f"{role} {player} {'-' if goal is None else goal}"
        for role, player, goal in zip(result.roles, result.seats, goals, strict=True)
    )
    stalled = "; stalled" if result.outcome != "finished" else ""
    errors = f"; errors of players: {len(result.errors)}" if result.errors else ""
    return f"{result.game}, round {result.round}: {seats}{stalled}{errors} [{place}]"


def show(standings: Standings) -> None:
    """Prints the tables: goals and results; goals by game; points by who moved first; turns of engines.

    Intervals are those of 95 %.
    """
    columns = ["player", ">roles", ">goals", ">95 %", ">+ = -", ">Elo", ">95 %", "errors"]
    print_table(columns, [_row(line) for line in standings.lines])
    if len(standings.games) > 1:
        columns = ["goals in", *(f">{line.contender.label}" for line in standings.lines)]
        print()
        print_table(
            columns, [[game, *(_mean(line.by_game[game]) for line in standings.lines)] for game in standings.games]
        )
    if any(line.moving_first.games for line in standings.lines):
        print()
        _show_points(standings)
    if any(line.turns.plies for line in standings.lines):
        print()
        _show_turns(standings)
    if standings.stalled:
        print(f"{standings.stalled} matches have no result: some role had no legal move before the end")
    if standings.lost:
        print(
            f"{standings.lost} matches are missing: their workers ended twice; with a log, the same command plays them"
        )


def write_csv(path: Path, standings: Standings) -> None:
    """Writes the table as comma-separated values. Raises `InputError` where that is not possible."""
    rows = standings.as_rows()
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def _row(line: Line) -> list[str]:
    tally, rating, goals = line.tally, line.rating, line.goals.as_json()
    return [
        line.contender.label,
        str(line.goals.seats),
        _mean(line.goals),
        f"{goals['low']:.1f}..{goals['high']:.1f}" if goals["average"] is not None else "-",
        f"{tally.wins} {tally.draws} {tally.losses}",
        f"{rating.elo:+.0f}" if rating else "-",
        f"{rating.low:+.0f}..{rating.high:+.0f}" if rating else "-",
        ", ".join(f"{number} {kind}" for kind, number in sorted(line.errors.items())) or "0",
    ]


def _mean(average: Average) -> str:
    return f"{average.total / average.seats:.1f}" if average.seats else "-"


def _show_points(standings: Standings) -> None:
    """Points against others, a draw half a point; in all, and by who had the first choice after the opening."""
    columns = ["points of", ">all", ">95 %", ">moving first", ">95 %", ">moving later", ">95 %"]
    rows = [
        [line.contender.label, *_share(line.tally), *_share(line.moving_first), *_share(line.moving_later)]
        for line in standings.lines
    ]
    print_table(columns, rows)


def _share(tally: Tally) -> tuple[str, str]:
    if not tally.games:
        return "-", "-"
    low, high = tally.interval()
    return f"{100 * tally.share:.1f} % of {tally.games}", f"{100 * low:.1f}..{100 * high:.1f}"


def _show_turns(standings: Standings) -> None:
    """Medians of when results were proven, longest turns, and whether CPU time was missing."""
    titles = ("proven from ply", "plies to end", "never proven", "proofs missed", "longest turn", "CPU used")
    rows = [
        [
            line.contender.label,
            f"{statistics.median(turns.plies):g}",
            f"{statistics.median(turns.before_end):g}",
            f"{turns.never} of {len(turns.plies)}",
            str(turns.proofs_missed),
            f"{turns.slowest:.3f} s",
            f"{100 * turns.busy:.0f} %",
        ]
        for line in standings.lines
        if (turns := line.turns).plies
    ]
    print_table(["turns of", *(f">{title}" for title in titles)], rows)
