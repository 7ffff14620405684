"""`ggp-agent train`: trains the evaluation of a native family by self-play, each family with options of its own."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from agent.commands.options import OK, add_command, count
from agent.lab.commands.options import add_cluster_option, executor
from agent.search.kernel_groups import CIRCUIT
from games import families

if TYPE_CHECKING:
    from agent.commands.options import Commands
    from agent.lab.jobs.executor import Executor


def add(commands: Commands) -> None:
    """Adds the command, with a command of each native family below it."""
    parser = commands.add_parser(
        "train",
        help="train the evaluation of a native game",
        description="Rounds of self-play and regression. Each reports its score against the weights before and its "
        "error on held-out positions. The folder keeps everything: run again to go on after an interruption or to add "
        "rounds. On a cluster, its machines play, and the one where this runs learns.",
    )
    below_train = parser.add_subparsers(metavar="FAMILY", required=True)
    for family in families.FAMILIES:
        if family.trainer is None:
            continue
        module = import_module(f"{family.trainer}.command")
        run = partial(_run, module.train)
        kernels = (CIRCUIT, family.name)
        below = add_command(
            below_train, family.name, run, f"of {family.title}", parser.description or "", kernels=kernels
        )
        module.add_options(below)
        below.add_argument("folder", type=Path, metavar="DIR", help="where games and weights are kept")
        below.add_argument("--rounds", type=int, default=3, metavar="N", help="(default: %(default)s)")
        below.add_argument("--games", type=int, default=30_000, metavar="N", help="per round (default: %(default)s)")
        below.add_argument("--match-games", type=int, default=200, metavar="N", help="per round (default: %(default)s)")
        below.add_argument("--cores", type=count, metavar="N", help="for self-play (default: all)")
        add_cluster_option(below, "let self-play run")
        below.add_argument("--scratch", action="store_true", help="begin with rules of thumb, not the shipped weights")
        below.add_argument("--install", action="store_true", help="ship the last round's weights with the package")


def _run(train: Callable[[argparse.Namespace, Executor], object], options: argparse.Namespace) -> tuple[int, object]:
    available = len(os.sched_getaffinity(0))
    cores = options.cores if options.cluster or not options.cores else min(options.cores, available)
    with executor(options, cores, available) as workers:
        return OK, train(options, workers)
