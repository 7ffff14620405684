"""`solve`: solves Reversi endings."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.options import DIFFERENT, OK, add_command
from agent.errors import InputError

if TYPE_CHECKING:
    from agent.commands.options import Commands


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "solve",
        run,
        "solve Reversi endings",
        "Solves the positions of an .obf file (board of 64 characters X, O, -, the side to move, then moves with their "
        "scores) on one core, by the standard rules. Exit status 1 if a score is not the best one of the file.",
        kernels=("reversi",),
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="an .obf file")
    parser.add_argument("--count", type=int, metavar="N", help="positions to solve, from the first (default: all)")
    parser.add_argument(
        "--megabytes", type=int, default=256, metavar="N", help="size of the transposition table (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Solves. Raises `InputError` for a file that cannot be read."""
    from protocol.terms import decode
    from tests.instruments.reversi_problems import read_problems, solve

    try:
        problems = read_problems(decode(options.file.read_bytes()))
    except (OSError, ValueError) as error:
        raise InputError(f"{options.file}: {error}") from None
    results = []
    for number, problem in enumerate(problems[: options.count], 1):
        solved = solve(problem, megabytes=options.megabytes)
        right = problem.best is None or solved.score == problem.best
        print(
            f"{number}: {problem.empties} empty, score {solved.score:+}{'' if right else ' (WRONG)'}, "
            f"{solved.nodes} nodes in {solved.seconds:.2f} s, {solved.nodes / solved.seconds / 1e6:.1f} M nodes/s",
            flush=True,
        )
        results.append({**asdict(solved), "right": right})
    return OK if all(result["right"] for result in results) else DIFFERENT, results
