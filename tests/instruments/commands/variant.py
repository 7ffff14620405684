"""`variant`: plays a variant of this checkout against the checkout itself."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.options import OK, SHEET_HELP, add_command, count, seconds
from agent.errors import InputError

if TYPE_CHECKING:
    from agent.commands.options import Commands
    from tests.instruments.variant import BoutResult


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "variant",
        run,
        "play a variant of this checkout against the checkout itself",
        "Plays each opening once with the variant in each role. Prints the variant's share of the points by game and "
        "in all, with 95 % intervals, and ends when a sequential test of the two --bounds has decided. With --csv it "
        "can be interrupted and started again.",
        sheets="games",
    )
    parser.add_argument("games", nargs="+", metavar="GAME", help=SHEET_HELP)
    parser.add_argument("--variant", type=Path, metavar="PATH", help="a patch of this checkout, or another checkout")
    parser.add_argument("--against", type=Path, metavar="PATH", help="the same for the other side")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="give the variant another value of a constant that no kernel is compiled with, such as "
        "agent.search.tree.engine.RAVE_EQUIVALENCE=100",
    )
    parser.add_argument(
        "--against-set", action="append", default=[], metavar="NAME=VALUE", help="the same for the other side"
    )
    parser.add_argument("--memory", type=Path, metavar="DIR", help="give both sides copies of what was learnt of games")
    parser.add_argument(
        "--engine", default="agent", metavar="NAME", help="agent, or an engine of `tournament` (default: %(default)s)"
    )
    parser.add_argument("--against-engine", metavar="NAME", help="the other side's (default: the same)")
    parser.add_argument("--seconds", type=seconds, default=0.25, metavar="S", help="a move (default: %(default)g)")
    parser.add_argument("--start", type=seconds, metavar="S", help="before the first move (default: none)")
    parser.add_argument(
        "--openings", type=count, default=7, metavar="N", help="openings of each game (default: %(default)s)"
    )
    parser.add_argument(
        "--plies", type=count, default=4, metavar="N", help="random plies of an opening (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of openings (default: %(default)s)")
    parser.add_argument(
        "--bounds",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="shares in percent between which the test decides: 45 50 asks whether a removal loses, 50 55 whether an "
        "addition wins (default: all openings are played)",
    )
    parser.add_argument("--jobs", type=count, metavar="N", help="matches at once (default: one on each core)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="add the matches to FILE, and count those in it")


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Plays the matches, and prints the result. Raises `InputError`."""
    from agent.sheet import load
    from tests.instruments.variant import (
        CERTAINTY,
        CHECKOUT,
        BoutClocks,
        BoutTable,
        SeriesResults,
        Side,
        as_json,
        patched,
        run_series,
        schedule,
        verdict,
    )

    def settings(texts: list[str]) -> dict[str, str]:
        found = dict(text.partition("=")[::2] for text in texts)
        wrong = next((name for name, value in found.items() if "." not in name or not value), None)
        if wrong is not None:
            raise InputError(f"--set {wrong}: a setting is given as module.NAME=VALUE")
        return found

    def folder(path: Path | None) -> Path:
        found = CHECKOUT if path is None else path.resolve() if path.is_dir() else patched(path)
        if not (found / "agent").is_dir():
            raise InputError(f"{path}: no checkout of this project")
        return found

    variant = Side(folder(options.variant), options.engine, settings(options.set), options.memory)
    other = Side(
        folder(options.against), options.against_engine or options.engine, settings(options.against_set), options.memory
    )
    low, high = options.bounds or (45.0, 50.0)
    bounds = low / 100, high / 100
    results = SeriesResults(options.csv)
    sheets = {sheet.name: sheet for sheet in map(load, options.games)}

    def shown(outcomes: list[BoutResult]) -> str:
        return verdict(outcomes, bounds).text

    def told(outcome: BoutResult) -> None:
        print(
            f"{outcome.game} {outcome.opening}.{outcome.role}: {100 * outcome.share:.0f} in {outcome.plies} plies; "
            f"{shown(results.outcomes)}",
            flush=True,
        )

    def over() -> bool:
        decided = results.outcomes and abs(verdict(results.outcomes, bounds).ratio) >= CERTAINTY
        return options.bounds is not None and bool(decided)

    clocks = BoutClocks(options.seconds, options.start or 0.0)
    run_series(
        schedule(sheets, options.openings),
        lambda core: BoutTable((variant, other), sheets, clocks, options.plies, options.seed, core),
        results,
        options.jobs or len(os.sched_getaffinity(0)),
        over,
        told,
    )
    for game in sheets:
        outcomes = [outcome for outcome in results.outcomes if outcome.game == game]
        if outcomes:
            print(f"{game:28} {shown(outcomes)}")
    print(f"{'all':28} {shown(results.outcomes)}, log-likelihood ratio {verdict(results.outcomes, bounds).ratio:+.1f}")
    return OK, as_json(results.outcomes, bounds)
