"""Choice of tree search's variants for a game of two."""

from __future__ import annotations

import logging
from random import Random

from agent.search.choosing.guided_playouts import gain_by_averages
from agent.search.choosing.match_series import TRIAL_MEMORY
from agent.search.choosing.variants import MORE_EXPLORATION, MOVE_AVERAGES, VariantTrials
from agent.search.engine import StopFlag
from agent.search.tree.engine import TreeSearch
from games.gdl.running.machine import CircuitMachine

log = logging.getLogger(__name__)

GAIN_SECONDS, LEAST_GAIN_SECONDS = 1.0, 0.1
"""Limits on the seconds of measuring the gain of move averages. In gomoku on 15x15 cells 0.55 shows after 0.4 s, 0.65
later."""
MUCH_GAIN, GAIN_PRIOR = 0.6, 3.0
"""Gain, as a share of all points, from which playouts choose by move averages before any match, and the points of lead
that it counts for: two lost matches outweigh it. Tuned: 75 and 79 % of the points above this gain, 48 % below (see
docs/experiments.md)."""


class TreeChoice:
    """Which variants of tree search a game wants."""

    def __init__(self, machine: CircuitMachine, *, threads: int, random: Random) -> None:
        """Plays trial matches on that many threads."""
        self._machine, self._random = machine, random
        self.variants = tuple(
            VariantTrials(machine, variant, self.make, threads=threads, random=random)
            for variant in (MOVE_AVERAGES, MORE_EXPLORATION)
        )
        """Earlier ones are used in the trial matches of later ones."""
        self._gain: float | None = None
        """Gain of move averages (see `guided_playouts`); None until known."""

    @property
    def undecided(self) -> list[VariantTrials]:
        """Variants that need more matches."""
        return [one for one in self.variants if one.undecided]

    def tune(self, tree: TreeSearch) -> None:
        """Sets tree search to the chosen variants; not while it thinks."""
        for trials in self.variants:
            trials.variant.use(tree, trials.used)

    def make(self, role: int, random: Random) -> TreeSearch:
        """Returns tree search for a role, as it plays trial matches."""
        tree = TreeSearch(self._machine, role, threads=1, memory_bytes=TRIAL_MEMORY, seed=random.getrandbits(63))
        self.tune(tree)
        return tree

    def expect(self, seconds: float, stop: StopFlag) -> None:
        """Measures once the gain of move averages, for about that many seconds at most."""
        averages = next(one for one in self.variants if one.variant is MOVE_AVERAGES)
        if self._gain is not None or not averages.undecided or seconds < LEAST_GAIN_SECONDS:
            return
        seconds = min(seconds, GAIN_SECONDS)
        self._gain = gain_by_averages(self.make, self._machine.initial(), seconds, stop, self._random)
        if self._gain is not None:
            averages.prior = GAIN_PRIOR if self._gain >= MUCH_GAIN else 0.0
            log.info("tree search: %+.2f of the points by move averages in playouts", self._gain)

    def try_out(self, trials: VariantTrials, seconds: float, stop: StopFlag) -> None:
        """Plays matches of a variant, with that many seconds a move, until `stop` or until its test is decided."""
        before = trials.matches
        trials.play(seconds, stop)
        if trials.matches > before:
            log.info("tree search: %.1f of %d points with %s", trials.points, trials.matches, trials.variant.name)
