"""The frame of recognition: experiments propose a binding, and random matches verify it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from games.gdl.running.batches import MatchPositions
from games.gdl.running.machine import CircuitMachine

VERIFIED_POSITIONS = 20_000
"""Positions of random matches on which a binding must agree: many whole matches, in a fraction of a second."""

MATCHES_AT_ONCE = 64
"""Matches compared at once: one per lane of a word."""

MOST_PLIES = 200
"""Bound on plies; no match of a family is as long."""

BindingT = TypeVar("BindingT")

Follow: TypeAlias = Callable[[MatchPositions, NDArray[np.bool_], NDArray[np.float64]], bool]
"""Whether native rules follow some matches, given legal moves (bool[positions, moves of all roles]) and goals
(float64[ends, roles])."""


class NotRecognised(Exception):
    """The game is no member of the family; the text tells a person which check failed, and on what."""


@dataclass(frozen=True)
class Recognition(Generic[BindingT]):
    """The recognition of a family's games, by behaviour and never by names."""

    title: str
    propose: Callable[[CircuitMachine], BindingT]
    """The binding by experiments. Raises `NotRecognised`."""
    propose_midway: Callable[[CircuitMachine, CircuitMachine], BindingT]
    """The same for a game that begins in the middle of a match, given the machine freed of its first position."""
    follow: Callable[[CircuitMachine, BindingT], Follow]
    """The comparison of native rules with a circuit. Raises `NotRecognised` where they differ from the outset."""

    def recognise(self, machine: CircuitMachine, *, positions: int = VERIFIED_POSITIONS) -> BindingT | None:
        """The binding of a game of the family, verified on so many positions; None for other games."""
        try:
            return self.bind(machine, positions=positions)
        except NotRecognised:
            return None

    def bind(self, machine: CircuitMachine, *, positions: int = VERIFIED_POSITIONS) -> BindingT:
        """Like `recognise`, but raises `NotRecognised` for other games."""
        try:
            return self._verified(machine, self.propose(machine), positions)
        except NotRecognised:
            if machine.freed is None:
                raise
        return self._verified(machine, self.propose_midway(machine, machine.freed), positions)

    def count_agreeing(self, machine: CircuitMachine, binding: BindingT, positions: int, *, seed: int = 2) -> int:
        """Compares native rules and circuit on random matches until so many positions were compared or one differs.

        Returns how many agree; fewer than `positions` means that one of the next matches did not.
        """
        follow = self.follow(machine, binding)
        agreeing = 0
        while agreeing < positions:
            sample = machine.random_matches(MATCHES_AT_ONCE, seed, max_plies=MOST_PLIES)
            seed += 1
            legal, _ = machine.legal_of(sample.states)
            if not follow(sample, legal, machine.goals_of(sample.states[sample.terminal])):
                break
            agreeing += len(sample.match)
        return agreeing

    def _verified(self, machine: CircuitMachine, binding: BindingT, positions: int) -> BindingT:
        agreeing = self.count_agreeing(machine, binding, positions)
        if agreeing < positions:
            raise NotRecognised(
                f"it looks like {self.title}, but after {agreeing} positions of random matches facts, legal moves, end "
                "or goals differ from the native rules"
            )
        return binding
