"""`ggp-agent conform`: checks rulesheets against reference traces, or circuits against the interpreter."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from agent.commands.options import DIFFERENT, OK, add_command, count, own_rulesheets
from agent.console import is_quiet
from agent.lab.commands.options import add_cluster_option, executor
from agent.search.kernel_groups import CIRCUIT

if TYPE_CHECKING:
    from agent.commands.options import Commands

DESCRIPTION = """
Compares states, legal moves, ends and goals: where there is a reference trace (DIR/traces/GAME.json.gz), the circuit of
the rulesheet with that; where there is none, and for a single FILE, the circuit with the interpreter on random matches.
A rulesheet without a circuit is played by the interpreter alone, and is marked so. Exit status 1 if anything differs.
"""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "conform",
        run,
        "check rulesheets against reference traces, or circuits against the interpreter",
        DESCRIPTION,
        own_rulesheets(),
        kernels=(CIRCUIT,),
    )
    parser.add_argument(
        "target", metavar="FILE|DIR", help="a rulesheet (file, or name of an own one), or a folder of them (*.kif)"
    )
    parser.add_argument("games", nargs="*", metavar="GAME", help="games of the folder to check (default: all)")
    parser.add_argument(
        "--matches", type=count, default=10, metavar="N", help="random matches where there is no trace (default: 10)"
    )
    parser.add_argument(
        "--jobs", type=count, metavar="N", help="sheets at once (default: 1, or all that a cluster can)"
    )
    add_cluster_option(parser, "check sheets")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the random matches (default: 1)")


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Checks the sheets and prints a table."""
    from agent.lab.measuring.sheets.conform import Plan, conform
    from agent.sheet import find

    plan = Plan(matches=options.matches, seed=options.seed)
    target = find(options.target)
    if options.cluster is None and (options.jobs or 1) == 1:
        result = conform(target, options.games, plan)
    else:
        with executor(options, options.jobs, 1) as workers:
            result = conform(target, options.games, plan, executor=workers, tell=_tell)
    return DIFFERENT if result.failed else OK, result.as_json()


def _tell(line: str) -> None:
    if not is_quiet():
        print(line, file=sys.stderr, flush=True)
