"""`ggp-agent strength`: lets two engines play each other."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.options import OK, SHEET_HELP, add_command
from agent.errors import InputError
from agent.lab.commands.options import add_cluster_option, executor
from agent.search.kernel_groups import playing

if TYPE_CHECKING:
    from agent.commands.options import Commands


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "strength",
        run,
        "let two engines play each other",
        "Plays games between two engines at equal time without pondering, from random openings, each with the roles "
        "exchanged. Prints the first one's score with its 95 % interval, also by who had the first move after the "
        "opening, and when results were proven. Engines: native, general (alpha-beta or tree search, as it finds out), "
        "tree, playouts (tree, but always playing out), montecarlo, and plain (Reversi at 6 plies without patterns); "
        "general+1 and the like search with so many helpers on a Ray cluster (docs/cluster-match.md). "
        "Needs jobs x cores cores that do nothing else.",
        kernels=playing(),
        sheets="file",
    )
    parser.add_argument("file", metavar="FILE", help=SHEET_HELP)
    parser.add_argument("first", metavar="ENGINE")
    parser.add_argument("second", metavar="ENGINE")
    parser.add_argument("--games", type=int, default=100, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.2, metavar="S", help="per move (default: %(default)s)")
    parser.add_argument(
        "--start", type=float, default=0.0, metavar="S", help="for preparing, before the first move (default: none)"
    )
    parser.add_argument(
        "--opening",
        type=int,
        default=8,
        metavar="N",
        help="plies at random; fewer where few decide a match, as in Blokbox: 2 (default: %(default)s, for Reversi)",
    )
    parser.add_argument(
        "--balanced",
        action="store_true",
        help="only openings that the first engine values at 40 to 60 after a quarter of a second",
    )
    parser.add_argument("--cores", type=int, default=1, metavar="N", help="for each engine (default: %(default)s)")
    parser.add_argument("--jobs", type=int, metavar="N", help="games at once (default: 1, or what a cluster can)")
    add_cluster_option(parser, "play")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the openings (default: %(default)s)")
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="add each game to this file (JSON lines), and do not play those in it"
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Plays the games. Raises `InputError` for an unknown engine or a number that makes no sense."""
    from agent.lab.measuring.strength.game import Series
    from agent.lab.measuring.strength.series import run_series
    from agent.lab.tournament.engine_player import engine_names, is_engine

    names = (options.first, options.second)
    for name in names:
        if not is_engine(name):
            raise InputError(f"{name}: no engine; there are {', '.join(engine_names())}")
    if (
        min(options.games, options.jobs or 1, options.cores) < 1
        or options.jobs == 0
        or min(options.opening, options.start) < 0
        or not options.seconds > 0
    ):
        raise InputError("games, jobs, cores and seconds are positive, opening and start not negative")
    series = Series(
        options.file,
        names,
        options.seconds,
        options.opening,
        options.cores,
        options.seed,
        options.balanced,
        options.start,
    )

    with executor(options, options.jobs, 1) as workers, _progress() as (tell, progress):
        summary = run_series(
            series, games=options.games, executor=workers, log=options.log, tell=tell, progress=progress
        )
    for line in summary.lines():
        print(line)
    return OK, summary.as_json()


@contextmanager
def _progress() -> Iterator[tuple[Callable[[str], None], Callable[[int], None]]]:
    """What prints lines, and what shows how many games are missing: a bar with the time left, on a terminal."""
    from agent.console import console, progress_bar, shows_progress

    if not shows_progress():
        yield lambda line: print(line, flush=True), lambda missing: None
        return
    with progress_bar(console(stderr=True)) as bar:
        task = bar.add_task("games", total=None)
        total: int | None = None

        def progress(missing: int) -> None:
            nonlocal total
            total = missing if total is None else total
            bar.update(task, total=total, completed=total - missing)

        yield lambda line: bar.console.print(line), progress
