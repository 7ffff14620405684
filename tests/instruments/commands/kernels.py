"""`kernels`: the cost of compiling the kernels."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agent.commands.options import DIFFERENT, OK, add_command

if TYPE_CHECKING:
    from agent.commands.options import Commands


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "kernels",
        run,
        "measure what compiling costs",
        "Compiles all kernels into an empty cache; prints CPU seconds, specialisations and lines of LLVM IR.",
    )
    parser.add_argument("--check", action="store_true", help="exit status 1 where they exceed the budget")


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Measures and prints a table."""
    from tests.instruments.compile_cost import measure, over_budget, print_table

    cost = measure()
    print_table(cost)
    exceeded = over_budget(cost.specialisations, cost.ir_lines) if options.check else []
    for line in exceeded:
        print(line, flush=True)
    return DIFFERENT if exceeded else OK, cost.as_json()
