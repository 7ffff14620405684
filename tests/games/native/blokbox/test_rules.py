"""The Blokbox rules against a naive reading of them."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest

from games.bits.board16x16 import SIDE
from games.native.blokbox.rules import list_moves, new_placement_workspace, perft, placements, play, playouts
from games.native.blokbox.variant import BOARD_CELLS, TURN, BlokboxVariant, Shape

Cell = tuple[int, int]


def all_anchors(width: int, height: int, cells: list[Cell]) -> frozenset[Cell]:
    """Every anchor that keeps the cells on the board."""
    return frozenset(
        (x, y) for x in range(width - max(dx for dx, _ in cells)) for y in range(height - max(dy for _, dy in cells))
    )


def shape(piece: int, cells: list[Cell], width: int, height: int) -> Shape:
    return Shape(piece, tuple(cells), all_anchors(width, height, cells))


def turned(cells: list[Cell]) -> list[Cell]:
    """The cells turned by a quarter."""
    height = max(dy for _, dy in cells)
    return sorted((height - dy, dx) for dx, dy in cells)


def small_variant() -> BlokboxVariant:
    """A 6x5 board with pieces of one to four cells, one of them in several orientations, and unequal owners."""
    pieces: list[list[Cell]] = [[(0, 0)], [(0, 0), (1, 0)], [(0, 0), (0, 1), (1, 0)], [(0, 0), (1, 0), (2, 0), (1, 1)]]
    shapes = [shape(index, cells, 6, 5) for index, cells in enumerate(pieces)]
    shapes += [shape(2, turned(pieces[2]), 6, 5), shape(1, turned(pieces[1]), 6, 5)]
    return BlokboxVariant(
        6, 5, tuple(shapes), (frozenset({0, 1, 2, 3}), frozenset({0, 1, 2})), (frozenset({(0, 0)}), frozenset({(5, 4)}))
    )


def wide_variant() -> BlokboxVariant:
    """A full 16x16 board, long pieces, several starting cells."""
    pieces: list[list[Cell]] = [[(dx, 0) for dx in range(n)] for n in range(1, 7)]
    pieces += [[(0, dy) for dy in range(n)] for n in range(2, 7)]
    pieces += [[(0, 1), (1, 0), (1, 1), (2, 2)]]
    shapes = [shape(index, cells, 16, 16) for index, cells in enumerate(pieces)]
    owned = frozenset(range(len(pieces)))
    starts = (frozenset({(0, 0), (15, 15)}), frozenset({(15, 0), (0, 15), (8, 8)}))
    return BlokboxVariant(16, 16, tuple(shapes), (owned, owned), starts)


@dataclass
class NaiveGame:
    """The rules in sets of cells."""

    variant: BlokboxVariant
    cells: list[set[Cell]]
    owned: list[set[int]]
    turn: int = 0

    @classmethod
    def start(cls, variant: BlokboxVariant) -> NaiveGame:
        return cls(variant, [set(cells) for cells in variant.starts], [set(pieces) for pieces in variant.owned])

    def covered(self, move: int) -> set[Cell]:
        shape = self.variant.shapes[move // BOARD_CELLS]
        y, x = divmod(move % BOARD_CELLS, SIDE)
        return {(x + dx, y + dy) for dx, dy in shape.cells}

    def legal(self, player: int) -> set[int]:
        moves = set()
        own = self.cells[player]
        taken = self.cells[0] | self.cells[1]
        beside = {(x + a, y + b) for x, y in own for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))}
        across = {(x + a, y + b) for x, y in own for a in (1, -1) for b in (1, -1)}
        for index, shape in enumerate(self.variant.shapes):
            if shape.piece not in self.owned[player]:
                continue
            for x, y in shape.anchors:
                move = BOARD_CELLS * index + SIDE * y + x
                covered = self.covered(move)
                if covered & across and not covered & beside and not covered & taken:
                    moves.add(move)
        return moves

    def play(self, move: int) -> None:
        self.cells[self.turn] |= self.covered(move)
        self.owned[self.turn].remove(self.variant.shapes[move // BOARD_CELLS].piece)
        self.turn = 1 - self.turn

    def position(self) -> np.ndarray:
        cells = frozenset(self.cells[0]), frozenset(self.cells[1])
        owned = frozenset(self.owned[0]), frozenset(self.owned[1])
        return self.variant.position(cells, owned, self.turn)


class Moves:
    """Lists the moves of positions of one variant."""

    def __init__(self, variant: BlokboxVariant) -> None:
        self.variant = variant
        self.workspace = new_placement_workspace(variant, 1)
        self.shapes = np.arange(len(variant.shapes))
        self.buffer = np.zeros(len(variant.shapes) * BOARD_CELLS, np.int64)

    def __call__(self, position: np.ndarray, player: int) -> set[int]:
        tables = self.variant.tables
        live, total = placements(tables, position, player, self.shapes, len(self.shapes), self.workspace, 0)
        n = list_moves(self.workspace, 0, live, self.buffer)
        assert n == total
        return set(self.buffer[:n].tolist())


@pytest.mark.parametrize("variant", [small_variant(), wide_variant()], ids=["small", "wide"])
def test_random_matches_agree_with_naive_rules(variant: BlokboxVariant) -> None:
    """Moves of both players and whole positions are those of the naive rules, ply by ply to the end."""
    rng = random.Random(5)
    moves = Moves(variant)
    for _ in range(6):
        game = NaiveGame.start(variant)
        position = variant.start.copy()
        while True:
            for player in (0, 1):
                assert moves(position, player) == game.legal(player)
            assert (position == game.position()).all()
            legal = sorted(game.legal(game.turn))
            if not legal:
                break
            move = rng.choice(legal)
            game.play(move)
            play(variant.tables, position, move)
        assert int(position[TURN]) == game.turn


def naive_perft(game: NaiveGame, depth: int) -> int:
    legal = game.legal(game.turn)
    if depth == 1:
        return len(legal)
    leaves = 0
    for move in legal:
        child = NaiveGame(game.variant, [set(c) for c in game.cells], [set(p) for p in game.owned], game.turn)
        child.play(move)
        leaves += naive_perft(child, depth - 1)
    return leaves


def count_leaves(variant: BlokboxVariant, depth: int) -> int:
    moves = np.zeros((depth, len(variant.shapes) * BOARD_CELLS), np.int64)
    return int(perft(variant.tables, variant.start, depth, new_placement_workspace(variant, depth), moves))


def test_perft_counts_what_naive_rules_count() -> None:
    """Perft from the start agrees with enumeration by the naive rules."""
    variant = small_variant()
    for depth in (1, 2, 3):
        assert count_leaves(variant, depth) == naive_perft(NaiveGame.start(variant), depth)


def expected(game: NaiveGame) -> tuple[float, float]:
    """The first player's chance to win, and the mean number of plies, of random matches from here."""
    legal = game.legal(game.turn)
    if not legal:
        # Who cannot move has lost.
        return float(game.turn), 0.0
    results = []
    for move in legal:
        child = NaiveGame(game.variant, [set(c) for c in game.cells], [set(p) for p in game.owned], game.turn)
        child.play(move)
        results.append(expected(child))
    return sum(won for won, _ in results) / len(legal), 1 + sum(plies for _, plies in results) / len(legal)


