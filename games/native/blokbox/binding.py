"""What a rulesheet's facts and moves mean on the native board."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from games.machine import GameError, Term
from games.native.blokbox.variant import BlokboxVariant, Cell


class BindingError(GameError):
    """Facts or moves that are none of a bound game's."""


@dataclass(frozen=True)
class BlokboxBinding:
    """The map from a rulesheet to its variant. `player` is 0 for who moves first and 1 for the other."""

    variant: BlokboxVariant
    roles: tuple[int, int]
    """The role index of each player."""
    moves: tuple[dict[Term, int], dict[Term, int]]
    """Per player: the moves that place a piece, as native moves."""
    waiting: tuple[Term, Term]
    """Per player: the move of who is not in control."""
    cells: tuple[dict[Term, Cell], dict[Term, Cell]]
    """Per player: the facts that its colour lies on a cell."""
    owned: tuple[dict[Term, int], dict[Term, int]]
    """Per player: the facts that it still has a piece."""
    free: dict[Term, Cell]
    """The facts that nothing lies on a cell, for sheets that say so."""
    control: tuple[frozenset[Term], frozenset[Term]]
    """The other facts that hold while player 0, and player 1, is in control."""

    @cached_property
    def terms(self) -> tuple[dict[int, Term], dict[int, Term]]:
        """Per player: native moves as the rulesheet spells them."""
        first, second = ({move: term for term, move in moves.items()} for moves in self.moves)
        return first, second

    def player(self, role: int) -> int:
        """The player that a role index stands for."""
        return self.roles.index(role)

    def position(self, facts: Iterable[Term]) -> NDArray[np.uint64]:
        """The native position in which exactly these facts are true. Raises `BindingError` where there is none."""
        facts = frozenset(facts)
        lists: list[frozenset[Cell]] = []
        pieces: list[frozenset[int]] = []
        known = 0
        for player in (0, 1):
            own = [cell for fact, cell in self.cells[player].items() if fact in facts]
            held = [piece for fact, piece in self.owned[player].items() if fact in facts]
            known += len(own) + len(held)
            lists.append(frozenset(own) | self.fixed[player])
            pieces.append(frozenset(held))
        used = [len(self.variant.owned[player]) - len(pieces[player]) for player in (0, 1)]
        turn = used[0] - used[1]
        taken = lists[0] | lists[1]
        free = {fact for fact, cell in self.free.items() if cell not in taken}
        if (
            turn not in (0, 1)
            or lists[0] & lists[1]
            or facts & self.free.keys() != free
            or facts & (self.control[0] | self.control[1]) != self.control[turn]
            or known + len(free) + len(self.control[turn]) != len(facts)
        ):
            raise BindingError("these facts are no position of the bound game")
        return self.variant.position((lists[0], lists[1]), (pieces[0], pieces[1]), turn)

    @cached_property
    def fixed(self) -> tuple[frozenset[Cell], frozenset[Cell]]:
        """Per player: starting cells that no changing fact speaks of."""
        first, second = (self.variant.starts[player] - set(self.cells[player].values()) for player in (0, 1))
        return first, second
