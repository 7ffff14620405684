"""`search-speed`: playouts per second in tree search."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agent.commands.options import OK, SHEET_HELP, add_command, seconds
from agent.search.kernel_groups import CIRCUIT, PLAYOUTS, TREE

if TYPE_CHECKING:
    from agent.commands.options import Commands


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "search-speed",
        run,
        "measure the tree search's playouts per second",
        "Measures the playouts per second of tree search beside raw ones, 20 s on one core and on two.",
        kernels=(CIRCUIT, PLAYOUTS, TREE),
        sheets="files",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"{SHEET_HELP} (default: all own ones)")
    parser.add_argument(
        "--seconds", type=seconds, default=2.0, metavar="S", help="CPU seconds of raw playouts (default: %(default)g)"
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Measures and prints a table."""
    from tests.instruments.search_speed import bench_search

    return OK, bench_search(options.files, options.seconds)
