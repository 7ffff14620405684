"""`ggp-agent conform`: checks rulesheets against reference traces."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.options import DIFFERENT, OK, add_command

if TYPE_CHECKING:
    from agent.commands.options import Commands


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "conform",
        run,
        "check rulesheets against reference traces",
        "Replays reference matches and compares states, legal moves, ends and goals. Exit status 1 if any differs.",
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="folder with GAME.kif and traces/GAME.json.gz")
    parser.add_argument("games", nargs="*", metavar="GAME", help="games to check (default: all)")


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Checks the sheets and prints a table."""
    from agent.measuring.conform import conform

    result = conform(options.directory, options.games)
    return DIFFERENT if result.failed else OK, result.as_json()
