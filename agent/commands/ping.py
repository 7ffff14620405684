"""`ggp-agent ping`: checks a player as managers meet it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agent.commands.options import DIFFERENT, OK, add_command, count

if TYPE_CHECKING:
    from agent.checking.ping import PingReport
    from agent.commands.options import Commands

SIGNS = {"good": ("ok", "green"), "note": ("note", "yellow"), "problem": ("WRONG", "red")}


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "ping",
        run,
        "check whether managers can play with a player",
        "Checks whether the player is reachable, how it answers INFO and how fast, whether it closes its connections, "
        "and whether managers in a browser may ask it. Ends with advice. Exit status 1 if a manager could not play "
        "with it.",
    )
    parser.add_argument("url", metavar="URL", help="address of the player, such as http://localhost:9147")
    parser.add_argument(
        "--play", action="store_true", help="also begin a match of tic-tac-toe, play some turns, and abort it"
    )
    parser.add_argument(
        "--style",
        choices=("ggp-base", "dresden", "infix"),
        default="ggp-base",
        help="speak like this manager (default: %(default)s)",
    )
    parser.add_argument(
        "--round-trips", type=count, default=10, metavar="N", help="number of timed messages (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Asks, and prints what was found. Raises `InputError` for what is no address."""
    import asyncio

    from agent.checking.ping import ping

    report = asyncio.run(ping(options.url, round_trips=options.round_trips, play=options.play, style=options.style))
    show(report)
    return OK if report.well else DIFFERENT, report.as_json()


def show(report: PingReport) -> None:
    """A line per finding, then what to do."""
    from rich.text import Text

    from agent.console import console

    screen = console()
    width = max(len(finding.about) for finding in report.findings)
    for finding in report.findings:
        sign, colour = SIGNS[finding.level]
        screen.print(Text.assemble((f"{sign:5}", colour), f"  {finding.about:{width}}  {finding.text}"), soft_wrap=True)
    advice = [finding for finding in report.findings if finding.advice]
    if advice:
        screen.print("\nwhat to do:")
    for finding in advice:
        screen.print(Text(f"  {finding.about}: {finding.advice}"), soft_wrap=True)
    if report.well:
        screen.print(f"\nmanagers can play with {report.url}")
    else:
        screen.print(f"\nthere is something wrong with {report.url}")
