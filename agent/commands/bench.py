"""`ggp-agent bench`: random playouts per second."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agent.commands.options import OK, add_command, seconds
from agent.kernels.groups import CIRCUIT

if TYPE_CHECKING:
    from agent.commands.options import Commands


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "bench",
        run,
        "measure random playouts per second",
        "Measures set-up time and random playouts (goals included) per game and engine, per CPU second of one core.",
        kernels=(CIRCUIT,),
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="rulesheets, files or names (default: all own ones)")
    parser.add_argument(
        "--seconds", type=seconds, default=2.0, metavar="S", help="to measure each engine for (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Measures and prints a table."""
    from agent.measuring.bench import bench

    return OK, bench(options.files, options.seconds)
