"""Rounds of self-play and learning, each followed by a match against the network before; resumable.

One folder holds the samples of each part of a round, its network, and its weights for variants without a network. An
executor's workers play parts, which depend on network and seed alone; the process that runs the rounds keeps the folder
and learns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agent.lab.jobs.executor import Executor, JobSession
from agent.lab.jobs.gather import gather
from agent.lab.tally import Tally
from agent.search.blokbox.guiding.network import Network
from agent.search.blokbox.guiding.tuning import GeneralWeights, Tuning, tuning_for
from agent.search.blokbox.weights import general, networks
from games.native.blokbox.variant import BlokboxVariant
from tests.instruments.training.blokbox.learning import NetworkTrainer, new_network
from tests.instruments.training.blokbox.matches import TreePlayer, compare
from tests.instruments.training.blokbox.regression import fit
from tests.instruments.training.blokbox.self_play import SelfPlaySamples, self_play

PART = 500
"""Matches of self-play in a file."""
KEPT_ROUNDS = 4
"""Rounds whose samples a network learns from."""
EPOCHS = 6
RATE = 0.002
"""Passes over the samples, and the learning rate to begin with."""


@dataclass(frozen=True)
class BlokboxCampaign:
    """Parameters of the training."""

    variant: BlokboxVariant
    folder: Path
    """Folder of samples and networks."""
    rounds: int
    games: int
    """Matches of self-play per round."""
    visits: int
    """Visits of the tree search for a thorough move of self-play, and for each move of matches."""
    match_games: int
    scratch: bool
    """Whether to begin with playouts alone instead of the shipped network."""


@dataclass(frozen=True)
class Round:
    """Results of a round."""

    number: int
    positions: int
    """Positions that the network learnt from."""
    losses: tuple[float, float]
    """Cross entropy of the values and divergence of the visits, on held-out positions."""
    score: Tally
    """Result of the new network against the one before."""


def run(plan: BlokboxCampaign, executor: Executor, log: Callable[[str], None]) -> list[Round]:
    """Carries out the rounds that the folder does not hold yet; returns their results.

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
    """Returns the file of a round's network."""
    return folder / f"round-{number}.npz"


def weights_path(folder: Path, number: int) -> Path:
    """Returns the file of a round's weights for variants without a network."""
    return folder / f"weights-{number}.npz"


def _tuning(variant: BlokboxVariant, network: Network) -> Tuning:
    return tuning_for(variant, general.load(), network)


def _first_tuning(plan: BlokboxCampaign) -> Tuning:
    if plan.scratch:
        return tuning_for(plan.variant, GeneralWeights.none())._replace(playout_share=1.0)
    return tuning_for(plan.variant, general.load(), networks.shipped_network(plan.variant))


@dataclass(frozen=True)
class _Part:
    """A job: the matches of self-play of a file."""

    matches: int
    seed: int


def _play(plan: BlokboxCampaign, executor: Executor, tuning: Tuning, number: int, log: Callable[[str], None]) -> None:
    """Plays the self-play of a round, and saves each part as it is done."""
    missing = [
        (path, _Part(min(PART, plan.games - first), 1_000_000 * number + part))
        for part, first in enumerate(range(0, plan.games, PART))
        if not (path := _part_path(plan.folder, number, part)).exists()
    ]
    session = JobSession(partial(_open_session, plan.variant, tuning, plan.visits), kernels=("blokbox",))
    for done, made in enumerate(gather(executor, session, [part for _, part in missing], log), 1):
        path = missing[made.number][0]
        unfinished = path.with_name(f"unfinished-{path.name}")
        made.result.save(unfinished)
        unfinished.replace(path)
        log(f"round {number}: {done} of {len(missing)} parts of self-play [{made.place}]")


def _open_session(variant: BlokboxVariant, tuning: Tuning, visits: int) -> Callable[[_Part], Iterator[SelfPlaySamples]]:
    """In a worker: returns the function that plays with this tuning."""

    def make(part: _Part) -> Iterator[SelfPlaySamples]:
        yield self_play(variant, tuning, matches=part.matches, visits=visits, seed=part.seed)

    return make


def _part_path(folder: Path, number: int, part: int) -> Path:
    return folder / f"samples-{number}-{part}.npz"
