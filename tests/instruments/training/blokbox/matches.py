"""Matches between tunings of the tree search at equal visits, to measure the gain of a round."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from agent.lab.tally import Tally
from agent.search.blokbox.guiding.tuning import Tuning
from agent.search.blokbox.tree import best_child, clear, grow, new_tree, new_tree_workspace
from games.native.blokbox.rules import list_moves, new_placement_workspace, placements, play
from games.native.blokbox.variant import TURN, BlokboxVariant

OPENING_PLIES = 2
"""Random plies before the players take over; each opening is played twice, with colours exchanged."""

_GO = np.zeros(1, np.uint8)


class MoveChooser(Protocol):
    """Chooses moves."""

    def choose(self, position: NDArray[np.uint64]) -> int:
        """Returns a move in a position that has one."""


class MoveLister:
    """Lists the moves of the player to move."""

    def __init__(self, variant: BlokboxVariant) -> None:
        self._tables = variant.tables
        self._scratch = new_placement_workspace(variant, 1)
        self._shapes = np.arange(len(variant.shapes))
        self._buffer = np.zeros(len(variant.tables.effects), np.int64)

    def moves(self, position: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Returns the moves, as a view that the next call overwrites."""
        player = int(position[TURN])
        live, total = placements(self._tables, position, player, self._shapes, len(self._shapes), self._scratch, 0)
        list_moves(self._scratch, 0, live, self._buffer)
        return self._buffer[:total]


class TreePlayer:
    """Tree search alone, with `visits` visits a move from an empty tree."""

    def __init__(
        self, variant: BlokboxVariant, tuning: Tuning, *, visits: int, capacity: int = 3_000_000, seed: int = 1
    ) -> None:
        self._tables = variant.tables
        self._tuning = tuning
        self._visits = visits
        self._tree = new_tree(capacity)
        self._thread = new_tree_workspace(variant, seed)

    def choose(self, position: NDArray[np.uint64]) -> int:
        clear(self._tree)
        grow(self._tables, position, self._tree, 0, self._tuning, self._visits, _GO, self._thread)
        return int(self._tree.move[best_child(self._tree)])


def compare(variant: BlokboxVariant, first: MoveChooser, second: MoveChooser, *, games: int, seed: int) -> Tally:
    """Plays games, rounded up to pairs with colours exchanged; returns the tally of `first`."""
    rng = np.random.default_rng(seed)
    lister = MoveLister(variant)
    tally = Tally()
    while tally.games < games:
        opening = variant.start.copy()
        for _ in range(OPENING_PLIES):
            if len(moves := lister.moves(opening)):
                play(variant.tables, opening, int(rng.choice(moves)))
        for players in ((first, second), (second, first)):
            position = opening.copy()
            while len(lister.moves(position)):
                play(variant.tables, position, players[int(position[TURN])].choose(position))
            tally = tally.plus(1 if players[1 - int(position[TURN])] is first else -1)
    return tally
