"""The command `train blokbox`."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from agent.commands.options import SHEET_HELP
from agent.errors import InputError
from agent.lab.jobs.executor import Executor


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds this family's arguments and options."""
    parser.add_argument("variant", metavar="FILE", help=SHEET_HELP)
    parser.add_argument(
        "--visits", type=int, default=2000, metavar="N", help="visits for each move of self-play (default: %(default)s)"
    )
    parser.add_argument(
        "--install-general",
        action="store_true",
        help="ship the last round's weights for variants that have no network",
    )


def train(options: argparse.Namespace, executor: Executor) -> list[dict[str, object]]:
    """Trains; the executor plays. Returns each round's results as JSON data.

    Raises `InputError` for a rulesheet of another game.
    """
    from agent.search.blokbox.weights import general, networks
    from agent.sheet import load
    from games.gdl.compile import compile_rules
    from games.native.blokbox.recognise import recognise
    from tests.instruments.training.blokbox.campaign import BlokboxCampaign, network_path, run, weights_path

    binding = recognise(compile_rules(load(options.variant).checked))
    if binding is None:
        raise InputError(f"{options.variant}: not a game of the Blokbox family")
    plan = BlokboxCampaign(
        binding.variant,
        options.folder,
        rounds=options.rounds,
        games=options.games,
        visits=options.visits,
        match_games=options.match_games,
        scratch=options.scratch,
    )
    results = run(plan, executor, lambda line: print(line, flush=True))
    if options.install:
        shipped = networks.SHIPPED / f"{Path(options.variant).stem}{networks.SUFFIX}"
        shipped.write_bytes(network_path(options.folder, options.rounds).read_bytes())
    if options.install_general:
        general.SHIPPED.write_bytes(weights_path(options.folder, options.rounds).read_bytes())
    return [asdict(result) for result in results]
