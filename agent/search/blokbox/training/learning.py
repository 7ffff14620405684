"""Gradient descent for `net`: both heads at once, by Adam (Kingma, Ba 2015), one Numba kernel per batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.blokbox.guiding.evaluation import N_FEATURES, survey
from agent.search.blokbox.guiding.network import (
    HIDDEN,
    N_HINTS,
    SECOND,
    Desk,
    Net,
    crowd,
    expect,
    hint,
    hint_weights,
    net_shapes,
    new_desk,
    observe,
    prefer,
)
from agent.search.blokbox.guiding.priors import divide, softmax
from games.bits.splitmix import random64
from games.bits.vectors import sum_rows
from games.native.blokbox.rules import list_moves, new_placement_workspace
from games.native.blokbox.variant import BOARD_CELLS, TURN, Variant

BATCH = 256
MOMENTUM, VARIANCE = 0.9, 0.999
DROPOUT = 0.2
"""How many of the active inputs are left out at random while learning (Srivastava et al. 2014)."""
_DROPPED = np.uint64(int(DROPOUT * 2**64))
_KEPT_SCALE = np.float32(1.0 / (1.0 - DROPOUT))
DECAY = 0.3
"""How much of each weight is taken away per step, in units of the step size (Loshchilov, Hutter 2019)."""


@dataclass(frozen=True)
class Lessons:
    """Positions with what is to be learnt about them."""

    positions: NDArray[np.uint64]
    """[n, 20]"""
    values: NDArray[np.float32]
    """[n]: the chance of winning of the player to move."""
    starts: NDArray[np.int64]
    """[n + 1]: where each position's moves begin in `shares`."""
    shares: NDArray[np.float32]
    """Of the visits, for every move, in the order of `rules.list_moves`."""

    def __len__(self) -> int:
        return len(self.values)


class _Work(NamedTuple):
    """Where `_forward` and `_backward` put down what they work with."""

    desk: Desk
    moves: NDArray[np.int64]
    shares: NDArray[np.float32]
    hints: NDArray[np.float32]
    """[moves, N_HINTS]"""
    live: NDArray[np.int64]
    features: NDArray[np.float64]
    hidden_slope: NDArray[np.float32]
    weights_slope: NDArray[np.float32]


def _views(flat: NDArray[np.float32], n_shapes: int) -> Net:
    arrays = {}
    begin = 0
    for name, shape in net_shapes(n_shapes).items():
        size = int(np.prod(shape))
        arrays[name] = flat[begin : begin + size].reshape(shape)
        begin += size
    return Net(**arrays)


def _n_weights(n_shapes: int) -> int:
    return sum(int(np.prod(shape)) for shape in net_shapes(n_shapes).values())


def new_net(n_shapes: int, seed: int = 0) -> Net:
    """A network with small random weights."""
    rng = np.random.default_rng(seed)
    net = _views(np.zeros(_n_weights(n_shapes), np.float32), n_shapes)
    net.rows[:] = 0.03 * rng.standard_normal(net.rows.shape)
    net.bias[:] = 0.1
    net.second[:] = np.sqrt(2.0 / HIDDEN) * rng.standard_normal(net.second.shape)
    net.output[:SECOND] = np.sqrt(1.0 / SECOND) * rng.standard_normal(SECOND)
    return net


