"""`ggp-agent lab conform`: circuits against reference traces or the interpreter, native rules against circuits."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from agent.commands.options import DIFFERENT, OK, add_command, count, own_rulesheets
from agent.console import is_quiet
from agent.errors import InputError
from agent.lab.commands.options import add_cluster_option, executor
from agent.search.kernel_groups import CIRCUIT

if TYPE_CHECKING:
    from agent.commands.options import Commands

DESCRIPTION = """
Compares states, legal moves, ends and goals. A sheet of a folder that has a reference trace (DIR/traces/GAME.json.gz):
its circuit with the trace. Any other sheet: its circuit with the interpreter, on random matches. With --native: the
native rules of its family with its circuit, on random matches. A sheet without a circuit is played by the interpreter
alone, and is marked so. Exit status 1 if anything differs.
"""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "conform",
        run,
        "compare circuits with traces or the interpreter, native rules with circuits",
        DESCRIPTION,
        own_rulesheets(),
    )
    parser.add_argument(
        "target", metavar="FILE|DIR", help="a rulesheet (file, or name of an own one), or a folder of them (*.kif)"
    )
    parser.add_argument("games", nargs="*", metavar="GAME", help="games of the folder to check (default: all)")
    parser.add_argument(
        "--matches", type=count, default=10, metavar="N", help="random matches of a sheet without a trace (default: 10)"
    )
    parser.add_argument(
        "--jobs", type=count, metavar="N", help="sheets at once (default: 1; on a cluster, all its cores)"
    )
    add_cluster_option(parser, "check sheets")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the random matches (default: 1)")
    parser.add_argument("--native", action="store_true", help="compare the native rules of one sheet with its circuit")
    parser.add_argument(
        "--positions",
        type=count,
        default=1_000_000,
        metavar="N",
        help="positions to compare with --native (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Checks the sheets and prints a table. Raises `InputError`."""
    return _compare_native(options) if options.native else _conform(options)


def _conform(options: argparse.Namespace) -> tuple[int, object]:
    from agent.kernels.progress import prepare
    from agent.lab.conform.sheets import ConformPlan, conform
    from agent.sheet import find

    target = find(options.target)
    prepare((CIRCUIT,)).close()
    plan = ConformPlan(matches=options.matches, seed=options.seed)
    if options.cluster is None and (options.jobs or 1) == 1:
        result = conform(target, options.games, plan)
    else:
        with executor(options, options.jobs, 1) as workers:
            result = conform(target, options.games, plan, executor=workers, tell=_tell)
    return DIFFERENT if result.failed else OK, result.as_json()


def _compare_native(options: argparse.Namespace) -> tuple[int, object]:
    from agent.kernels.progress import prepare
    from agent.sheet import load
    from games.families import FAMILIES
    from games.gdl.compile import compile_rules
    from games.native.midway import may_begin_midway

    if options.games:
        raise InputError("--native takes one rulesheet")
    sheet = load(options.target)
    prepare((CIRCUIT,)).close()
    machine = compile_rules(sheet.checked, freeing=may_begin_midway)
    begin = time.perf_counter()
    for family in FAMILIES:
        binding = family.recognise(machine)
        if binding is not None:
            break
    else:
        raise InputError(f"{options.target}: not a game of a native family")
    recognised = time.perf_counter() - begin
    print(f"recognised as {family.name} in {recognised:.2f} s: {binding.variant}")
    begin = time.perf_counter()
    agreeing = family.count_agreeing(machine, binding, options.positions, seed=1000)
    print(f"{agreeing} positions agree ({time.perf_counter() - begin:.1f} s)")
    status = DIFFERENT if agreeing < options.positions else OK
    return status, {"family": family.name, "positions": agreeing, "recognised_in": recognised}


def _tell(line: str) -> None:
    if not is_quiet():
        print(line, file=sys.stderr, flush=True)
