"""A preparation without any time, and trial matches with scripted results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from agent.search.choosing.preparation import Preparation
from agent.search.engine import Engine, StopFlag


def run(preparation: Preparation, stop: Sequence[int] | StopFlag = (0,), *, trial: bool = True) -> None:
    """Prepares without any time for learning and trial matches."""
    machine = preparation._machine
    preparation.run(machine.initial(), 0.0, np.array(stop, np.uint8), trial=trial)


class FakeMatch:
    """A trial match with a scripted result."""

    void = False

    def __init__(self, play: Callable[[Sequence[Engine]], float | None]) -> None:
        self._play = play
        self._engines: Sequence[Engine] = ()

    def __call__(
        self, machine: object, root: object, engines: Sequence[Engine], seconds: float, random: object
    ) -> FakeMatch:
        match = FakeMatch(self._play)
        match._engines = engines
        return match

    def play(self, stop: object) -> float | None:
        """The first engine's share."""
        return self._play(self._engines)


def role_of_alpha_beta(engines: Sequence[Engine]) -> int:
    """The role that alpha-beta plays."""
    return 0 if engines[0].name == "alpha-beta" else 1
