"""The built-in players `random` and `legal`, in the referee's own process."""

from __future__ import annotations

import random
from collections.abc import Sequence

from agent.refereeing.local_player import LocalPlayer
from games.machine import State, Term


class FirstMove(LocalPlayer):
    """Plays the first legal move."""

    timed = False

    async def choose(self, legal: Sequence[Term], state: State) -> Term:
        return legal[0]


class RandomMove(LocalPlayer):
    """Plays a random legal move."""

    timed = False

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    async def choose(self, legal: Sequence[Term], state: State) -> Term:
        return self._random.choice(legal)
