"""How tree search plays a game for two: as always, or in one of the ways that some games want."""

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
"""At most and at least how long it is looked at what a role gains in playouts by move averages. Set by hand: in gomoku
on 15x15 cells it still looks like 0.55 after 0.4 s, later 0.65."""
MUCH_GAIN, GAIN_PRIOR = 0.6, 3.0
"""By how much a role has to be ahead in playouts, as a share of all points, for playouts to choose by move averages
before any match, and how many points that counts as: two lost matches outweigh it. Set by hand: in seven games with 0.6
or more move averages got 0.75 of the points of 88 matches at 0.2 s a move, in thirteen with less 0.48 (162); then 0.79
in seven others with 0.6 or more (57 at 0.3 s)."""


class TreeChoice:
    """Which variants of tree search a game wants, as far as is known."""

    def __init__(self, machine: CircuitMachine, *, threads: int, random: Random) -> None:
        """Trial matches are played on so many threads."""
        self._machine, self._random = machine, random
        self.variants = tuple(
            VariantTrials(machine, variant, self.make, threads=threads, random=random)
            for variant in (MOVE_AVERAGES, MORE_EXPLORATION)
        )
        """The first ones decide how it searches in the matches of those that follow."""
        self._gain: float | None = None
        """What a role gains in playouts by move averages (see `guided_playouts`); None as long as that is not known."""

    @property
    def undecided(self) -> list[VariantTrials]:
        """Those of which more matches may tell more."""
        return [one for one in self.variants if one.undecided]

    def tune(self, tree: TreeSearch) -> None:
        """Has tree search go on as the game wants it; not while it thinks."""
        for trials in self.variants:
            trials.variant.use(tree, trials.used)

    def make(self, role: int, random: Random) -> TreeSearch:
        """Tree search for a role, as it plays trial matches."""
        tree = TreeSearch(self._machine, role, threads=1, memory_bytes=TRIAL_MEMORY, seed=random.getrandbits(63))
        self.tune(tree)
        return tree

    def expect(self, seconds: float, stop: StopFlag) -> None:
        """Looks once at what move averages are likely to bring, for about so many seconds at most."""
        averages = next(one for one in self.variants if one.variant is MOVE_AVERAGES)
        if self._gain is not None or not averages.undecided or seconds < LEAST_GAIN_SECONDS:
            return
        seconds = min(seconds, GAIN_SECONDS)
        self._gain = gain_by_averages(self.make, self._machine.initial(), seconds, stop, self._random)
        if self._gain is not None:
            averages.prior = GAIN_PRIOR if self._gain >= MUCH_GAIN else 0.0
            log.info("tree search: %+.2f of the points by move averages in playouts", self._gain)

    def try_out(self, trials: VariantTrials, seconds: float, stop: StopFlag) -> None:
        """Plays matches of a variant, so many seconds a move, until `stop` or until its test is decided."""
        before = trials.matches
        trials.play(seconds, stop)
        if trials.matches > before:
            log.info("tree search: %.1f of %d points with %s", trials.points, trials.matches, trials.variant.name)
