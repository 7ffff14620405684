"""The Blokbox searches against exhaustive play on a small board, and the training of their weights."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.lab.jobs.inline import InlineExecutor
from agent.search.blokbox import tree as puct
from agent.search.blokbox.guiding import evaluation
from agent.search.blokbox.guiding.tuning import GeneralWeights, tuning_for
from agent.search.blokbox.proving.alphabeta import WIN, BlokboxGame, new_table, new_workspace, search
from agent.search.blokbox.proving.prover import BlokboxProver
from agent.search.blokbox.weights import general, networks
from games.gdl import compile as compiling
from games.native.blokbox import recognise as recognising
from games.native.blokbox.rules import list_moves, new_placement_workspace, placements, play
from games.native.blokbox.variant import TURN
from tests.agent.search.blokbox.sheet import PIECES, own_binding, variant_of
from tests.circuits import own_machine
from tests.instruments.__main__ import instrument
from tests.instruments.training.blokbox.campaign import BlokboxCampaign, run
from tests.instruments.training.blokbox.matches import TreePlayer, compare
from tests.instruments.training.blokbox.regression import fit
from tests.instruments.training.blokbox.self_play import SelfPlaySamples, self_play

Position = NDArray[np.uint64]
GO = np.zeros(1, np.uint8)


VARIANT = variant_of(PIECES, 5, 5, ((1, 1), (3, 3)))
"""Every position can be solved exhaustively after a few plies."""
TABLES = VARIANT.tables
WEIGHTS = general.load()
TUNING = tuning_for(VARIANT, WEIGHTS)


def moves_of(position: Position) -> list[int]:
    scratch = new_placement_workspace(VARIANT, 1)
    buffer = np.zeros(len(TABLES.effects), np.int64)
    shapes = np.arange(len(VARIANT.shapes))
    live, total = placements(TABLES, position, int(position[TURN]), shapes, len(shapes), scratch, 0)
    list_moves(scratch, 0, live, buffer)
    return [int(move) for move in buffer[:total]]


def after(position: Position, move: int) -> Position:
    child = position.copy()
    play(TABLES, child, move)
    return child


@cache
def won(packed: bytes) -> bool:
    """Whether the player to move wins, by exhaustive search."""
    position = np.frombuffer(packed, np.uint64)
    return any(not won(after(position, move).tobytes()) for move in moves_of(position))


def some_positions(n: int, plies: int) -> list[Position]:
    """Positions with moves after some random plies."""
    rng = random.Random(2)
    positions: list[Position] = []
    while len(positions) < n:
        position = VARIANT.start.copy()
        for _ in range(plies):
            if moves := moves_of(position):
                position = after(position, rng.choice(moves))
        if moves_of(position):
            positions.append(position)
    return positions


@pytest.fixture(scope="module")
def positions() -> list[Position]:
    return some_positions(12, 3)


@pytest.mark.parametrize("entries", [1 << 12, 1 << 3])
def test_prover_finds_what_exhaustive_play_finds(entries: int, positions: list[Position]) -> None:
    """The prover's result is true, and a won position's best move keeps it won, even with a tiny table."""
    for position in positions:
        prover = BlokboxProver(VARIANT, TUNING, entries=entries)
        prover.run(position, GO)
        assert prover.proven
        assert (prover.score == WIN) == won(position.tobytes())
        if prover.score == WIN:
            assert not won(after(position, prover.best_move).tobytes())
        for move in moves_of(position):
            if prover.lost[move]:
                assert won(after(position, move).tobytes())


def test_tree_search_proves_what_exhaustive_play_finds(positions: list[Position]) -> None:
    """The tree's solver finds the true result with playouts, evaluation or both."""
    for share, position in zip([0.0, 0.5, 1.0] * 4, positions, strict=True):
        tree = puct.new_tree(200_000)
        tuning = TUNING._replace(playout_share=share)
        puct.grow(TABLES, position, tree, 0, tuning, 100_000, GO, puct.new_tree_workspace(VARIANT, 3))
        assert tree.proof[0] == (puct.MOVED_IN_LOSES if won(position.tobytes()) else puct.MOVED_IN_WINS)
        if tree.proof[0] == puct.MOVED_IN_LOSES:
            assert not won(after(position, int(tree.move[puct.best_child(tree)])).tobytes())


def test_one_ply_search_is_the_best_evaluation() -> None:
    """Depth 1 returns the best of the moves' evaluations from the opponent's side."""
    position = VARIANT.start
    lost = np.zeros(len(TABLES.effects), np.uint8)
    workspace = new_workspace(VARIANT)
    game = BlokboxGame(TABLES, WEIGHTS.evaluation, WEIGHTS.priors, TUNING.room, new_table(64), workspace, lost)
    assert search(game, position, 1, GO)
    result = workspace.frames[0]
    scratch = new_placement_workspace(VARIANT, 2)
    shapes = np.tile(np.arange(len(VARIANT.shapes)), (2, 1))
    features = np.zeros((2, evaluation.N_FEATURES))
    best = {}
    for move in moves_of(position):
        child = after(position, move)
        numbers = np.full(2, len(VARIANT.shapes))
        evaluation.take_features(TABLES, child, shapes, numbers, scratch, 0, features, np.zeros(2, np.int64))
        best[move] = -int(100.0 * evaluation.value_logit(child, features, WEIGHTS.evaluation, TUNING.room))
    assert result["value"] == max(best.values())
    assert best[int(result["best_move"])] == result["value"]


