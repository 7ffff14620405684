"""Gradient descent for `guiding.network`: both heads at once, by `Adam`, one Numba kernel per batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.blokbox.guiding.evaluation import N_FEATURES, take_features
from agent.search.blokbox.guiding.network import (
    HIDDEN,
    N_MOVE_FEATURES,
    SECOND,
    Network,
    NetworkWorkspace,
    list_inputs,
    move_feature_weights,
    move_features,
    new_network_workspace,
    placement_density,
    policy_logit,
    value_head,
    weight_shapes,
)
from agent.search.blokbox.guiding.priors import divide, softmax
from agent.search.evaluation.training import Adam
from games.bits.splitmix import random64
from games.bits.vectors import sum_rows
from games.native.blokbox.rules import list_moves, new_placement_workspace
from games.native.blokbox.variant import BOARD_CELLS, TURN, BlokboxVariant

BATCH = 256
"""Positions per step."""
DROPOUT = 0.2
"""Share of the active inputs left out at random while learning (Srivastava et al. 2014)."""
_DROPPED = np.uint64(int(DROPOUT * 2**64))
_KEPT_SCALE = np.float32(1.0 / (1.0 - DROPOUT))
DECAY = 0.3
"""Share of each weight taken away per step, in units of the step size (Loshchilov, Hutter 2019)."""


@dataclass(frozen=True)
class TrainingSet:
    """Positions with their targets."""

    positions: NDArray[np.uint64]
    """[n, 20]"""
    values: NDArray[np.float32]
    """[n]: chance of winning of the player to move."""
    starts: NDArray[np.int64]
    """[n + 1]: beginning of each position's moves in `shares`."""
    shares: NDArray[np.float32]
    """Shares of the visits, for every move, in the order of `rules.list_moves`."""

    def __len__(self) -> int:
        return len(self.values)


class _TrainingWorkspace(NamedTuple):
    """Buffers of `_forward` and `_backward`."""

    network: NetworkWorkspace
    moves: NDArray[np.int64]
    shares: NDArray[np.float32]
    move_features: NDArray[np.float32]
    """[moves, N_MOVE_FEATURES]"""
    live: NDArray[np.int64]
    features: NDArray[np.float64]
    hidden_slope: NDArray[np.float32]
    weights_slope: NDArray[np.float32]


def _views(flat: NDArray[np.float32], n_shapes: int) -> Network:
    arrays = {}
    begin = 0
    for name, shape in weight_shapes(n_shapes).items():
        size = int(np.prod(shape))
        arrays[name] = flat[begin : begin + size].reshape(shape)
        begin += size
    return Network(**arrays)


def _n_weights(n_shapes: int) -> int:
    return sum(int(np.prod(shape)) for shape in weight_shapes(n_shapes).values())


def new_network(n_shapes: int, seed: int = 0) -> Network:
    """Returns a network with small random weights."""
    rng = np.random.default_rng(seed)
    network = _views(np.zeros(_n_weights(n_shapes), np.float32), n_shapes)
    network.rows[:] = 0.03 * rng.standard_normal(network.rows.shape)
    network.bias[:] = 0.1
    network.second[:] = np.sqrt(2.0 / HIDDEN) * rng.standard_normal(network.second.shape)
    network.output[:SECOND] = np.sqrt(1.0 / SECOND) * rng.standard_normal(SECOND)
    return network


@njit(cache=True, nogil=True, fastmath=True)
def _forward(tables, network, position, with_moves, scratch, work, seed, learning):
    """Judges a position; returns its chance and the numbers of its active inputs and, on request, its moves.

    Inputs are in `work.network.active`, moves in `work.moves`, their expected shares of the visits in `work.shares`.
    """
    workspace, live, shares = work.network, work.live, work.shares
    hidden = workspace.hidden
    n_shapes = len(tables.piece)
    player = np.int64(position[TURN])
    live[:] = n_shapes
    take_features(tables, position, scratch.shapes[2:4], live, scratch, 0, work.features, live)
    n = list_inputs(position, scratch, 0, live, n_shapes, workspace.active)
    scale = np.float32(1.0)
    if learning:
        scale = _KEPT_SCALE
        kept = 0
        for index in range(n):
            if random64(seed) >= _DROPPED:
                workspace.active[kept] = workspace.active[index]
                kept += 1
        n = kept
    sum_rows(network.rows.ctypes.data, network.bias.ctypes.data, workspace.active.ctypes.data, n, hidden.ctypes.data)
    for unit in range(HIDDEN):
        hidden[unit] = max(network.bias[unit] + scale * (hidden[unit] - network.bias[unit]), np.float32(0.0))
    probability = 1.0 / (1.0 + np.exp(-np.float64(value_head(network, hidden, workspace.second))))
    if not with_moves:
        return probability, n, 0
    for owner in range(2):
        placement_density(tables, scratch, owner, live[owner], workspace.densities[owner])
    divide(position, workspace.boards)
    move_feature_weights(network, hidden, workspace.feature_weights)
    n_moves = list_moves(scratch, player, live[player], work.moves)
    for index in range(n_moves):
        move = work.moves[index]
        move_features(tables, move, player, workspace.boards, workspace.densities, work.move_features[index])
        shares[index] = policy_logit(network, hidden, workspace.feature_weights, work.move_features[index], move)
    softmax(shares, n_moves)
    return probability, n, n_moves


