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
    parser.add_argument("--turns", type=count, default=200, metavar="N", help="turns, at most (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=seconds, default=300.0, metavar="S", help="time, at most (default: %(default)g)"
    )
    parser.add_argument(
        "--at-once", type=count, default=2, metavar="N", help="matches side by side (default: %(default)s)"
    )
    parser.add_argument("--start-clock", type=clock, default=3, metavar="S", help="start clock (default: %(default)s)")
    parser.add_argument("--play-clock", type=clock, default=1, metavar="S", help="play clock (default: %(default)s)")
    parser.add_argument(
        "--margin", type=seconds, default=0.4, metavar="S", help="margin of the server (default: %(default)s)"
    )
    parser.add_argument(
        "--faults",
        type=_share,
        default=0.0,
        metavar="P",
        help="share of matches that are hit by a fault, at a random turn (default: %(default)g)",
    )
    parser.add_argument(
        "--fault",
        type=_fault,
        action="append",
        metavar="NAME",
        help="only this fault; may be given several times; a wrong name lists all (default: all but damaged and "
        "truncated kernels, after which everything is compiled again)",
    )
    parser.add_argument(
        "--load", type=int, default=0, metavar="N", help="busy processes beside the server (default: %(default)s)"
    )
    parser.add_argument("--log", type=Path, metavar="FILE", help="file for the server's log")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of matches and faults (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Runs the soak, and prints the figures."""
    # The server must not outlive this process.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from agent.console import print_fields, shows_progress
    from tests.instruments.soak import SoakOptions, SoakReport, soak
    from tests.instruments.soak_faults import USUAL

    given = SoakOptions(
        games=tuple(options.games),
        turns=options.turns,
        seconds=options.seconds,
        at_once=options.at_once,
        start_clock=options.start_clock,
        play_clock=options.play_clock,
        margin=options.margin,
        faults=options.faults,
        faults_of=tuple(options.fault or USUAL),
        load=options.load,
        seed=options.seed,
        log=options.log,
    )
    columns = (TextColumn("turns"), BarColumn(), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, TextColumn("{task.description}"), console=console, disable=not shows_progress()) as bar:
        task = bar.add_task("", total=options.turns)

        def show(report: SoakReport) -> None:
            bar.update(
                task,
                completed=min(report.turns, options.turns),
                description=f"{report.matches} matches, {report.late} late, {report.illegal} illegal",
            )

        report = soak(given, show)
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
