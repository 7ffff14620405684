"""Rounds of self-play and learning, each followed by a match against the network before; resumable.

The folder holds the samples of each part of each round, and per round the network and, for variants that have none,
the weights of the general evaluation. Parts are played by the workers of an executor, which get the network and return
samples; the process that runs the rounds keeps the folder, and learns. What a part holds depends on network and seed
alone, and what is learnt on the parts in their order: results are those of one worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agent.lab.jobs.executor import Executor, Session
from agent.lab.jobs.gather import gather
from agent.lab.tally import Tally
from agent.lab.training.blokbox.learning import NetworkTrainer, new_network
from agent.lab.training.blokbox.matches import TreePlayer, compare
from agent.lab.training.blokbox.regression import fit
from agent.lab.training.blokbox.self_play import SelfPlaySamples, self_play
from agent.search.blokbox.guiding.network import Network
from agent.search.blokbox.guiding.tuning import GeneralWeights, Tuning, tuning_for
from agent.search.blokbox.weights import general, networks
from games.native.blokbox.variant import BlokboxVariant

PART = 500
"""Matches of self-play that are saved together."""
KEPT_ROUNDS = 4
"""A network learns from the samples of this many rounds."""
EPOCHS = 6
RATE = 0.002
"""Passes over the samples, and the learning rate to begin with."""


@dataclass(frozen=True)
class BlokboxCampaign:
    """What to do."""

    variant: BlokboxVariant
    folder: Path
    """Where samples and networks of each round are kept."""
    rounds: int
    games: int
    """Matches of self-play per round."""
    visits: int
    """Visits of the tree search for a thorough move of self-play, and for a move of the matches."""
    match_games: int
    scratch: bool
    """Begin with playouts alone instead of what is shipped."""


@dataclass(frozen=True)
class Round:
    """What came of a round."""

    number: int
    positions: int
    """That the network learnt from."""
    losses: tuple[float, float]
    """On held-out positions: cross entropy of the values, divergence of the visits."""
    score: Tally
    """Of the new network against what was there before."""


def run(plan: BlokboxCampaign, executor: Executor, log: Callable[[str], None]) -> list[Round]:
    """Carry out what the folder does not hold yet, and report all rounds that were carried out now.

    Raises `LostWorkerError`, see `gather`.
    """
    plan.folder.mkdir(parents=True, exist_ok=True)
    tuning = _first_tuning(plan)
    results = []
    for number in range(1, plan.rounds + 1):
        path = network_path(plan.folder, number)
        if path.exists():
            tuning = _tuning(plan.variant, networks.load(path)[0])
            continue
        _play(plan, executor, tuning, number, log)
        recent = range(max(1, number - KEPT_ROUNDS + 1), number + 1)
        parts = [
            SelfPlaySamples.load(path) for kept in recent for path in sorted(plan.folder.glob(f"samples-{kept}-*.npz"))
        ]
        # The last part is held out, unless there is no other.
        training_set = SelfPlaySamples.joined(parts[:-1] or parts).training_set()
        trainer = NetworkTrainer(plan.variant, new_network(len(plan.variant.shapes)))
        for losses in trainer.train(training_set, epochs=EPOCHS, rate=RATE, seed=number):
            log(f"round {number}: {len(training_set)} positions, losses {losses[0]:.4f} and {losses[1]:.4f}")
        losses = trainer.losses(parts[-1].training_set())
        log(f"round {number}: losses on held-out positions {losses[0]:.4f} and {losses[1]:.4f}")
        general.save(weights_path(plan.folder, number), fit(plan.variant, training_set))
        new = _tuning(plan.variant, trainer.network)
        players = [TreePlayer(plan.variant, each, visits=plan.visits, seed=number) for each in (new, tuning)]
        score = compare(plan.variant, players[0], players[1], games=plan.match_games, seed=number)
        unfinished = path.with_name(f"unfinished-{path.name}")
        networks.save(unfinished, trainer.network, plan.variant)
        unfinished.replace(path)
        results.append(Round(number, len(training_set), losses, score))
        log(f"round {number}: the new network scored {score}")
        tuning = new
    return results


def network_path(folder: Path, number: int) -> Path:
    """Where the network of a round is kept."""
    return folder / f"round-{number}.npz"


def weights_path(folder: Path, number: int) -> Path:
    """Where the weights of a round are kept that are for variants without a network."""
    return folder / f"weights-{number}.npz"


def _tuning(variant: BlokboxVariant, network: Network) -> Tuning:
    return tuning_for(variant, general.load(), network)


def _first_tuning(plan: BlokboxCampaign) -> Tuning:
    if plan.scratch:
        return tuning_for(plan.variant, GeneralWeights.none())._replace(playout_share=1.0)
    return tuning_for(plan.variant, general.load(), networks.shipped_network(plan.variant))


@dataclass(frozen=True)
class _Part:
    """A job: matches of self-play that are saved together."""

    matches: int
    seed: int


def _play(plan: BlokboxCampaign, executor: Executor, tuning: Tuning, number: int, log: Callable[[str], None]) -> None:
    """The self-play of a round, in parts that are saved as they are done."""
    missing = [
        (path, _Part(min(PART, plan.games - first), 1_000_000 * number + part))
        for part, first in enumerate(range(0, plan.games, PART))
        if not (path := _part_path(plan.folder, number, part)).exists()
    ]
    session = Session(partial(_open_session, plan.variant, tuning, plan.visits), kernels=("blokbox",))
    for done, made in enumerate(gather(executor, session, [part for _, part in missing], log), 1):
        path = missing[made.number][0]
        unfinished = path.with_name(f"unfinished-{path.name}")
        made.result.save(unfinished)
        unfinished.replace(path)
        log(f"round {number}: {done} of {len(missing)} parts of self-play [{made.place}]")


def _open_session(variant: BlokboxVariant, tuning: Tuning, visits: int) -> Callable[[_Part], Iterator[SelfPlaySamples]]:
    """In a worker: what plays with this tuning."""

    def make(part: _Part) -> Iterator[SelfPlaySamples]:
        yield self_play(variant, tuning, matches=part.matches, visits=visits, seed=part.seed)

    return make


def _part_path(folder: Path, number: int, part: int) -> Path:
    return folder / f"samples-{number}-{part}.npz"
