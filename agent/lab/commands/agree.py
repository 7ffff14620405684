"""`ggp-agent agree`: compares native rules with a rulesheet's circuit."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from agent.commands.options import DIFFERENT, OK, SHEET_HELP, add_command
from agent.errors import InputError
from agent.search.kernel_groups import CIRCUIT

if TYPE_CHECKING:
    from agent.commands.options import Commands


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "agree",
        run,
        "compare native rules with a rulesheet's circuit",
        "Recognises a rulesheet of a native family and compares legal moves, successors, ends and goals of the "
        "native rules with those of the compiled rulesheet on whole random matches. Exit status 1 if any differs.",
        kernels=(CIRCUIT,),
        sheets="file",
    )
    parser.add_argument("file", metavar="FILE", help=SHEET_HELP)
    parser.add_argument("--positions", type=int, default=1_000_000, metavar="N", help="(default: %(default)s)")


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Compares. Raises `InputError` for a rulesheet of no native family."""
    from agent.sheet import load
    from games.families import FAMILIES
    from games.gdl.compile import compile_rules

    machine = compile_rules(load(options.file).checked)
    begin = time.perf_counter()
    for family in FAMILIES:
        binding = family.recognise(machine)
        if binding is not None:
            break
    else:
        raise InputError(f"{options.file}: not a game of a native family")
    seconds = time.perf_counter() - begin
    print(f"recognised as {family.name} in {seconds:.2f} s: {binding.variant}")
    begin = time.perf_counter()
    agreeing = family.count_agreeing(machine, binding, options.positions, seed=1000)
    print(f"{agreeing} positions agree ({time.perf_counter() - begin:.1f} s)")
    status = DIFFERENT if agreeing < options.positions else OK
    return status, {"family": family.name, "positions": agreeing, "recognised_in": seconds}
