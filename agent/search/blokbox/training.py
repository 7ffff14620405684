"""Training of evaluation and priors by self-play; `ggp-agent train blokbox` runs it.

Matches are played by the tree search itself with a fixed number of visits a move. The evaluation learns, by logistic
regression, the mean of a position's searched value and the match's result; the priors learn, by softmax regression, how
the visits of a position were spread over its moves. Weights of neighbouring stages are held close to each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from agent.search.blokbox import evaluation, priors
from agent.search.blokbox.evaluation import N_STAGES, stage_of, survey
from agent.search.blokbox.matches import MoveLister
from agent.search.blokbox.priors import describe
from agent.search.blokbox.tree import WON, best_child, clear, grow, new_tree
from agent.search.blokbox.tuning import Weights, tuning_for
from games.native.blokbox.rules import new_scratch, play
from games.native.blokbox.variant import TURN, Variant

Positions: TypeAlias = NDArray[np.uint64]

RANDOM_OPENING = 6
"""A match begins with 1 to so many random plies."""
BLUNDERS = 0.1
"""How often a random move is played instead of the best one, so that lost and won positions are seen too."""
SMOOTHNESS = 0.01
DECAY = 0.001


@dataclass(frozen=True)
class Samples:
    """What self-play yields, one row per position."""

    positions: Positions
    """[n, 20]"""
    values: NDArray[np.float64]
    """[n]: what the search expected for the player to move, 0..1."""
    results: NDArray[np.float64]
    """[n]: 1 where the player to move won."""
    moves: list[NDArray[np.int64]]
    """Per position: its moves."""
    visits: list[NDArray[np.float64]]
    """Per position: the share of the visits that each move got."""

    def joined(self, other: Samples) -> Samples:
        """These samples and others of the same variant."""
        return Samples(
            np.concatenate([self.positions, other.positions]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.results, other.results]),
            self.moves + other.moves,
            self.visits + other.visits,
        )

    def save(self, path: Path) -> None:
        """Write the samples to a file (.npz)."""
        np.savez_compressed(
            path,
            positions=self.positions,
            values=self.values,
            results=self.results,
            sizes=np.array([len(moves) for moves in self.moves]),
            moves=np.concatenate(self.moves),
            visits=np.concatenate(self.visits),
        )

    @classmethod
    def load(cls, path: Path) -> Samples:
        """Samples as `save` wrote them."""
        with np.load(path) as arrays:
            ends = np.cumsum(arrays["sizes"])[:-1]
            return cls(
                arrays["positions"],
                arrays["values"],
                arrays["results"],
                np.split(arrays["moves"], ends),
                np.split(arrays["visits"], ends),
            )


def self_play(
    variant: Variant,
    weights: Weights,
    *,
    matches: int,
    visits: int,
    seed: int,
    playout_share: float,
    progress: Callable[[int], None],
) -> Samples:
    """Plays matches with so many visits a move; `progress` is told how many are over."""
    rng = np.random.default_rng(seed)
    tuning = tuning_for(variant, weights)._replace(playout_share=playout_share)
    tree = new_tree(200 * visits)
    scratch = new_scratch(variant, 4)
    stop = np.zeros(1, np.uint8)
    randomness = rng.integers(0, 1 << 63, 1, np.uint64)
    lister = MoveLister(variant)
    samples = Samples(np.zeros((0, len(variant.start)), np.uint64), np.zeros(0), np.zeros(0), [], [])
    positions: list[Positions] = []
    values: list[float] = []
    results: list[bool] = []
    for match in range(matches):
        position = variant.start.copy()
        opening = int(rng.integers(1, RANDOM_OPENING + 1))
        turns: list[int] = []
        while len(moves := lister.moves(position)):
            if opening > 0:
                opening -= 1
                play(variant.tables, position, int(rng.choice(moves)))
                continue
            clear(tree)
            grow(variant.tables, position, tree, 0, tuning, visits, stop, scratch, randomness)
            # The root's value is that of the player who is not to move.
            value = 1.0 - tree.wins[0] / tree.visits[0]
            if tree.proof[0]:
                value = 0.0 if tree.proof[0] == WON else 1.0
            children = slice(int(tree.first[0]), int(tree.first[0] + tree.size[0]))
            positions.append(position.copy())
            values.append(float(value))
            turns.append(int(position[TURN]))
            samples.moves.append(tree.move[children].astype(np.int64))
            samples.visits.append(tree.visits[children] / max(1, tree.visits[children].sum()))
            move = rng.choice(moves) if rng.random() < BLUNDERS else tree.move[best_child(tree)]
            play(variant.tables, position, int(move))
        winner = 1 - int(position[TURN])
        results += [turn == winner for turn in turns]
        progress(match + 1)
    return Samples(
        np.array(positions, np.uint64).reshape(-1, len(variant.start)),
        np.array(values),
        np.array(results, np.float64),
        samples.moves,
        samples.visits,
    )


def fit(variant: Variant, samples: Samples) -> Weights:
    """Weights that explain the samples best."""
    return Weights(evaluation=_fit_evaluation(variant, samples), priors=_fit_priors(variant, samples))


def _fit_evaluation(variant: Variant, samples: Samples, *, steps: int = 3000) -> NDArray[np.float64]:
    """Logistic regression per stage by gradient descent, on features scaled to their deviation."""
    room = int(evaluation.room(variant.start))
    n = len(samples.values)
    features = np.zeros((n, evaluation.N_FEATURES + 1))
    features[:, -1] = 1.0
    stages = np.zeros(n, np.int64)
    scratch = new_scratch(variant, 2)
    candidates = np.tile(np.arange(len(variant.shapes)), (2, 1))
    numbers = np.full(2, len(variant.shapes))
    both = np.zeros((2, evaluation.N_FEATURES))
    for index, position in enumerate(samples.positions):
        survey(variant.tables, position, candidates, numbers, scratch, 0, both, np.zeros(2, np.int64))
        player = int(position[TURN])
        features[index, :-1] = both[player] - both[1 - player]
        stages[index] = stage_of(both, room)
    scale = features.std(axis=0) + 1e-9
    scale[-1] = 1.0
    features /= scale
    target = (samples.values + samples.results) / 2
    weights = np.zeros((N_STAGES, features.shape[1]))
    counts = np.bincount(stages, minlength=N_STAGES)[:, None] + 30.0
    for _ in range(steps):
        predicted = 1.0 / (1.0 + np.exp(-(features * weights[stages]).sum(axis=1)))
        gradient = np.zeros_like(weights)
        np.add.at(gradient, stages, (predicted - target)[:, None] * features)
        steps_up = np.diff(weights, axis=0)
        roughness = np.zeros_like(weights)
        roughness[1:] += steps_up
        roughness[:-1] -= steps_up
        weights -= 2.0 * (0.3 * gradient / counts + SMOOTHNESS * roughness + DECAY * weights)
    return weights / scale


def _fit_priors(variant: Variant, samples: Samples, *, steps: int = 300) -> NDArray[np.float64]:
    """Softmax regression over the moves of each position, by gradient descent."""
    rows = [index for index, moves in enumerate(samples.moves) if len(moves) > 1]
    sizes = np.array([len(samples.moves[index]) for index in rows])
    described = np.zeros((int(sizes.sum()), priors.N_FEATURES))
    cursor = 0
    for index in rows:
        for move in samples.moves[index]:
            describe(variant.tables, samples.positions[index], move, described[cursor])
            cursor += 1
    target = np.concatenate([samples.visits[index] for index in rows])
    begin = np.r_[0, np.cumsum(sizes)[:-1]]
    scale = described.std(axis=0) + 1e-9
    described /= scale
    weights = np.zeros(priors.N_FEATURES)
    for _ in range(steps):
        scores = described @ weights
        scores -= np.repeat(np.maximum.reduceat(scores, begin), sizes)
        shares = np.exp(scores)
        shares /= np.repeat(np.add.reduceat(shares, begin), sizes)
        weights -= 0.5 * (described.T @ (shares - target) / len(rows) + DECAY * weights)
    return weights / scale
