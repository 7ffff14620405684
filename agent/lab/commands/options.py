"""Shared options of the laboratory's commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.lab.jobs.executor import Executor


def add_cluster_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds `--cluster ADDRESS`, for `executor`. `what` begins the help."""
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help=f"{what} on the machines of a Ray cluster: HOST:PORT of its head node, or `auto` on one of its nodes "
        "(docs/cluster.md)",
    )


def add_opening_option(parser: argparse.ArgumentParser, parse: Callable[[str], int], default: int) -> None:
    """Adds `--opening PLIES`."""
    parser.add_argument(
        "--opening",
        type=parse,
        default=default,
        metavar="PLIES",
        help="random plies before the players take over; players over HTTP are asked, but not heeded "
        "(default: %(default)s)",
    )


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
