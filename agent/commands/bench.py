"""`ggp-agent bench`: playouts per second, raw and in the tree search; what compiling the kernels costs, or being
watched."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agent.commands.options import DIFFERENT, OK, add_command, seconds
from agent.errors import InputError
from agent.kernels.groups import ALPHA_BETA, CIRCUIT, PLAYING, PLAYOUTS, TREE

if TYPE_CHECKING:
    from agent.commands.options import Commands


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "bench",
        run,
        "measure playouts per second, or what compiling costs",
        "Measures set-up time and random playouts (goals included) per game and engine, per CPU second of one core;"
        " with --search, how many the tree search makes on one core and on two; or, with --kernels, what compiling all"
        " kernels costs.",
        sheets="files",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="rulesheets, files or names (default: all own ones)")
    parser.add_argument(
        "--seconds", type=seconds, default=2.0, metavar="S", help="to measure each engine for (default: %(default)s)"
    )
    parser.add_argument(
        "--search",
        action="store_true",
        help="measure the tree search as well, 20 s on one core and on two, for each sheet (by its circuit)",
    )
    parser.add_argument(
        "--kernels",
        action="store_true",
        help="instead: compile all kernels into an empty cache; CPU seconds, specialisations, lines of LLVM IR",
    )
    parser.add_argument(
        "--helpers",
        action="store_true",
        help="instead: what helpers on other machines cost a search, and what up to 63 of them bring by simulation, for"
        " each sheet; --seconds is what a tree gets (0.1 takes minutes)",
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="instead: what pages that show a match cost its search, for each sheet; --seconds is how long they are"
        " open, and closed, at a time",
    )
    parser.add_argument(
        "--browser", action="store_true", help="with --watch: one more page, in a headless Chromium on this machine"
    )
    parser.add_argument("--check", action="store_true", help="with --kernels: fail where they exceed the budget")


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Measures and prints a table."""
    chosen = [name for name in ("search", "kernels", "helpers", "watch") if getattr(options, name)]
    if len(chosen) > 1:
        raise InputError(f"--{chosen[0]} does not go with --{chosen[1]}")
    if options.browser and not options.watch:
        raise InputError("--browser needs --watch")
    if not options.kernels:
        if options.check:
            raise InputError("--check needs --kernels")
        from agent.kernels.progress import prepare

        if options.helpers:
            from agent.measuring.helper_cost import bench_helpers

            if not options.files:
                raise InputError("--helpers needs sheets")
            prepare((CIRCUIT, TREE, ALPHA_BETA)).close()
            return OK, bench_helpers(options.files, options.seconds)
        if options.watch:
            from agent.measuring.watch_cost import bench_watch

            if not options.files:
                raise InputError("--watch needs sheets")
            prepare(PLAYING).close()
            return OK, bench_watch(options.files, options.seconds, browser=options.browser)
        if options.search:
            from agent.measuring.search_speed import bench_search

            prepare((CIRCUIT, PLAYOUTS, TREE)).close()
            return OK, bench_search(options.files, options.seconds)
        from agent.measuring.bench import bench

        prepare((CIRCUIT, PLAYOUTS)).close()
        return OK, bench(options.files, options.seconds)
    if options.files:
        raise InputError("--kernels measures no games")
    from agent.measuring.compile_cost import measure, over_budget, print_table

    cost = measure()
    print_table(cost)
    exceeded = over_budget(cost.specialisations, cost.ir_lines) if options.check else []
    for line in exceeded:
        print(line, flush=True)
    return DIFFERENT if exceeded else OK, cost.as_json()
