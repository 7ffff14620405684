"""`ggp-agent lab bench`: playouts per second, raw and in tree search, and the cost of compiling the kernels."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agent.commands.options import DIFFERENT, OK, SHEET_HELP, add_command, seconds
from agent.errors import InputError
from agent.search.kernel_groups import CIRCUIT, PLAYOUTS, TREE

if TYPE_CHECKING:
    from agent.commands.options import Commands

SECONDS = 2.0
"""CPU seconds for each engine."""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "bench",
        run,
        "measure playouts per second, or what compiling costs",
        "Measures set-up time and random playouts (goals included) per CPU second of one core, for each game and "
        "engine; with --search also those of the tree search; with --kernels instead the cost of compiling all "
        "kernels.",
        sheets="files",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"{SHEET_HELP} (default: all own ones)")
    parser.add_argument(
        "--seconds", type=seconds, metavar="S", help=f"CPU seconds for each engine (default: {SECONDS:g})"
    )
    parser.add_argument(
        "--search",
        action="store_true",
        help="also measure the tree search of each sheet, 20 s on one core and on two",
    )
    parser.add_argument(
        "--kernels",
        action="store_true",
        help="compile all kernels into an empty cache; print CPU seconds, specialisations, lines of LLVM IR",
    )
    parser.add_argument(
        "--check", action="store_true", help="with --kernels: exit status 1 where they exceed the budget"
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Measures and prints a table."""
    _check(options)
    if options.kernels:
        return _bench_kernels(check=options.check)
    from agent.kernels.progress import prepare

    each = SECONDS if options.seconds is None else options.seconds
    if options.search:
        from agent.lab.measuring.speed.search_speed import bench_search

        prepare((CIRCUIT, PLAYOUTS, TREE)).close()
        return OK, bench_search(options.files, each)
    from agent.lab.measuring.speed.bench import bench

    prepare((CIRCUIT, PLAYOUTS)).close()
    return OK, bench(options.files, each)


def _check(options: argparse.Namespace) -> None:
    """Raises `InputError` for options that do not go together."""
    chosen = [name for name in ("search", "kernels") if getattr(options, name)]
    if len(chosen) > 1:
        raise InputError(f"--{chosen[0]} does not go with --{chosen[1]}")
    if options.check and not options.kernels:
        raise InputError("--check needs --kernels")
    if options.kernels and options.files:
        raise InputError("--kernels measures no games")


def _bench_kernels(*, check: bool) -> tuple[int, object]:
    from agent.lab.measuring.speed.compile_cost import measure, over_budget, print_table

    cost = measure()
    print_table(cost)
    exceeded = over_budget(cost.specialisations, cost.ir_lines) if check else []
    for line in exceeded:
        print(line, flush=True)
    return DIFFERENT if exceeded else OK, cost.as_json()
