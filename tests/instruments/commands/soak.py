"""`soak`: load and faults against a server of its own."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.options import DIFFERENT, OK, SHEET_HELP, add_command, clock, count, seconds
from agent.search.kernel_groups import playing

if TYPE_CHECKING:
    from agent.commands.options import Commands

GAMES = ("tic_tac_toe", "connect_four", "breakthrough")


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "soak",
        run,
        "play many matches against a server of its own, under load and with faults",
        "Starts `ggp-agent serve` with a journal and plays matches against it as managers do. Counts late, illegal and "
        "missing replies, and how long after the plan (the clock less the margin) replies left. Ends after --turns or "
        "--seconds, whichever comes first. Exit status 1 if a reply was late or illegal.",
        kernels=playing(),
        sheets="games",
    )
    parser.add_argument(
        "games", nargs="*", default=GAMES, metavar="GAME", help=f"{SHEET_HELP} (default: {' '.join(GAMES)})"
    )
    for name, parse, default, metavar, what in (
        ("--turns", count, 200, "N", "turns, at most"),
        ("--seconds", seconds, 300.0, "S", "time, at most"),
        ("--at-once", count, 2, "N", "matches side by side"),
        ("--start-clock", clock, 3, "S", "start clock"),
        ("--play-clock", clock, 1, "S", "play clock"),
        ("--margin", seconds, 0.4, "S", "margin of the server"),
        ("--faults", _share, 0.0, "P", "share of matches that are hit by a fault, at a random turn"),
        ("--load", int, 0, "N", "busy processes beside the server"),
        ("--seed", int, 0, "N", "seed of matches and faults"),
    ):
        parser.add_argument(name, type=parse, default=default, metavar=metavar, help=f"{what} (default: %(default)s)")
    parser.add_argument(
        "--fault",
        type=_fault,
        action="append",
        metavar="NAME",
        help="only this fault; may be given several times; a wrong name lists all (default: all but damaged and "
        "truncated kernels, after which everything is compiled again)",
    )
    parser.add_argument("--log", type=Path, metavar="FILE", help="file for the server's log")


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Runs the soak, and prints the figures."""
    from agent.console import print_fields, shows_progress
    from tests.instruments.soak import SoakReport, soak

    def show(one: SoakReport) -> None:
        if shows_progress():
            told = (
                f"{one.turns} of {options.turns} turns, {one.matches} matches, {one.late} late, {one.illegal} illegal"
            )
            print(told, end="\r", file=sys.stderr, flush=True)

    # Both end the matches, and the figures are of those until then.
    before = signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    try:
        report = soak(options, show)
    finally:
        signal.signal(signal.SIGTERM, before)
    figures = report.as_json()
    print_fields([(name.replace("_", " "), str(value)) for name, value in figures.items()])
    return DIFFERENT if report.late or report.illegal else OK, figures


def _fault(text: str) -> str:
    from tests.instruments.soak_faults import FAULTS

    if text not in FAULTS:
        raise argparse.ArgumentTypeError(f"{text} is none of: {', '.join(FAULTS)}")
    return text


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError("a share is from 0 to 1")
    return share
