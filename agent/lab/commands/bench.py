"""`ggp-agent lab bench`: playouts per second of circuit and interpreter."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agent.commands.options import OK, SHEET_HELP, add_command, seconds
from agent.search.kernel_groups import CIRCUIT, PLAYOUTS

if TYPE_CHECKING:
    from agent.commands.options import Commands


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "bench",
        run,
        "measure playouts per second",
        "Measures set-up time and random playouts (goals included) per CPU second of one core, for each game and "
        "engine.",
        kernels=(CIRCUIT, PLAYOUTS),
        sheets="files",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"{SHEET_HELP} (default: all own ones)")
    parser.add_argument(
        "--seconds", type=seconds, default=2.0, metavar="S", help="CPU seconds for each engine (default: %(default)g)"
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Measures and prints a table."""
    from agent.lab.bench import bench

    return OK, bench(options.files, options.seconds)