def test_playouts_are_random_matches() -> None:
    """On a board small enough to try all matches, shares of wins and lengths are those of random moves."""
    pieces: list[list[Cell]] = [[(0, 0)], [(0, 0), (1, 0)], [(0, 0), (0, 1)]]
    shapes = tuple(shape(index, cells, 4, 4) for index, cells in enumerate(pieces))
    variant = BlokboxVariant(
        4, 4, shapes, (frozenset({0, 1, 2}), frozenset({0, 1})), (frozenset({(0, 0)}), frozenset({(3, 2)}))
    )
    chance, length = expected(NaiveGame.start(variant))
    assert 0.1 < chance < 0.9
    n = 20_000
    workspace = new_placement_workspace(variant, 2)
    won, plies = playouts(variant.tables, variant.start, n, workspace, np.array([7], np.uint64))
    assert won / n == pytest.approx(chance, abs=5 * 0.5 / n**0.5)
    assert plies / n == pytest.approx(length, abs=5 * len(shapes) / n**0.5)


def test_shapes_must_stay_on_the_board() -> None:
    """An anchor that pushes a cell off the board is refused when the tables are made."""
    bad = Shape(0, ((0, 0), (1, 0)), frozenset({(3, 0)}))
    variant = BlokboxVariant(4, 4, (bad,), (frozenset({0}), frozenset({0})), (frozenset(), frozenset()))
    with pytest.raises(ValueError, match="leaves the board"):
        _ = variant.tables
