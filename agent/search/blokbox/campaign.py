"""Rounds of self-play and regression, each followed by a match against the weights before; resumable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agent.search.blokbox.matches import Score, TreePlayer, duel
from agent.search.blokbox.training import Samples, fit, self_play
from agent.search.blokbox.tuning import SHIPPED, Weights, tuning_for
from games.native.blokbox.variant import Variant


@dataclass(frozen=True)
class Plan:
    """What to do."""

    variant: Variant
    folder: Path
    """Where samples and weights of each round are kept."""
    rounds: int
    games: int
    """Matches of self-play per round."""
    visits: int
    """Visits of the tree search per move, in self-play and matches."""
    match_games: int
    scratch: bool
    """Begin with playouts alone instead of the shipped weights."""


@dataclass(frozen=True)
class Round:
    """What came of a round."""

    number: int
    positions: int
    score: Score
    """Of the new weights against those before."""


def run(plan: Plan, say: Callable[[str], None]) -> list[Round]:
    """Carry out what the folder does not hold yet, and report all rounds that were carried out now."""
    plan.folder.mkdir(parents=True, exist_ok=True)
    weights = Weights.load(SHIPPED)
    share = tuning_for(plan.variant, weights).playout_share
    if plan.scratch:
        weights, share = Weights(np.zeros_like(weights.evaluation), np.zeros_like(weights.priors)), 1.0
    samples: Samples | None = None
    results = []
    for number in range(1, plan.rounds + 1):
        weights_path = plan.folder / f"round-{number}.npz"
        samples_path = plan.folder / f"samples-{number}.npz"
        done = weights_path.exists() and samples_path.exists()
        if done:
            more = Samples.load(samples_path)
        else:
            more = self_play(
                plan.variant,
                weights,
                matches=plan.games,
                visits=plan.visits,
                seed=number,
                playout_share=share,
                progress=lambda n: say(f"{n} matches") if n % 100 == 0 else None,
            )
            more.save(samples_path)
        samples = more if samples is None else samples.joined(more)
        before, before_share = weights, share
        share = tuning_for(plan.variant, weights).playout_share
        if done:
            weights = Weights.load(weights_path)
            continue
        weights = fit(plan.variant, samples)
        weights.save(weights_path)
        old = tuning_for(plan.variant, before)._replace(playout_share=before_share)
        players = [
            TreePlayer(plan.variant, tuning, visits=plan.visits, seed=number)
            for tuning in (tuning_for(plan.variant, weights), old)
        ]
        score = duel(plan.variant, players[0], players[1], games=plan.match_games, seed=number)
        results.append(Round(number, len(samples.positions), score))
        say(f"round {number}: {len(samples.positions)} positions; the new weights won {score}")
    return results
