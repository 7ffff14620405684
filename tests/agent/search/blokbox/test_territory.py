"""Verdicts by territory against exhaustive play, on random small boards with random pieces."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from agent.search.blokbox.proving.regions import new_territory_workspace
from agent.search.blokbox.proving.territory import TO_MOVE_LOSES, TO_MOVE_WINS, verdict
from games.native.blokbox.rules import list_moves, new_placement_workspace, placements, play
from games.native.blokbox.variant import SIDE, SIDE_STEPS, TURN, BlokboxVariant, Cell
from tests.agent.search.blokbox.sheet import anywhere

Position = NDArray[np.uint64]
SQUARE = ((0, 0), (1, 0), (0, 1), (1, 1))
DOMINO = ((0, 0), (1, 0))


def random_cells(rng: random.Random) -> tuple[Cell, ...]:
    """Up to five cells connected by their sides, moved to the origin."""
    cells = {(0, 0)}
    size = rng.randint(1, 5)
    while len(cells) < size:
        (x, y), (dx, dy) = rng.choice(sorted(cells)), rng.choice(SIDE_STEPS)
        cells.add((x + dx, y + dy))
    left, top = min(x for x, _ in cells), min(y for _, y in cells)
    return tuple(sorted((x - left, y - top) for x, y in cells))


def random_variant(rng: random.Random) -> BlokboxVariant:
    """A board of at most seven rows or columns, some as wide or as high as boards can be."""
    width, height = rng.randint(3, 7), rng.randint(3, 7)
    if rng.random() < 0.3:
        width, height = rng.choice([(SIDE, 3), (3, SIDE)])
    pieces = rng.randint(2, 7)
    shapes = []
    for piece in range(pieces):
        for _ in range(rng.choice([1, 1, 2])):
            cells = random_cells(rng)
            if max(x for x, _ in cells) < width and max(y for _, y in cells) < height:
                shapes.append(anywhere(piece, cells, width, height))
    board = [(x, y) for x in range(width) for y in range(height)]
    first, second, third = rng.sample(board, 3)
    owned = tuple(frozenset(rng.sample(range(pieces), rng.randint(pieces // 2, pieces))) for _ in range(2))
    return BlokboxVariant(
        width, height, tuple(shapes), (owned[0], owned[1]), (frozenset({first, third}), frozenset({second}))
    )


@njit(cache=True)
def _verdict(tables, position, candidates, n_candidates, expected, territory):
    """The kernel's verdict: it has no entry from Python of its own."""
    return verdict(tables, position, candidates, n_candidates, expected, territory)


class Match:
    """Positions of a variant, with their exact results and verdicts."""

    def __init__(self, variant: BlokboxVariant) -> None:
        self.variant = variant
        self._tables = variant.tables
        self._scratch = new_placement_workspace(variant, 1)
        self._buffer = np.zeros(len(self._tables.effects), np.int64)
        self._shapes = np.tile(np.arange(len(variant.shapes)), (2, 1))
        self._live = np.full(2, len(variant.shapes))
        self._territory = new_territory_workspace(variant, 1 << 10)
        self.won = cache(self._won)

    def moves(self, position: Position) -> list[int]:
        n_shapes = len(self.variant.shapes)
        player = int(position[TURN])
        live, _ = placements(self._tables, position, player, self._shapes[0], n_shapes, self._scratch, 0)
        return self._buffer[: list_moves(self._scratch, 0, live, self._buffer)].tolist()

    def after(self, position: Position, move: int) -> Position:
        child = position.copy()
        play(self._tables, child, move)
        return child

    def verdicts(self, position: Position) -> set[int]:
        """The verdicts found with each expected result."""
        found = {
            _verdict(self._tables, position, self._shapes, self._live, expected, self._territory)
            for expected in (TO_MOVE_WINS, TO_MOVE_LOSES)
        }
        return found - {0}

    def _won(self, packed: bytes) -> bool:
        position = np.frombuffer(packed, np.uint64)
        return any(not self.won(self.after(position, move).tobytes()) for move in self.moves(position))


def test_verdicts_are_true() -> None:
    """In the last plies of random matches, each verdict is the result of exhaustive play; many are found."""
    rng = random.Random(4)
    decided = 0
    for _ in range(60):
        match = Match(random_variant(rng))
        for _ in range(8):
            positions = [match.variant.start]
            while moves := match.moves(positions[-1]):
                positions.append(match.after(positions[-1], rng.choice(moves)))
            for position in positions[-5:]:
                if found := match.verdicts(position):
                    decided += 1
                    assert found == {TO_MOVE_WINS if match.won(position.tobytes()) else TO_MOVE_LOSES}
    assert decided > 400


@pytest.mark.parametrize(("turn", "result"), [(0, TO_MOVE_WINS), (1, TO_MOVE_LOSES)])
def test_more_territory_wins(turn: int, result: int) -> None:
    """Where the players share no cell, the one with more placements wins, whoever is to move."""
    width, height = 12, 4
    shapes = (anywhere(0, SQUARE, width, height), anywhere(1, DOMINO, width, height))
    # A wall of both colours, and behind it four cells for the second player: for one piece, not for two.
    wall = frozenset((8, y) for y in range(height)), frozenset((9, y) for y in range(height))
    blocked = frozenset({(10, 3), (11, 3), (11, 0)})
    both = frozenset({0, 1})
    variant = BlokboxVariant(width, height, shapes, (both, both), (wall[0] | {(4, 1)}, wall[1] | blocked))
    match = Match(variant)
    start = variant.start.copy()
    start[TURN] = turn
    assert match.won(start.tobytes()) == (result == TO_MOVE_WINS)
    assert match.verdicts(start) == {result}


def test_shared_cells_leave_it_open() -> None:
    """While both players can cover the same cells only, there is no verdict."""
    shapes = (anywhere(0, DOMINO, 4, 3),)
    pieces = frozenset({0})
    variant = BlokboxVariant(4, 3, shapes, (pieces, pieces), (frozenset({(0, 0)}), frozenset({(3, 2)})))
    match = Match(variant)
    assert not match.verdicts(variant.start)
