"""`perft`: counts the positions of native Reversi."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from agent.commands.options import OK, add_command
from agent.errors import InputError

if TYPE_CHECKING:
    from agent.commands.options import Commands


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "perft",
        run,
        "count the positions of native Reversi",
        "Counts the sequences of exactly DEPTH plies from the first position of a Reversi board, the last ply in bulk. "
        "A pass is a ply.",
        kernels=("reversi",),
    )
    parser.add_argument("depth", type=int, metavar="DEPTH", help="number of plies, up to 20")
    parser.add_argument("--columns", type=int, default=8, metavar="N", help="columns, 4 to 8 (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=8, metavar="N", help="rows, 4 to 8 (default: %(default)s)")
    parser.add_argument(
        "--exact-plies",
        action="store_true",
        help="do not count games that end before DEPTH plies (default: each is one leaf)",
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Counts. Raises `InputError` for a board or a depth out of range."""
    from games.native.reversi.rules import central_start, rectangle
    from tests.instruments.reversi_perft import perft

    columns, rows, depth = options.columns, options.rows, options.depth
    if not (4 <= columns <= 8 and 4 <= rows <= 8 and 0 <= depth <= 20):
        raise InputError("boards have 4 to 8 columns and rows, depths go up to 20")
    variant = central_start(columns, rows, rectangle(columns, rows))
    perft(variant, 3)  # compiles
    begin = time.perf_counter()
    leaves = perft(variant, depth, count_finished=not options.exact_plies)
    seconds = time.perf_counter() - begin
    print(f"perft {depth}: {leaves} leaves in {seconds:.3f} s, {leaves / seconds / 1e6:.1f} M leaves/s")
    return OK, {"depth": depth, "leaves": leaves, "seconds": seconds}
