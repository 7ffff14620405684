"""`ggp-agent learn`: learns a game before it is played."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING

from agent.commands.options import INTERRUPTED, OK, SHEET_HELP, add_command, add_memory_option, check_folder, count
from agent.errors import InputError
from agent.lab.commands.options import add_cluster_option
from agent.search.kernel_groups import playing

if TYPE_CHECKING:
    import types

    import numpy as np
    from numpy.typing import NDArray

    from agent.commands.options import Commands
    from agent.lab.learn import Version


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "learn",
        run,
        "learn a game of two players before it is played",
        "Plays the game against itself, learns an evaluation from these matches, and keeps it in the memory that "
        "`serve` and `match` read. A digest of the rules finds it, however they are worded. In the last tenth of the "
        "time matches against tree search decide which search will play. The same command goes on from what was "
        "learnt before; Ctrl-C and SIGTERM end it, and nothing is lost (status 130). See docs/serving.md.",
        sheets="sheet",
    )
    parser.add_argument("sheet", metavar="FILE", help=SHEET_HELP)
    parser.add_argument(
        "--minutes", type=_minutes, default=10.0, metavar="M", help="time for it (default: %(default)s)"
    )
    parser.add_argument("--cores", type=count, metavar="N", help="cores of this machine (default: all)")
    add_cluster_option(parser, "also play")
    add_memory_option(parser)
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="add a line of JSON to this file for each version of the evaluation"
    )


def run(options: argparse.Namespace) -> tuple[int, object]:
    """Learns, and prints a line for each version. Raises `InputError`."""
    from agent.kernels.progress import prepare
    from agent.lab.learn import learn
    from agent.lab.progress import shown_progress
    from agent.sheet import load

    if options.memory is None:
        raise InputError("there is no home folder for what is learnt: name one with --memory DIR")
    check_folder(options.memory)
    sheet = load(options.sheet)
    available = len(os.sched_getaffinity(0))
    total = 60 * options.minutes
    prepare(playing()).close()
    with _log(options.log) as log, _stopping() as stop, shown_progress() as shown:
        shown.begins("seconds", total)

        def tell(version: Version) -> None:
            shown.reaches(version.seconds, _line(version))
            if log is not None:
                print(json.dumps(version.as_json()), file=log, flush=True)

        course = learn(
            sheet,
            options.memory,
            total,
            min(options.cores or available, available),
            options.cluster,
            stop,
            tell,
        )
    plays = "alpha-beta with it will play" if course.alpha_beta else "tree search plays better, and will play"
    print(
        f"{course.generations} versions in all, {course.matches} matches this time; {plays} "
        f"({course.trial_points:g} of {course.trial_matches} points between the two). Kept in {options.memory}"
    )
    return INTERRUPTED if stop[0] else OK, asdict(course)


def _line(version: Version) -> str:
    """Returns a line for a person."""
    one, helpers = version.figures, f", {version.helpers} helpers" if version.helpers else ""
    return (
        f"version {version.generation}: {one.points:g} of {one.played} points against the one "
        f"before{', which stays' if not one.better else ''}, for {one.nodes:.2f} times its nodes; loss {one.loss:.4f}, "
        f"held out {one.held_out:.4f}; {version.matches} matches, {one.depth} plies{helpers}"
    )


def _minutes(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError("no number of minutes")
    return number


@contextmanager
def _log(path: Path | None) -> Iterator[IO[str] | None]:
    """Yields the file to add to. Raises `InputError`."""
    if path is None:
        yield None
        return
    try:
        with path.open("a", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


@contextmanager
def _stopping() -> Iterator[NDArray[np.uint8]]:
    """Yields a stop flag that Ctrl-C and SIGTERM raise."""
    import numpy as np

    stop = np.zeros(1, np.uint8)

    def end(number: int, frame: types.FrameType | None) -> None:
        stop[0] = 1
        print("ending; what was learnt is kept", file=sys.stderr, flush=True)
        # A second one ends it at once.
        signal.signal(number, signal.default_int_handler)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