def test_stopped_search_is_not_finished() -> None:
    """With the stop flag set, the prover comes back without a proof."""
    prover = BlokboxProver(VARIANT, TUNING, entries=1 << 12)
    prover.run(VARIANT.start, np.ones(1, np.uint8))
    assert not prover.proven
    assert prover.depth == 0


def test_kept_subtree_is_the_same_tree() -> None:
    """A subtree moved to the root keeps visits, values and structure, and can be grown on."""
    tree, spare = puct.new_tree(50_000), puct.new_tree(50_000)
    thread = puct.new_tree_workspace(VARIANT, 3)
    tuning = TUNING._replace(playout_share=1.0)
    puct.grow(TABLES, VARIANT.start, tree, 0, tuning, 300, GO, thread)
    child = puct.best_child(tree)
    puct.keep_subtree(tree, child, spare)
    assert spare.visits[0] == tree.visits[child]
    assert spare.wins[0] == tree.wins[child]
    first, size = int(spare.first[0]), int(spare.size[0])
    position = after(VARIANT.start, int(tree.move[child]))
    assert sorted(spare.move[first : first + size].tolist()) == sorted(moves_of(position))
    before = int(spare.visits[0])
    made = puct.grow(TABLES, position, spare, 0, tuning, 50, GO, thread)
    assert spare.visits[0] == before + made


def test_tree_search_beats_a_player_who_takes_the_first_move() -> None:
    """The tree search wins most matches against no search at all."""

    class FirstMove:
        def choose(self, position: Position) -> int:
            return moves_of(position)[0]

    tree = TreePlayer(VARIANT, TUNING, visits=500, capacity=100_000)
    assert compare(VARIANT, tree, FirstMove(), games=20, seed=1).share > 0.7


def test_training_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """A campaign reports each new round once and continues from its folder."""
    plan = BlokboxCampaign(VARIANT, tmp_path, rounds=1, games=20, visits=60, match_games=4, scratch=True)
    first = run(plan, InlineExecutor(), lambda line: None)
    assert [result.number for result in first] == [1]
    (tmp_path / "samples-2-0.npz").write_bytes((tmp_path / "samples-1-0.npz").read_bytes())
    plan = replace(plan, rounds=2)
    second = run(plan, InlineExecutor(), lambda line: None)
    assert [result.number for result in second] == [2]
    # The newest samples are held out.
    assert second[0].positions == first[0].positions


def test_what_was_trained_is_shipped_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command's two ways to install: the network for its own game, the weights for games without a network."""
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    monkeypatch.setattr(networks, "SHIPPED", shipped)
    monkeypatch.setattr(general, "SHIPPED", shipped / "weights.npz")
    monkeypatch.setattr(compiling, "compile_rules", lambda rules: own_machine("blokbox"))
    monkeypatch.setattr(recognising, "recognise", lambda machine: own_binding())
    command = ["train", "blokbox", "blokbox", str(tmp_path / "work"), "--rounds", "1", "--games", "2"]
    command += ["--visits", "30", "--match-games", "2", "--scratch", "--cores", "1"]
    assert instrument(command) == 0
    assert not list(shipped.iterdir())
    assert instrument([*command, "--install", "--install-general"]) == 0
    network, geometry = networks.load(shipped / "blokbox.npz")
    assert geometry.size == (14, 14)
    assert np.isfinite(network.rows).all()
    assert np.isfinite(general.load(shipped / "weights.npz").evaluation).all()


def test_training_finds_that_moves_are_worth_having(tmp_path: Path) -> None:
    """Weights from a little self-play value having more moves than the opponent, and survive being saved."""
    rough = tuning_for(VARIANT, GeneralWeights.none())._replace(playout_share=1.0)
    told: list[int] = []
    samples = self_play(VARIANT, rough, matches=100, visits=120, seed=1, progress=told.append)
    samples.save(tmp_path / "samples.npz")
    samples = SelfPlaySamples.load(tmp_path / "samples.npz")
    assert told == list(range(1, 101))
    assert len(samples.positions) == len(samples.results) == len(samples.starts) - 1
    weights = fit(VARIANT, samples.training_set())
    assert np.isfinite(weights.evaluation).all()
    assert weights.evaluation[:, 0].mean() > 0
    general.save(tmp_path / "weights.npz", weights)
    assert (general.load(tmp_path / "weights.npz").evaluation == weights.evaluation).all()
