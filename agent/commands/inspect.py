"""`ggp-agent inspect`: what the agent makes of a rulesheet."""

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
        "show what the agent makes of a rulesheet",
        "Shows a rulesheet's roles, kind and size, what it is recognised as, the engine that would play it, how long "
        "setting up takes, random playouts per second, which facts and moves random matches reach, facts that stay "
        "once they are true, the value of a game small enough to be proven, all warnings, why it is none of the games "
        "with native rules, symmetries of the rules, parts that do not influence one another, and a match at random.",
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
        help="positions of a match at random that are drawn, first and last among them; 0: none (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Prints and returns the description."""
    from agent.checking.describe import describe

    return OK, describe(options.file, positions=options.sample)
