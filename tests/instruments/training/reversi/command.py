"""The command `train reversi`."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from agent.errors import InputError
from agent.lab.jobs.executor import Executor


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this family's arguments and options."""
    parser.add_argument("variant", metavar="VARIANT", help="standard, blocked or suicide")
    parser.add_argument("--depth", type=int, default=4, metavar="N", help="depth of self-play (default: %(default)s)")
    parser.add_argument(
        "--solve", type=int, default=14, metavar="N", help="play exactly from N empty cells on (default: %(default)s)"
    )


def train(options: argparse.Namespace, executor: Executor) -> list[dict[str, object]]:
    """Trains; the executor plays. Returns each round's results as JSON data.

    Raises `InputError` for an unknown variant.
    """
    from agent.search.reversi.training.self_play import SelfPlaySettings
    from agent.search.reversi.weights.shipped import FOLDER, TRAINED
    from tests.instruments.training.reversi.campaign import ReversiCampaign, run

    if options.variant not in TRAINED:
        raise InputError(f"{options.variant}: no variant; there are {', '.join(TRAINED)}")
    plan = ReversiCampaign(
        options.variant,
        options.folder,
        rounds=options.rounds,
        games=options.games,
        play=SelfPlaySettings(depth=options.depth, solve=options.solve),
        match_games=options.match_games,
        scratch=options.scratch,
    )
    results = run(plan, executor, lambda line: print(line, flush=True))
    if options.install:
        newest = options.folder / f"round-{options.rounds}" / "weights.npz"
        (FOLDER / f"{options.variant}.npz").write_bytes(newest.read_bytes())
    return [asdict(result) for result in results]
