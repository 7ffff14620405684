"""`train`: trains the evaluation of a native family; each family has options of its own."""

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
    """Adds the command, with one for each native family below it."""
    parser = commands.add_parser(
        "train",
        help="train the evaluation of a native game",
        description="Runs rounds of self-play and regression. Each reports its score against the weights before and "
        "its error on held-out positions. The folder keeps everything: run again to go on after an interruption, or "
        "with more rounds. On a cluster, its machines play, and this one learns.",
    )
    below_train = parser.add_subparsers(metavar="FAMILY", required=True)
    for family in families.FAMILIES:
        module = import_module(f"tests.instruments.training.{family.name}.command")
        run = partial(_run, module.train)
        kernels = (CIRCUIT, family.name)
        below = add_command(
            below_train,
            family.name,
            run,
            f"train the evaluation of {family.title}",
            parser.description or "",
            kernels=kernels,
        )
        module.add_options(below)
        below.add_argument("folder", type=Path, metavar="DIR", help="folder of games and weights")
        below.add_argument(
            "--rounds", type=int, default=3, metavar="N", help="rounds, with those in DIR (default: %(default)s)"
        )
        below.add_argument(
            "--games", type=int, default=30_000, metavar="N", help="games of self-play per round (default: %(default)s)"
        )
        below.add_argument(
            "--match-games", type=int, default=200, metavar="N", help="games to measure a round (default: %(default)s)"
        )
        below.add_argument("--cores", type=count, metavar="N", help="cores for self-play (default: all)")
        add_cluster_option(below, "play")
        below.add_argument("--scratch", action="store_true", help="begin with rules of thumb, not the shipped weights")
        below.add_argument("--install", action="store_true", help="ship the last round's weights with the package")


def _run(train: Callable[[argparse.Namespace, Executor], object], options: argparse.Namespace) -> tuple[int, object]:
    available = len(os.sched_getaffinity(0))
    cores = options.cores if options.cluster or not options.cores else min(options.cores, available)
    with executor(options, cores, available) as workers:
        return OK, train(options, workers)
