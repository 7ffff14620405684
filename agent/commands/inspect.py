"""`ggp-agent inspect`: properties of a rulesheet."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agent.commands.options import OK, SHEET_HELP, add_command
from agent.search.kernel_groups import kernel_groups

if TYPE_CHECKING:
    from agent.commands.options import Commands


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "inspect",
        run,
        "show roles, kind, size, engine and warnings of a rulesheet",
        "Shows a rulesheet's roles, kind and size; its native family, or why it has none; the engine that would play "
        "it; set-up time and random playouts per second; facts and moves that random matches reach, and facts that "
        "stay once they are true; the value of a game small enough to be proven; symmetries, and parts that do not "
        "influence each other; all warnings; and a random match.",
        kernels=tuple(kernel_groups()),
        sheets="file",
    )
    parser.add_argument("file", metavar="FILE", help=SHEET_HELP)
    parser.add_argument(
        "--sample",
        type=int,
        choices=range(21),
        default=3,
        metavar="N",
        help="positions of the random match to draw, with the first and the last (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Prints and returns the description."""
    from agent.checking.describe import describe

    return OK, describe(options.file, positions=options.sample)
