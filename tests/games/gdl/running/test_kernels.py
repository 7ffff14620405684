"""Random moves, at both widths: legal, uniform, independent."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from games.bits.words import aligned_words
from games.gdl.compile import warm_kernels
from games.gdl.running import kernels, playouts
from games.gdl.running.layout import SLOT_TRUE, CircuitPrograms
from tests.lanes import WIDTHS, bits_of, rows_of


def draw(
    programs: CircuitPrograms,
    legal: NDArray[np.bool_],
    playing: NDArray[np.bool_],
    draws: int,
    worth: NDArray[np.float32] | None = None,
) -> NDArray[np.int64]:
    """Moves of role 0 drawn by `choose_random` (draws, lanes), -1 for none; `legal` is (lanes, moves).

    In the lanes of `playing`. With `worth` (moves), of the better of two.
    """
    lanes, moves = legal.shape
    width = lanes // 64
    slots = aligned_words(programs.n_slots * width)
    slots[SLOT_TRUE * width : (SLOT_TRUE + 1) * width] = kernels.ALL
    for move in range(moves):
        slots[programs.legal_slot[move] * width :][:width] = rows_of(legal[None, :, move])
    workspace = playouts.new_move_workspace(programs, width, 5)
    if worth is not None:
        workspace.worth[:] = worth
    workspace.lanes[:] = rows_of(playing[None])
    drawn = np.full((draws, lanes), -1, np.int64)
    for row in drawn:
        n = playouts.choose_random(
            programs.role_start,
            slots,
            WIDTHS[width],
            0,
            workspace,
            playouts.UNIFORM if worth is None else np.int64(2),
        )
        assert np.array_equal(bits_of(workspace.stuck, width)[0], playing & ~legal.any(axis=1))
        for move, chosen in zip(workspace.move[:n], bits_of(workspace.chosen[: n * width], width), strict=True):
            assert (row[chosen] == -1).all()
            row[chosen] = move
    return drawn


def programs_of(moves: int) -> CircuitPrograms:
    """The programs of a game in which role 0 has this many moves."""
    return warm_kernels().programs._replace(
        n_slots=moves + 2,
        legal_slot=np.arange(2, moves + 2, dtype=np.int32),
        role_start=np.array([0, moves, moves], np.int64),
    )


@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("moves", [1, 3, 15, 16, 64, 65, 150])
def test_random_moves_are_legal_and_uniform(moves: int, width: int) -> None:
    """In every lane that plays, one of its legal moves is drawn, each as often as the others."""
    rng = np.random.default_rng(moves)
    legal = rng.random((64 * width, moves)) < rng.choice([0.02, 0.5, 1.0], (64 * width, 1))
    legal[3] = False
    legal[4] = np.arange(moves) == moves - 1
    legal[5] = True
    playing = np.arange(64 * width) % 64 != 9
    draws = 400
    drawn = draw(programs_of(moves), legal, playing, draws)
    counts = (drawn[:, :, None] == np.arange(moves)).sum(axis=0)
    drawing = legal.any(axis=1) & playing
    assert not counts[~legal].any()
    assert counts.sum(axis=1).tolist() == np.where(drawing, draws, 0).tolist()
    # Pearson's chi-square of each lane has the mean n - 1 and the variance 2 (n - 1), for n legal moves.
    options = legal[drawing].sum(axis=1)
    expected = (draws / options)[:, None]
    freedom = options - 1
    excess = ((counts[drawing] - expected) ** 2 / expected * legal[drawing]).sum(axis=1) - freedom
    assert abs(excess.sum()) < 5 * np.sqrt(2 * freedom.sum()) + 1e-6
    assert (np.abs(excess) < 6 * np.sqrt(2 * freedom) + 10).all()


@pytest.mark.parametrize("width", [1, 8])
def test_lanes_and_successive_draws_are_independent(width: int) -> None:
    """Two lanes with the same moves agree as often as chance has it, and so do two draws of a lane."""
    moves, draws = 6, 600
    lanes = 64 * width
    everything = np.ones(lanes, np.bool_)
    drawn = draw(programs_of(moves), np.ones((lanes, moves), np.bool_), everything, draws)
    for distance in (1, 2, 3, 63, 64):
        other = np.roll(drawn, distance, axis=1)
        agreed = (drawn == other)[:, : lanes // 2].sum()
        expected = draws * (lanes // 2) / moves
        if distance % lanes:
            assert abs(agreed - expected) < 5 * np.sqrt(expected)
        again = (drawn[distance:] == drawn[:-distance]).sum()
        expected = (draws - distance) * lanes / moves
        assert abs(again - expected) < 5 * np.sqrt(expected)


@pytest.mark.parametrize("moves", [3, 70])
def test_the_better_one_of_two_is_chosen(moves: int) -> None:
    """Of n legal moves, the one at rank i (from 0, the worst) wins 2 i + 1 of n * n draws."""
    rng = np.random.default_rng(moves)
    legal = np.ones((64, moves), np.bool_)
    legal[:, 1] = False
    worth = rng.permutation(moves).astype(np.float32) / moves
    draws = 400
    drawn = draw(programs_of(moves), legal, np.ones(64, np.bool_), draws, worth)
    counts = np.bincount(drawn.ravel(), minlength=moves)
    assert counts[1] == 0
    order = [move for move in np.argsort(worth).tolist() if move != 1]
    expected = 64 * draws * (2 * np.arange(moves - 1) + 1) / (moves - 1) ** 2
    assert (np.abs(counts[order] - expected) / np.sqrt(expected)).max() < 5.5
