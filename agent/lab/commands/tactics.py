"""`ggp-agent tactics`: positions that only search shows to be won or lost, and how many an engine gets right."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.options import OK, SHEET_HELP, add_command, count, seconds
from agent.errors import InputError
from agent.search.kernel_groups import playing

if TYPE_CHECKING:
    from agent.commands.options import Commands


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "tactics",
        run,
        "count the tactics that an engine sees in a second",
        "Asks an engine for its moves in the positions of a suite, each of which is proven to be won or lost within 3"
        " to 12 plies. Prints, by game, in how many won ones it chooses a move that wins (the prover decides), and how"
        " many lost ones it knows to be lost. With --make, makes the suite first: positions from matches of the sheets,"
        " of two players who take turns.",
        kernels=playing(),
        sheets="make",
    )
    parser.add_argument("suite", type=Path, metavar="SUITE", help="a file (JSON lines)")
    parser.add_argument("--make", nargs="+", default=[], metavar="FILE", help=f"add positions of these: {SHEET_HELP}")
    parser.add_argument(
        "--positions", type=count, default=10, metavar="N", help="to make of each sheet (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of what is made (default: %(default)s)")
    parser.add_argument(
        "--proof", type=seconds, default=5.0, metavar="S", help="for the prover, each time (default: %(default)g)"
    )
    parser.add_argument("--engine", default="general", metavar="ENGINE", help="as of `strength` (default: %(default)s)")
    parser.add_argument("--seconds", type=seconds, default=1.0, metavar="S", help="per position (default: %(default)g)")
    parser.add_argument(
        "--start",
        type=seconds,
        default=8.0,
        metavar="S",
        help="for the engine to prepare for each game and role (default: %(default)g)",
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Makes what is to be made, and measures. Raises `InputError`."""
    from agent.lab.measuring.strength.tactics import make_suite, solve_suite
    from agent.lab.measuring.strength.tactics_suite import line_of, read_suite
    from agent.lab.tournament.engine_player import engine_names, is_engine

    if not is_engine(options.engine):
        raise InputError(f"{options.engine}: no engine; there are {', '.join(engine_names())}")
    if options.make:
        try:
            with options.suite.open("a", encoding="utf-8") as file:
                make_suite(
                    options.make,
                    options.positions,
                    options.proof,
                    options.seed,
                    lambda tactic: print(line_of(tactic), end="", file=file, flush=True),
                )
        except OSError as error:
            raise InputError(f"{options.suite}: {error.strerror}") from None
    suite = read_suite(options.suite)
    return OK, solve_suite(suite, options.engine, options.seconds, options.start, options.proof)
