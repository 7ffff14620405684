"""`ggp-agent validate`: checks many rulesheets."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agent.commands.options import DIFFERENT, OK, add_command, own_rulesheets

if TYPE_CHECKING:
    from agent.commands.options import Commands


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "validate",
        run,
        "check rulesheets for errors and oddities",
        "Prints errors (no meaning, or `does` where no move has been made) and warnings (odd, but playable) of "
        "rulesheets as compilers do, with the line and a caret. With --matches it also plays random matches, and "
        "reports roles without a move before the end, roles without a goal at the end or with several, and matches "
        "without an end. Exit status 1 for errors, with --strict also for warnings.",
        epilog=own_rulesheets(),
    )
    parser.add_argument(
        "targets",
        nargs="+",
        metavar="FILE|DIR",
        help="rulesheet files, folders (all *.kif and *.gdl in them and below), or names of own rulesheets",
    )
    parser.add_argument(
        "--matches", type=_number, default=0, metavar="N", help="random matches of each (default: none)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the random matches (default: 1)")
    parser.add_argument("--strict", action="store_true", help="treat warnings as errors")


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Checks the sheets. Raises `InputError` if there are none."""
    from agent.checking.validate import SheetVerdict, sheets_in, validate
    from agent.console import print_remarks

    def show(verdict: SheetVerdict) -> None:
        print_remarks([remark.text for remark in verdict.remarks])

    verdicts = validate(sheets_in(options.targets), options.matches, options.seed, show)
    wrong = sum(verdict.count("error") > 0 for verdict in verdicts)
    odd = sum(verdict.count("warning") > 0 and not verdict.count("error") for verdict in verdicts)
    well = len(verdicts) - wrong - odd
    print(f"{len(verdicts)} rulesheets: {well} well, {odd} with warnings only, {wrong} with errors")
    failed = wrong or (options.strict and odd)
    return DIFFERENT if failed else OK, {"sheets": [verdict.as_json() for verdict in verdicts]}


def _number(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("not below 0")
    return number
