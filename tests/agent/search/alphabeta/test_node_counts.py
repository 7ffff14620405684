"""Exact node counts and results of both families' alpha-betas, with the shipped weights.

Refactoring must not change them. New weights, another order of moves or another pruning rule do: pin the new counts.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.search.alphabeta.table import new_table
from agent.search.blokbox.guiding.tuning import tuning_for
from agent.search.blokbox.proving.alphabeta import MAX_DEPTH, WIN
from agent.search.blokbox.proving.prover import BlokboxProver
from agent.search.blokbox.weights import general
from agent.search.reversi.evaluation import BoardRules
from agent.search.reversi.search import ReversiSearcher
from agent.search.reversi.selectivity import EXACT, margins
from agent.search.reversi.weights.shipped import TRAINED, weights_for
from games.native.blokbox.rules import play
from games.native.blokbox.variant import BlokboxVariant, Cell
from games.native.reversi.rules import ReversiPosition, cells_of
from tests.agent.search.blokbox.sheet import variant_of
from tests.instruments.training.blokbox.matches import MoveLister

PIECES: tuple[tuple[Cell, ...], ...] = (
    ((0, 0),),
    ((0, 0), (1, 0)),
    ((0, 0), (0, 1), (0, 2)),
    ((0, 0), (1, 0), (0, 1)),
    ((0, 1), (1, 1), (1, 0), (2, 0)),
    ((0, 0), (1, 0), (0, 1), (1, 1)),
    ((0, 0), (0, 1), (0, 2), (1, 2)),
    ((0, 0), (1, 0), (2, 0), (1, 1)),
    ((0, 0), (0, 1), (0, 2), (0, 3)),
)


@pytest.fixture(scope="module")
def blokbox() -> BlokboxVariant:
    """10x10 cells, nine pieces each without rotation."""
    return variant_of(PIECES, 10, 10, ((3, 3), (6, 6)))


def after_random_plies(variant: BlokboxVariant, seed: int, plies: int) -> NDArray[np.uint64]:
    """The position after that many random plies."""
    rng = random.Random(seed)
    lister = MoveLister(variant)
    position = variant.start.copy()
    for _ in range(plies):
        play(variant.tables, position, rng.choice(lister.moves(position).tolist()))
    return position


@pytest.mark.parametrize(
    ("seed", "plies", "max_depth", "depth", "nodes", "score", "best_move", "lost"),
    [
        (1, 2, 6, 6, 9902, -124, 1604, 0),
        (2, 2, 6, 6, 15280, -11, 1093, 0),
        (3, 3, 6, 6, 11133, 102, 2085, 0),
        (4, 4, 7, 7, 11697, -116, 1044, 1),
        (5, 4, 7, 4, 271, WIN, 1845, 0),
        (6, 5, MAX_DEPTH, 10, 48610, WIN, 1907, 0),
        (7, 5, MAX_DEPTH, 11, 284151, WIN, 1107, 1),
        (8, 6, MAX_DEPTH, 6, 3770, -WIN, 293, 10),
        (9, 6, MAX_DEPTH, 10, 10690, WIN, 613, 8),
        (10, 7, MAX_DEPTH, 6, 2513, WIN, 1042, 0),
        (11, 7, MAX_DEPTH, 7, 1535, -WIN, 822, 8),
        (12, 8, MAX_DEPTH, 3, 70, -WIN, 576, 5),
        (13, 8, MAX_DEPTH, 4, 415, WIN, 1635, 0),
    ],
)
def test_blokbox(
    blokbox: BlokboxVariant,
    seed: int,
    plies: int,
    max_depth: int,
    depth: int,
    nodes: int,
    score: int,
    best_move: int,
    lost: int,
) -> None:
    """Deepening from random positions to a depth or to the proof visits exactly these nodes."""
    prover = BlokboxProver(blokbox, tuning_for(blokbox, general.load()), entries=1 << 16)
    prover.run(after_random_plies(blokbox, seed, plies), np.zeros(1, np.uint8), max_depth=max_depth)
    found = prover.depth, prover.nodes, prover.score, prover.best_move, int(prover.lost.sum())
    assert found == (depth, nodes, score, best_move, lost)


@pytest.mark.parametrize(
    ("name", "seed", "plies", "depth", "level", "nodes", "score"),
    [
        ("standard", 1, 44, 64, EXACT, 729484, 20),
        ("standard", 2, 44, 64, 0, 25912, 32),
        ("standard", 3, 20, 9, 0, 118153, 13),
        ("standard", 4, 30, 8, EXACT, 144483, -33),
        ("suicide", 1, 44, 64, EXACT, 3928653, 2),
        ("suicide", 2, 44, 64, 0, 198461, -8),
        ("suicide", 3, 20, 9, 0, 19355, 4),
        ("suicide", 4, 30, 8, EXACT, 157031, 2),
    ],
)
def test_reversi(name: str, seed: int, plies: int, depth: int, level: int, nodes: int, score: int) -> None:
    """Searches of random positions, to the end and to a depth, selective and exact, visit exactly these nodes."""
    variant = TRAINED[name]
    rng = random.Random(seed)
    position = variant.initial()
    for _ in range(plies):
        if moves := list(cells_of(variant.moves(position))):
            position = variant.play(position, rng.choice(moves))
        else:
            position = ReversiPosition(position.discs, 1 - position.turn)
    weights = weights_for(variant)
    board = BoardRules.of(variant)
    searcher = ReversiSearcher(board, weights.evaluation.tables, margins(weights.coefficients), new_table(1))
    assert searcher.score(position.player, position.opponent, -64, 64, depth, level) == score
    assert searcher.nodes == nodes