@njit(cache=True, nogil=True, fastmath=True)
def _forward(tables, net, position, with_moves, scratch, work, seed, learning):
    """Judge a position; returns its chance, its active inputs and, if they are wanted, its moves.

    The inputs stay in `work.desk.active`, the moves in `work.moves`, and their shares of the visits, as expected, in
    `work.shares`.
    """
    desk, live, shares = work.desk, work.live, work.shares
    hidden = desk.hidden
    n_shapes = len(tables.piece)
    player = np.int64(position[TURN])
    live[:] = n_shapes
    survey(tables, position, scratch.shapes[2:4], live, scratch, 0, work.features, live)
    n = observe(position, scratch, 0, live, n_shapes, desk.active)
    scale = np.float32(1.0)
    if learning:
        scale = _KEPT_SCALE
        kept = 0
        for index in range(n):
            if random64(seed) >= _DROPPED:
                desk.active[kept] = desk.active[index]
                kept += 1
        n = kept
    sum_rows(net.rows.ctypes.data, net.bias.ctypes.data, desk.active.ctypes.data, n, hidden.ctypes.data)
    for unit in range(HIDDEN):
        hidden[unit] = max(net.bias[unit] + scale * (hidden[unit] - net.bias[unit]), np.float32(0.0))
    chance = 1.0 / (1.0 + np.exp(-np.float64(expect(net, hidden, desk.second))))
    if not with_moves:
        return chance, n, 0
    for seat in range(2):
        crowd(tables, scratch, seat, live[seat], desk.densities[seat])
    divide(position, desk.boards)
    hint_weights(net, hidden, desk.weights)
    n_moves = list_moves(scratch, player, live[player], work.moves)
    for index in range(n_moves):
        move = work.moves[index]
        hint(tables, move, player, desk.boards, desk.densities, work.hints[index])
        shares[index] = prefer(net, hidden, desk.weights, work.hints[index], move)
    softmax(shares, n_moves)
    return chance, n, n_moves


@njit(cache=True, nogil=True, fastmath=True)
def _backward(net, slope, error, shares, n, n_moves, work):
    """Add a position's gradient to `slope` after `_forward`: `error` is the chance's, `shares` are the true ones."""
    hidden, second = work.desk.hidden, work.desk.second
    d_hidden, d_weights = work.hidden_slope, work.weights_slope
    d_hidden[:] = 0.0
    slope.output[SECOND] += error
    for unit in range(SECOND):
        if second[unit] > 0.0:
            slope.output[unit] += error * second[unit]
            step = error * net.output[unit]
            slope.second_bias[unit] += step
            for index in range(HIDDEN):
                slope.second[unit, index] += step * hidden[index]
                d_hidden[index] += step * net.second[unit, index]
    d_weights[:] = 0.0
    for index in range(n_moves):
        move = work.moves[index]
        step = work.shares[index] - shares[index]
        slope.move_bias[move] += step
        for unit in range(HIDDEN):
            slope.moves[move, unit] += step * hidden[unit]
            d_hidden[unit] += step * net.moves[move, unit]
        for k in range(N_HINTS):
            d_weights[k] += step * work.hints[index, k]
    for k in range(N_HINTS):
        slope.hints[k, HIDDEN] += d_weights[k]
        for unit in range(HIDDEN):
            slope.hints[k, unit] += d_weights[k] * hidden[unit]
            d_hidden[unit] += d_weights[k] * net.hints[k, unit]
    for unit in range(HIDDEN):
        if hidden[unit] <= 0.0:
            d_hidden[unit] = 0.0
        slope.bias[unit] += d_hidden[unit]
    for index in range(n):
        row = work.desk.active[index]
        for unit in range(HIDDEN):
            slope.rows[row, unit] += _KEPT_SCALE * d_hidden[unit]


@njit(cache=True, nogil=True)
def _batch(tables, net, slope, lessons, chosen, scratch, work, seed, learning):
    """The sums of both heads' cross entropies over all `chosen` positions, whose gradients are added if `learning`."""
    positions, values, starts, all_shares = lessons
    entropy = 0.0
    surprise = 0.0
    for index in chosen:
        value = values[index]
        shares = all_shares[starts[index] : starts[index + 1]]
        chance, n, n_moves = _forward(tables, net, positions[index], len(shares) > 0, scratch, work, seed, learning)
        entropy -= value * np.log(chance + 1e-9) + (1.0 - value) * np.log(1.0 - chance + 1e-9)
        for move in range(n_moves):
            if shares[move] > 0.0:
                surprise -= shares[move] * np.log(np.float64(work.shares[move]) / shares[move] + 1e-9)
        if learning:
            _backward(net, slope, np.float32(chance - value), shares, n, n_moves, work)
    return entropy, surprise


