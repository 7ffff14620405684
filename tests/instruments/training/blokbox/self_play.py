"""Self-play of the tree search, which networks learn from (`learning`).

Most moves are searched only briefly, for many different positions with a result; the move head learns from moves that
were searched thoroughly (playout cap randomisation, Wu 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.search.blokbox.guiding.tuning import Tuning
from agent.search.blokbox.tree import MOVED_IN_WINS, PuctTree, best_child, clear, grow, new_tree, new_tree_workspace
from games.native.blokbox.rules import play
from games.native.blokbox.variant import TURN, BlokboxVariant
from tests.instruments.training.blokbox.learning import TrainingSet
from tests.instruments.training.blokbox.matches import MoveLister

RANDOM_OPENING = 5
"""Random plies at first, at most."""
VARIED_PLIES = 10
"""Plies in which moves are drawn by their visits; afterwards the best one is played."""
BLUNDERS = 0.03
"""Chance of a random move instead."""
THOROUGH = 0.25
"""Chance of a thorough search."""
BRIEF = 6
"""Ratio of the visits of a thorough search and a brief one."""
PLAYED_ON = 0.3
"""Share of matches that go on when their result is proven."""
FORESIGHT = 0.8
"""TD(lambda)'s lambda: share of the next position in a position's target, besides the search's own expectation."""


@dataclass(frozen=True)
class SelfPlaySamples:
    """Samples of self-play, one row per position."""

    positions: NDArray[np.uint64]
    """[n, 20]"""
    expected: NDArray[np.float32]
    """[n]: result that the search expected for the player to move, 0..1."""
    results: NDArray[np.float32]
    """[n]: 1 where the player to move won."""
    matches: NDArray[np.int32]
    """[n]: number of the match, whose positions follow each other."""
    starts: NDArray[np.int64]
    """[n + 1]: beginning of each position's moves in `shares`; there are none after a brief search."""
    shares: NDArray[np.float32]
    """Shares of the visits, by move in the order of `rules.list_moves`."""

    def save(self, path: Path) -> None:
        """Writes the samples to a file (.npz)."""
        np.savez_compressed(path, **self.__dict__)

    @classmethod
    def load(cls, path: Path) -> SelfPlaySamples:
        """Reads samples that `save` wrote."""
        with np.load(path) as arrays:
            return cls(**arrays)

    @classmethod
    def joined(cls, parts: Sequence[SelfPlaySamples]) -> SelfPlaySamples:
        """Returns the samples of several parts."""
        ends = np.cumsum([0] + [len(part.shares) for part in parts[:-1]])
        return cls(
            np.concatenate([part.positions for part in parts]),
            np.concatenate([part.expected for part in parts]),
            np.concatenate([part.results for part in parts]),
            np.concatenate([part.matches + (index << 20) for index, part in enumerate(parts)]),
            np.concatenate(
                [np.zeros(1, np.int64)] + [part.starts[1:] + end for part, end in zip(parts, ends, strict=False)]
            ),
            np.concatenate([part.shares for part in parts]),
        )

    def training_set(self) -> TrainingSet:
        """Returns the positions with their targets."""
        targets = self.results.astype(np.float64)
        players = self.positions[:, TURN]
        for index in range(len(targets) - 2, -1, -1):
            target = targets[index]
            if self.matches[index] == self.matches[index + 1]:
                following = targets[index + 1]
                target = following if players[index] == players[index + 1] else 1.0 - following
            targets[index] = (1.0 - FORESIGHT) * self.expected[index] + FORESIGHT * target
        return TrainingSet(self.positions, targets.astype(np.float32), self.starts, self.shares)


def self_play(
    variant: BlokboxVariant,
    tuning: Tuning,
    *,
    matches: int,
    visits: int,
    seed: int,
    progress: Callable[[int], None] = lambda matches: None,
) -> SelfPlaySamples:
    """Plays matches with `visits` visits per thorough search; `progress` gets the number of finished matches."""
    rng = np.random.default_rng(seed)
    tree = new_tree(max(2_000, 200 * visits))
    thread = new_tree_workspace(variant, int(rng.integers(0, 1 << 63)))
    stop = np.zeros(1, np.uint8)
    lister = MoveLister(variant)
    positions: list[NDArray[np.uint64]] = []
    expected: list[float] = []
    results: list[bool] = []
    numbers: list[int] = []
    shares: list[NDArray[np.float64]] = []
    for match in range(matches):
        position = variant.start.copy()
        opening = int(rng.integers(0, RANDOM_OPENING + 1))
        play_on = rng.random() < PLAYED_ON
        turns: list[int] = []
        ply = 0
        winner = None
        while len(moves := lister.moves(position)):
            ply += 1
            if opening >= ply or rng.random() < BLUNDERS:
                play(variant.tables, position, int(rng.choice(moves)))
                continue
            thorough = rng.random() < THOROUGH
            clear(tree)
            budget = visits if thorough else visits // BRIEF
            grow(variant.tables, position, tree, 0, tuning, budget, stop, thread)
            positions.append(position.copy())
            turns.append(int(position[TURN]))
            # The root's value is for the player who is not to move.
            proof = int(tree.proof[0])
            if proof:
                expected.append(0.0 if proof == MOVED_IN_WINS else 1.0)
            else:
                expected.append(float(1.0 - tree.wins[0] / tree.visits[0]))
            visited = _visited(tree, len(variant.tables.effects))[moves]
            shares.append(visited / visited.sum() if thorough and not proof else visited[:0])
            if proof and not play_on:
                winner = turns[-1] if proof != MOVED_IN_WINS else 1 - turns[-1]
                break
            if ply <= VARIED_PLIES and visited.sum() > 0:
                move = rng.choice(moves, p=visited / visited.sum())
            else:
                move = tree.move[best_child(tree)]
            play(variant.tables, position, int(move))
        if winner is None:
            winner = 1 - int(position[TURN])
        results += [turn == winner for turn in turns]
        numbers += [match] * len(turns)
        progress(match + 1)
    return SelfPlaySamples(
        np.array(positions, np.uint64).reshape(-1, len(variant.start)),
        np.array(expected, np.float32),
        np.array(results, np.float32),
        np.array(numbers, np.int32),
        np.cumsum([0] + [len(share) for share in shares], dtype=np.int64),
        np.concatenate([np.zeros(0), *shares]).astype(np.float32),
    )


def _visited(tree: PuctTree, n_moves: int) -> NDArray[np.float64]:
    """Returns the visits of each move of the root."""
    visited = np.zeros(n_moves)
    children = slice(int(tree.first[0]), int(tree.first[0] + tree.size[0]))
    visited[tree.move[children]] = tree.visits[children]
    return visited
