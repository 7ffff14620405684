"""Shared options of the laboratory's commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.lab.jobs.executor import Executor
    from agent.lab.tournament.series import SeriesWatcher


def add_cluster_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds `--cluster ADDRESS`, for `executor`. `what` begins the help."""
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help=f"{what} on the machines of a Ray cluster: HOST:PORT of its head node, or `auto` on one of its nodes "
        "(docs/cluster.md)",
    )


def add_series_options(parser: argparse.ArgumentParser, plies: Callable[[str], int], opening: int) -> None:
    """Adds `--opening PLIES`, `--seed N` and `--log FILE`."""
    parser.add_argument(
        "--opening",
        type=plies,
        default=opening,
        metavar="PLIES",
        help="random plies before the players take over; players over HTTP are asked, but not heeded "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of openings and random moves (default: %(default)s)"
    )
    add_log_option(parser)


def add_log_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option that names the log of a series of matches."""
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="add matches to this file (JSON lines), and play none that is in it"
    )


@contextmanager
def shown_series(log: Path | None) -> Iterator[SeriesWatcher]:
    """Shows the progress of a series of matches; an interrupted one is told to go on from its log."""
    from agent.lab.tournament.report import progress

    try:
        with progress() as watcher:
            yield watcher
    except KeyboardInterrupt:
        tell_to_go_on(log)
        raise


def tell_to_go_on(log: Path | None) -> None:
    """Tells how an interrupted series goes on, if it has a log."""
    if log is not None:
        print(f"the same command goes on from {log}", file=sys.stderr)


def executor(options: argparse.Namespace, jobs: int | None, default: int) -> Executor:
    """Returns an executor on this machine, or on the cluster of the options.

    At most `jobs` jobs are carried out at a time; where that is None, `default` on this machine, and as many as there
    are CPUs for on a cluster. Raises `InputError`.
    """
    if options.cluster is None:
        from agent.lab.jobs.local import LocalExecutor

        return LocalExecutor(jobs or default)
    from agent.lab.jobs.ray_executor import RayExecutor

    return RayExecutor(options.cluster, jobs=jobs)
