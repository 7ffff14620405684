"""Blokbox's network: symmetries, learning, and the use of its judgements."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from agent.search.blokbox.guiding.evaluation import N_FEATURES, take_features
from agent.search.blokbox.guiding.network import new_network_workspace
from agent.search.blokbox.guiding.tuning import GeneralWeights, Tuning, tuning_for
from agent.search.blokbox.tree import priors_of_moves, win_probability
from agent.search.blokbox.weights import general
from agent.search.blokbox.weights.networks import Geometry, lay_out, load, save, shipped_network
from games.native.blokbox.rules import new_placement_workspace, play
from games.native.blokbox.variant import BOARD_CELLS, BlokboxVariant, Cell
from tests.agent.search.blokbox.sheet import PIECES, own_binding, variant_of
from tests.instruments.training.blokbox.learning import NetworkTrainer, new_network
from tests.instruments.training.blokbox.matches import MoveLister
from tests.instruments.training.blokbox.self_play import self_play

Position = NDArray[np.uint64]
GO = np.zeros(1, np.uint8)
VARIANT = variant_of(PIECES, 6, 5, ((1, 1), (3, 3)))
NET = new_network(len(PIECES), seed=3)


@njit(cache=True)
def _judge(tables, position, tuning, scratch, live, features, moves, workspace, priors):
    """The kernels' judgement: they have no entry from Python of their own."""
    if len(moves) > 0:
        priors_of_moves(tables, position, tuning, scratch, live, moves, len(moves), workspace, priors)
    return win_probability(tables, position, tuning, scratch, live, features, workspace)


def judgement(variant: BlokboxVariant, tuning: Tuning, position: Position) -> tuple[float, dict[int, float]]:
    """The winning chance of the player to move, and the priors of its moves."""
    scratch, workspace = new_placement_workspace(variant, 4), new_network_workspace(len(variant.shapes))
    features, live = np.zeros((2, N_FEATURES)), np.zeros(2, np.int64)
    everything = np.tile(np.arange(len(variant.shapes)), (2, 1))
    numbers = np.full(2, len(variant.shapes))
    take_features(variant.tables, position, everything, numbers, scratch, 0, features, live)
    moves = MoveLister(variant).moves(position).copy()
    priors = np.zeros(len(moves), np.float32)
    value = _judge(variant.tables, position, tuning, scratch, live, features, moves, workspace, priors)
    return float(value), dict(zip(moves.tolist(), priors.tolist(), strict=True))


@pytest.mark.parametrize("flip_x", [False, True])
@pytest.mark.parametrize("flip_y", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
def test_a_turned_board_is_judged_alike(transpose: bool, flip_x: bool, flip_y: bool) -> None:
    """With turned cells and pieces in another order, values and priors of corresponding positions are the same."""

    def turn(cell: Cell) -> Cell:
        x, y = cell
        x, y = (5 - x if flip_x else x), (4 - y if flip_y else y)
        return (y, x) if transpose else (x, y)

    def anchored(cells: list[Cell]) -> tuple[Cell, list[Cell]]:
        left, top = min(x for x, _ in cells), min(y for _, y in cells)
        return (left, top), sorted((x - left, y - top) for x, y in cells)

    order = [3, 1, 4, 0, 2]
    pieces = [anchored([turn(cell) for cell in PIECES[piece]])[1] for piece in order]
    size = (5, 6) if transpose else (6, 5)
    other = variant_of(pieces, *size, (turn((1, 1)), turn((3, 3))))
    network = lay_out(NET, Geometry.of(VARIANT), other)
    assert network is not None
    tunings = tuning_for(VARIANT, general.load(), NET), tuning_for(other, general.load(), network)
    position, turned = VARIANT.start.copy(), other.start.copy()
    rng = random.Random(5)
    while True:
        value, priors = judgement(VARIANT, tunings[0], position)
        other_value, other_priors = judgement(other, tunings[1], turned)
        assert value == pytest.approx(other_value, rel=1e-3)
        partner = {}
        for move in priors:
            shape, anchor = divmod(move, BOARD_CELLS)
            y, x = divmod(anchor, 16)
            corner, _ = anchored([turn((x + dx, y + dy)) for dx, dy in PIECES[shape]])
            partner[move] = BOARD_CELLS * order.index(shape) + 16 * corner[1] + corner[0]
        assert {partner[move]: pytest.approx(prior, rel=1e-3) for move, prior in priors.items()} == other_priors
        if not priors:
            break
        move = rng.choice(sorted(priors))
        play(VARIANT.tables, position, move)
        play(other.tables, turned, partner[move])


@pytest.mark.parametrize(
    "other",
    [
        variant_of(PIECES, 6, 6, ((1, 1), (3, 3))),
        variant_of(PIECES, 6, 5, ((1, 1), (4, 3))),
        variant_of(PIECES[:-1], 6, 5, ((1, 1), (3, 3))),
        variant_of([*PIECES[:-1], [(0, 0), (0, 1), (1, 1)]], 6, 5, ((1, 1), (3, 3))),
    ],
    ids=["board", "starts", "fewer shapes", "another shape"],
)
def test_a_network_is_for_its_own_variant_only(other: BlokboxVariant) -> None:
    """It is refused for another board, other starting cells or other shapes."""
    assert lay_out(NET, Geometry.of(VARIANT), other) is None


def test_networks_survive_being_saved(tmp_path: Path) -> None:
    """A saved network is found for its variant, and a file of another version is refused."""
    save(tmp_path / "small.npz", NET, VARIANT)
    found = shipped_network(VARIANT, tmp_path)
    assert found is not None
    value, priors = judgement(VARIANT, tuning_for(VARIANT, general.load(), NET), VARIANT.start)
    found_value, found_priors = judgement(VARIANT, tuning_for(VARIANT, general.load(), found), VARIANT.start)
    assert found_value == pytest.approx(value, rel=1e-2)
    assert found_priors == {move: pytest.approx(prior, rel=1e-2) for move, prior in priors.items()}
    assert shipped_network(variant_of(PIECES, 6, 6, ((1, 1), (3, 3))), tmp_path) is None
    save(tmp_path / "small.npz", NET._replace(bias=np.zeros(5, np.float32)), VARIANT)
    with pytest.raises(ValueError, match=r"small\.npz"):
        load(tmp_path / "small.npz")


def test_the_fifth_description_has_a_network() -> None:
    """The package's sheet and every other one of that game get the shipped network."""
    assert shipped_network(own_binding().variant) is not None


def test_a_network_learns_what_self_play_shows() -> None:
    """Both losses fall well below a new network's, and most expected winners win."""
    tuning = tuning_for(VARIANT, GeneralWeights.none())._replace(playout_share=1.0)
    training_set = self_play(VARIANT, tuning, matches=100, visits=60, seed=4).training_set()
    trainer = NetworkTrainer(VARIANT, NET)
    before = trainer.losses(training_set)
    for _ in trainer.train(training_set, epochs=12, rate=0.01):
        pass
    after = trainer.losses(training_set)
    assert after[0] < 0.8 * before[0]
    assert after[1] < 0.8 * before[1]
