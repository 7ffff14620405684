"""`tactics`: counts the won and lost positions of a suite that an engine gets right."""

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
        "count the tactical positions that an engine gets right",
        "Asks an engine for its moves in the positions of a suite, which are proven to be won or lost within 3 to 12 "
        "plies. Prints, by game, in how many won positions it chooses a move that a prover proves to win, and how many "
        "lost ones it knows to be lost. With --make, first makes positions, from matches of games of two players who "
        "take turns.",
        kernels=playing(),
        sheets="make",
    )
    parser.add_argument("suite", type=Path, metavar="SUITE", help="file of the suite (JSON lines)")
    parser.add_argument(
        "--make", nargs="+", default=[], metavar="FILE", help=f"add positions of games, each {SHEET_HELP}"
    )
    parser.add_argument(
        "--positions", type=count, default=10, metavar="N", help="positions to make of each game (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of new positions (default: %(default)s)")
    parser.add_argument(
        "--proof", type=seconds, default=5.0, metavar="S", help="seconds of each proof (default: %(default)g)"
    )
    parser.add_argument(
        "--engine", default="general", metavar="ENGINE", help="an engine of `tournament` (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=seconds, default=1.0, metavar="S", help="seconds for each position (default: %(default)g)"
    )
    parser.add_argument(
        "--start",
        type=seconds,
        default=8.0,
        metavar="S",
        help="seconds to prepare for each game and role (default: %(default)g)",
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Makes positions on request, and measures. Raises `InputError`."""
    from agent.lab.tournament.engine_player import engine_names
    from tests.instruments.tactics import make_suite, solve_suite
    from tests.instruments.tactics_suite import line_of, read_suite

    if options.engine.partition("+")[0] not in engine_names():
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
