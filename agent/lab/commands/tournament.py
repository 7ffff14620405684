"""`ggp-agent tournament`: lets players play each other at several games and ranks them."""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.options import (
    DIFFERENT,
    OK,
    SHEET_HELP,
    add_command,
    add_manager_options,
    add_watch_option,
    count,
    own_rulesheets,
    players,
)
from agent.lab.commands.options import add_cluster_option, add_series_options, executor, shown_series
from agent.search.kernel_groups import CIRCUIT, playing

if TYPE_CHECKING:
    from agent.commands.options import Commands
    from agent.web.tournaments import ShownTournament


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "tournament",
        run,
        "let players play each other at several games and rank them",
        "In each round of each game, every choice of players meets in all rotations of the roles, from one random "
        "opening. Prints goals, results, Elo ratings (Bradley-Terry) and players' errors; points by who moved first; "
        "when engines had proven the result, their longest turns, and whether CPU time was missing. Intervals are "
        "those of 95 %. With a log it can be interrupted and started again; rounds, players and games may be added, "
        "and `ggp-agent replay` shows it. Exit status 1 if a match stalled (a role had no legal move) or was lost "
        "twice with its worker.",
        epilog=own_rulesheets(),
        sheets="games",
    )
    parser.add_argument("games", nargs="+", metavar="GAME", help=SHEET_HELP)
    parser.add_argument(
        "--players",
        type=players,
        required=True,
        metavar="A,B[,C..]",
        help="addresses such as http://localhost:9147; `agent` (a process of this agent), `agent:LEVEL` (at a level: "
        "easy, normal, strong, or a number of playouts a move), `random` (or random:SEED), `legal` (always the first "
        "legal move); engines as ENGINE@SECONDS or ENGINE@SECONDS+SECONDS, per move and before the first: "
        "general@0.2+5. NAME=PLAYER names one for the table. Engines: native, general (alpha-beta "
        "or tree search, as it finds out), tree, montecarlo, plain (Reversi, 6 plies without "
        "patterns); general+2@1 searches with 2 helpers on a Ray cluster "
        "(docs/cluster-match.md)",
    )
    parser.add_argument(
        "--rounds", type=count, default=1, metavar="N", help="rounds of each game (default: %(default)s)"
    )
    add_series_options(parser, _plies, 0)
    parser.add_argument(
        "--balanced",
        action="store_true",
        help="only openings that the agent values at 40 to 60 for the first role after a quarter of a second",
    )
    add_manager_options(parser, "players over HTTP")
    parser.add_argument(
        "--cores", type=count, default=1, metavar="N", help="cores of each match (default: %(default)s)"
    )
    parser.add_argument(
        "--jobs", type=count, metavar="N", help="matches at once (default: as many as there are cores for)"
    )
    add_cluster_option(parser, "play")
    add_watch_option(parser, "show table and matches on a page")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table to FILE as comma-separated values")


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Plays the tournament, and prints the tables. Raises `InputError` where players or games make no sense."""
    from agent.kernels.progress import prepare
    from agent.lab.tournament.contenders import parse_contenders
    from agent.lab.tournament.engine_player import engine_names
    from agent.lab.tournament.report import show, write_csv
    from agent.lab.tournament.results import Settings
    from agent.lab.tournament.series import run_tournament

    contenders = parse_contenders(options.players, engine_names())
    searching = options.balanced or any(contender.kind in ("engine", "agent") for contender in contenders)
    prepare(playing() if searching else (CIRCUIT,)).close()
    settings = Settings(
        seed=options.seed,
        opening_plies=options.opening,
        start_clock=options.start_clock,
        play_clock=options.play_clock,
        scramble=options.scramble,
        cores=options.cores,
        balanced=options.balanced,
    )
    default = max(1, len(os.sched_getaffinity(0)) // options.cores)
    with ExitStack() as stack:
        watched = None
        if options.watch is not None:
            from agent.lab.tournament.watching import WatchedTournament

            watched = WatchedTournament(contenders, settings)
            print(f"watch it: {stack.enter_context(watched.served(options.watch))}", flush=True)
        with executor(options, options.jobs, default) as workers, shown_series(options.log) as watcher:
            standings = run_tournament(
                contenders,
                options.games,
                settings,
                rounds=options.rounds,
                executor=workers,
                log=options.log,
                watcher=watcher if watched is None else watched.beside(watcher),
            )
        show(standings)
        if options.csv is not None:
            write_csv(options.csv, standings)
        if watched is not None:
            watched.over()
            if watched.gallery.watched:
                print("the page stays until it is closed, or until Ctrl-C is pressed", flush=True)
                with suppress(KeyboardInterrupt):
                    watched.wait_until_left()
            elif options.log is not None:
                print(f"to look at it later: ggp-agent replay {options.log}", flush=True)
    return DIFFERENT if standings.stalled or standings.lost else OK, standings.as_json(settings, options.rounds)


def read_log(path: Path) -> ShownTournament | None:
    """Returns the tournament of a log; None for any other file. Raises `InputError` for a log that cannot be shown."""
    from agent.lab.tournament.logged import read_tournament

    return read_tournament(path)


def _plies(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("not below 0")
    return number