@njit(cache=True, nogil=True, fastmath=True)
def _backward(network, slope, error, shares, n, n_moves, work):
    """Adds a position's gradient to `slope` after `_forward`; `error` is of the chance, `shares` are the true ones."""
    hidden, second = work.network.hidden, work.network.second
    d_hidden, d_weights = work.hidden_slope, work.weights_slope
    d_hidden[:] = 0.0
    slope.output[SECOND] += error
    for unit in range(SECOND):
        if second[unit] > 0.0:
            slope.output[unit] += error * second[unit]
            step = error * network.output[unit]
            slope.second_bias[unit] += step
            for index in range(HIDDEN):
                slope.second[unit, index] += step * hidden[index]
                d_hidden[index] += step * network.second[unit, index]
    d_weights[:] = 0.0
    for index in range(n_moves):
        move = work.moves[index]
        step = work.shares[index] - shares[index]
        slope.move_bias[move] += step
        for unit in range(HIDDEN):
            slope.moves[move, unit] += step * hidden[unit]
            d_hidden[unit] += step * network.moves[move, unit]
        for k in range(N_MOVE_FEATURES):
            d_weights[k] += step * work.move_features[index, k]
    for k in range(N_MOVE_FEATURES):
        slope.move_features[k, HIDDEN] += d_weights[k]
        for unit in range(HIDDEN):
            slope.move_features[k, unit] += d_weights[k] * hidden[unit]
            d_hidden[unit] += d_weights[k] * network.move_features[k, unit]
    for unit in range(HIDDEN):
        if hidden[unit] <= 0.0:
            d_hidden[unit] = 0.0
        slope.bias[unit] += d_hidden[unit]
    for index in range(n):
        row = work.network.active[index]
        for unit in range(HIDDEN):
            slope.rows[row, unit] += _KEPT_SCALE * d_hidden[unit]


@njit(cache=True, nogil=True)
def _batch(tables, network, slope, training_set, chosen, scratch, work, seed, learning):
    """Returns the sums of both heads' cross entropies over `chosen` positions; adds their gradients if `learning`."""
    positions, values, starts, all_shares = training_set
    entropy = 0.0
    surprise = 0.0
    for index in chosen:
        value = values[index]
        shares = all_shares[starts[index] : starts[index + 1]]
        probability, n, n_moves = _forward(
            tables, network, positions[index], len(shares) > 0, scratch, work, seed, learning
        )
        entropy -= value * np.log(probability + 1e-9) + (1.0 - value) * np.log(1.0 - probability + 1e-9)
        for move in range(n_moves):
            if shares[move] > 0.0:
                surprise -= shares[move] * np.log(np.float64(work.shares[move]) / shares[move] + 1e-9)
        if learning:
            _backward(network, slope, np.float32(probability - value), shares, n, n_moves, work)
    return entropy, surprise


class NetworkTrainer:
    """Trains a network: holds its weights and the state of the optimiser."""

    def __init__(self, variant: BlokboxVariant, network: Network) -> None:
        n_shapes = len(variant.shapes)
        self._variant = variant
        self._adam = Adam(np.concatenate([part.ravel() for part in network]), DECAY)
        self.network = _views(self._adam.weights, n_shapes)
        self._seed = np.ones(1, np.uint64)
        self._scratch = new_placement_workspace(variant, 4)
        n_moves = n_shapes * BOARD_CELLS
        self._work = _TrainingWorkspace(
            network=new_network_workspace(n_shapes),
            moves=np.zeros(n_moves, np.int64),
            shares=np.zeros(n_moves, np.float32),
            move_features=np.zeros((n_moves, N_MOVE_FEATURES), np.float32),
            live=np.zeros(2, np.int64),
            features=np.zeros((2, N_FEATURES)),
            hidden_slope=np.zeros(HIDDEN, np.float32),
            weights_slope=np.zeros(N_MOVE_FEATURES, np.float32),
        )

    def train(
        self, training_set: TrainingSet, *, epochs: int, rate: float, seed: int = 0
    ) -> Iterator[tuple[float, float]]:
        """Trains on the whole set `epochs` times, with a learning rate that falls to a twentieth.

        Yields the losses of each epoch (see `losses`).
        """
        rng = np.random.default_rng(seed)
        n_batches = max(1, len(training_set) // BATCH)
        for epoch in range(epochs):
            order = rng.permutation(len(training_set))
            sums = np.zeros(2)
            for number, chosen in enumerate(np.array_split(order, n_batches)):
                sums += self._run(training_set, chosen, True)
                progress = (epoch + number / n_batches) / epochs
                self._adam.step(rate * (0.05 + 0.95 * 0.5 * (1.0 + np.cos(np.pi * progress))), 1.0 / len(chosen))
            yield float(sums[0] / len(training_set)), float(sums[1] / len(training_set))

    def losses(self, training_set: TrainingSet) -> tuple[float, float]:
        """Returns the mean losses: cross entropy of the value, divergence of the visits from the move head."""
        sums = self._run(training_set, np.arange(len(training_set)), False)
        return float(sums[0] / len(training_set)), float(sums[1] / len(training_set))

    def _run(self, training_set: TrainingSet, chosen: NDArray[np.int64], learning: bool) -> NDArray[np.float64]:
        slope = _views(self._adam.gradient, len(self._variant.shapes))
        return np.array(
            _batch(
                self._variant.tables,
                self.network,
                slope,
                (training_set.positions, training_set.values, training_set.starts, training_set.shares),
                chosen,
                self._scratch,
                self._work,
                self._seed,
                learning,
            )
        )
