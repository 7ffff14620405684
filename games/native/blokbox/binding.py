"""A binding: a rulesheet's facts and moves on the native board."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from games.machine import GameError, Term
from games.native.blokbox.variant import BlokboxVariant, Cell


class BindingError(GameError):
    """Facts or moves that a bound game does not have."""


@dataclass(frozen=True)
class BlokboxBinding:
    """The map from a rulesheet to its variant. Player 0 moves first."""

    variant: BlokboxVariant
    roles: tuple[int, int]
    """Role index of each player."""
    moves: tuple[dict[Term, int], dict[Term, int]]
    """Per player: native moves by the terms of its placements."""
    waiting: tuple[Term, Term]
    """Per player: its move while the other is in control."""
    cells: tuple[dict[Term, Cell], dict[Term, Cell]]
    """Per player: cells by the facts that its colour covers them."""
    owned: tuple[dict[Term, int], dict[Term, int]]
    """Per player: pieces by the facts that it still has them."""
    free: dict[Term, Cell]
    """Cells by the facts that they are empty; {} for sheets without such facts."""
    control: tuple[frozenset[Term], frozenset[Term]]
    """Per player: the other facts that hold while it is in control."""

    @cached_property
    def terms(self) -> tuple[dict[int, Term], dict[int, Term]]:
        """Per player: the rulesheet's terms by native move."""
        first, second = ({move: term for term, move in moves.items()} for moves in self.moves)
        return first, second

    def player(self, role: int) -> int:
        """The player with a role index."""
        return self.roles.index(role)

    def position(self, facts: Iterable[Term]) -> NDArray[np.uint64]:
        """The native position with exactly these facts. Raises `BindingError` where there is none."""
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
        """Per player: starting cells without a changing fact."""
        first, second = (self.variant.starts[player] - set(self.cells[player].values()) for player in (0, 1))
        return first, second
