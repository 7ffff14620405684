"""`gaps`: the cost of missed PLAYs."""

from __future__ import annotations

import argparse
import itertools
from typing import TYPE_CHECKING

from agent.commands.options import DIFFERENT, OK, SHEET_HELP, add_command, count
from agent.search.kernel_groups import CIRCUIT

if TYPE_CHECKING:
    from agent.commands.options import Commands

GAMES = ("tic_tac_toe", "connect_four", "breakthrough")

MOST_SEEDS = 20
"""Matches begun for each wanted one, at most: many end before the gap, or with it."""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "gaps",
        run,
        "play matches in which some PLAYs are missed",
        "Simulates matches in which a player is gone for a while, and misses up to three PLAYs. Counts its illegal "
        "moves after that, how many were to be expected (risk), and how soon the state was known again. Exit status 1 "
        "if a match has more than one illegal move.",
        kernels=(CIRCUIT,),
        sheets="games",
    )
    parser.add_argument(
        "games", nargs="*", default=GAMES, metavar="GAME", help=f"{SHEET_HELP} (default: {' '.join(GAMES)})"
    )
    parser.add_argument(
        "--matches", type=count, default=20, metavar="N", help="matches of each game (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the first match (default: %(default)s)"
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Plays the matches, and prints the figures of each game."""
    import logging

    from agent.sheet import load
    from tests.instruments.gaps import as_json, play_match

    logging.getLogger("agent.playing").setLevel(logging.CRITICAL)
    result: dict[str, object] = {}
    good = True
    for game in options.games:
        sheet = load(game)
        machine = sheet.machine()
        seeds = range(options.seed, options.seed + MOST_SEEDS * options.matches)
        played = (record for seed in seeds if (record := play_match(machine, seed)) is not None)
        records = list(itertools.islice(played, options.matches))
        figures = result[sheet.name] = as_json(records)
        good = good and all(record.illegal <= 1 for record in records)
        shown = ", ".join(f"{name} {value}" for name, value in figures.items() if name != "records")
        print(f"{sheet.name}: {shown}", flush=True)
    return OK if good else DIFFERENT, result
