"""`GeneralSearch`: what plays compiled games of two players: alpha-beta or tree search, whichever does better."""

from __future__ import annotations

import os
import threading
import time
from random import Random
from typing import Any

import numpy as np

from agent.search.engine import Engine, Opinion, Report, StopFlag
from agent.search.pvs.engine import AlphaBetaSearch, CannotSearchError
from agent.search.pvs.preparation import Preparation
from agent.search.tree.engine import TreeSearch
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine, Term
from games.roles import is_random_role

START_SECONDS = 10.0
"""What the start clock is taken to be where nobody says."""
LATE_SHARE = 0.3
"""Share of a turn's time for learning where the start clock was too short for it. Set by hand; not tuned."""
FEW_GENERATIONS = 3
"""Fewer learnt evaluations are too few. Set by hand; not tuned."""


class GeneralSearch(Engine):
    """Alpha-beta or tree search for one role of a game for two.

    While the start clock runs an evaluation is learnt, and tried out in matches of both searches (see
    `pvs.preparation`). `threads` is the number of cores if it is None; further options are those of `TreeSearch`.
    """

    uses_start_clock = True

    def __init__(
        self, machine: CircuitMachine, role: int, *, threads: int | None = None, seed: int | None = None, **options: Any
    ) -> None:
        random = Random(seed)
        threads = threads or len(os.sched_getaffinity(0))
        self._machine, self._role = machine, role
        self._tree = TreeSearch(machine, role, threads=threads, seed=random.getrandbits(63), **options)
        self._alpha_beta: AlphaBetaSearch | None = None
        self._threads = threads
        self._preparation = Preparation(machine, threads=threads, seed=random.getrandbits(63))
        self._state = machine.initial()
        self._begun = False
        self.name = self._tree.name

    def begin(self, state: State) -> None:
        self._state = state
        self._tree.begin(state)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._state = state
        self._begun = True
        self._tree.advance(joint_move, state)

    def think(self, stop: StopFlag, report: Report, seconds: float | None) -> None:
        moves = self._machine.legal(self._state, self._role)
        preparation = self._preparation
        if preparation.suits is not False:
            if not self._begun and preparation.generations == 0:
                report(Opinion(moves[0], None))
                self._prepare(stop, seconds or START_SECONDS, trial=True)
            elif seconds is not None and preparation.generations < FEW_GENERATIONS and len(moves) > 1:
                report(Opinion(moves[0], None))
                self._prepare(stop, LATE_SHARE * seconds, trial=False)
            if stop[0]:
                return
        self.uses_start_clock = bool(preparation.suits)
        evaluation, features = preparation.evaluation, preparation.features
        if preparation.prefers_alpha_beta and evaluation is not None and features is not None:
            if self._alpha_beta is None:
                self._alpha_beta = AlphaBetaSearch(self._machine, self._role, features, threads=self._threads)
            self._alpha_beta.use(evaluation)
            self._alpha_beta.begin(self._state)
            self.name = self._alpha_beta.name
            try:
                self._alpha_beta.think(stop, report, seconds)
                return
            except CannotSearchError:
                pass
        self.name = self._tree.name
        self._tree.think(stop, report, seconds)

    def _prepare(self, stop: StopFlag, seconds: float, *, trial: bool) -> None:
        """Prepares in a thread of its own, as that may go on for longer than a search may after `stop`."""
        halt = np.zeros(1, np.uint8)
        arguments = (self._state, seconds, halt)
        thread = threading.Thread(
            target=self._preparation.run, args=arguments, kwargs={"trial": trial}, name="preparation", daemon=True
        )
        thread.start()
        while thread.is_alive() and not stop[0]:
            time.sleep(0.002)
        halt[0] = 1


def make_engine(machine: StateMachine, role: int) -> GeneralSearch | None:
    """The engine for a compiled game of two players, nature being none; None for any other."""
    if isinstance(machine, CircuitMachine) and len(machine.roles) == 2 and not any(map(is_random_role, machine.roles)):
        return GeneralSearch(machine, role)
    return None
