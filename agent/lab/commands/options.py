"""Options that the laboratory's commands share: where jobs are carried out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.lab.jobs.executor import Executor


def add_cluster_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds `--cluster ADDRESS`: `executor` makes an executor of it."""
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help=f"{what} on the machines of a Ray cluster: HOST:PORT of its head node, or `auto` on one of its nodes "
        "(docs/cluster.md)",
    )


def executor(options: argparse.Namespace, jobs: int | None, default: int) -> Executor:
    """What carries out jobs: processes of this machine, or of the cluster that was asked for.

    At most `jobs` jobs are carried out at a time; where that is None, it is `default` on this machine, and as many as
    there are CPUs for on a cluster. Raises `InputError`.
    """
    if options.cluster is None:
        from agent.lab.jobs.local import LocalExecutor

        return LocalExecutor(jobs or default)
    from agent.lab.jobs.ray_executor import RayExecutor

    return RayExecutor(options.cluster, jobs=jobs)