@njit(cache=True, nogil=True, fastmath=True)
def _adam(flat, slope, mean, square, scale, rate, momentum, variance):
    """One step against the gradient `scale * slope`, which is cleared."""
    for index in range(len(flat)):
        gradient = slope[index] * scale
        slope[index] = 0.0
        mean[index] = MOMENTUM * mean[index] + (1.0 - MOMENTUM) * gradient
        square[index] = VARIANCE * square[index] + (1.0 - VARIANCE) * gradient * gradient
        step = (mean[index] / momentum) / (np.sqrt(square[index] / variance) + 1e-7)
        flat[index] -= rate * (step + DECAY * flat[index])


class Teacher:
    """Holds a network while it learns."""

    def __init__(self, variant: Variant, net: Net) -> None:
        n_shapes = len(variant.shapes)
        size = _n_weights(n_shapes)
        self._variant = variant
        self._flat = np.zeros(size, np.float32)
        self.net = _views(self._flat, n_shapes)
        for mine, given in zip(self.net, net, strict=True):
            mine[:] = given
        self._slope = np.zeros(size, np.float32)
        self._mean = np.zeros(size, np.float32)
        self._square = np.zeros(size, np.float32)
        self._steps = 0
        self._seed = np.ones(1, np.uint64)
        self._scratch = new_placement_workspace(variant, 4)
        n_moves = n_shapes * BOARD_CELLS
        self._work = _Work(
            desk=new_desk(n_shapes),
            moves=np.zeros(n_moves, np.int64),
            shares=np.zeros(n_moves, np.float32),
            hints=np.zeros((n_moves, N_HINTS), np.float32),
            live=np.zeros(2, np.int64),
            features=np.zeros((2, N_FEATURES)),
            hidden_slope=np.zeros(HIDDEN, np.float32),
            weights_slope=np.zeros(N_HINTS, np.float32),
        )

    def teach(self, lessons: Lessons, *, epochs: int, rate: float, seed: int = 0) -> Iterator[tuple[float, float]]:
        """Learn all lessons so many times, with a rate that falls to a twentieth; yields the losses of each epoch."""
        rng = np.random.default_rng(seed)
        n_batches = max(1, len(lessons) // BATCH)
        for epoch in range(epochs):
            order = rng.permutation(len(lessons))
            sums = np.zeros(2)
            for number, chosen in enumerate(np.array_split(order, n_batches)):
                sums += self._run(lessons, chosen, True)
                self._steps += 1
                progress = (epoch + number / n_batches) / epochs
                _adam(
                    self._flat,
                    self._slope,
                    self._mean,
                    self._square,
                    np.float32(1.0 / len(chosen)),
                    np.float32(rate * (0.05 + 0.95 * 0.5 * (1.0 + np.cos(np.pi * progress)))),
                    np.float32(1.0 - MOMENTUM**self._steps),
                    np.float32(1.0 - VARIANCE**self._steps),
                )
            yield float(sums[0] / len(lessons)), float(sums[1] / len(lessons))

    def examine(self, lessons: Lessons) -> tuple[float, float]:
        """The mean losses: cross entropy of the value, and the divergence of the visits from the move head."""
        sums = self._run(lessons, np.arange(len(lessons)), False)
        return float(sums[0] / len(lessons)), float(sums[1] / len(lessons))

    def _run(self, lessons: Lessons, chosen: NDArray[np.int64], learning: bool) -> NDArray[np.float64]:
        slope = _views(self._slope, len(self._variant.shapes))
        return np.array(
            _batch(
                self._variant.tables,
                self.net,
                slope,
                (lessons.positions, lessons.values, lessons.starts, lessons.shares),
                chosen,
                self._scratch,
                self._work,
                self._seed,
                learning,
            )
        )
