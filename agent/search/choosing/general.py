"""`GeneralSearch`: what plays compiled games of two players: alpha-beta or tree search, whichever does better."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np

from agent.search.choosing.preparation import Preparation
from agent.search.engine import START_SECONDS, Engine, Opinion, Report, StopFlag, limited
from agent.search.evaluation.logistic import LogisticEvaluation
from agent.search.learning.memory import SheetMemory
from agent.search.pvs.engine import AlphaBetaSearch, CannotSearchError
from agent.search.subgames import SubgameSearch
from agent.search.team import Team
from agent.search.tree.assistant import TreeSetting
from agent.search.tree.engine import MEMORY_BYTES, TreeSearch
from games.gdl.running.machine import CircuitMachine
from games.gdl.structure.subgames import find_subgames
from games.machine import State, StateMachine, Term
from games.roles import is_random_role

MOST_SECONDS = 60.0
"""Longer start clocks are not used up: whoever has set them for people should not wait. Set by hand; not tuned."""
GLANCE_SHARE = 0.05
"""Share of the time before preparing for tree search, which proves small games at once. Set by hand; not tuned."""
LATE_SHARE = 0.3
"""Share of a turn's time for learning where the start clock was too short for it. Set by hand; not tuned."""
ALPHA_BETA_SECONDS, TREE_SECONDS, IMPROVE_SECONDS = 0.5, 1.5, 4.0
"""While others think: how long is searched, by alpha-beta or by tree search, before that time is used for learning or
for trial matches, where little is known; and how long that lasts before a search has its turn again. Longer by tree
search: what it finds lasts for turns to come. Set by hand; not tuned."""
SAME_GOAL = 0.01
"""Goals that differ by less are the same, but for rounding."""


class GeneralSearch(Engine):
    """Alpha-beta or tree search for one role of a game for two.

    While the start clock runs an evaluation is learnt, and tried out in matches of both searches (see
    `pvs.preparation`). It goes on learning and trying out while others think, until the evaluation is a good one and
    the choice is certain. `threads` is the number of cores if it is None, `memory` what earlier matches of the game
    have left, `team` searches the same states elsewhere, and `race` is whether what wins soon is better than what wins
    late, as where something else may end the match before; further options are those of `TreeSearch`.
    """

    uses_start_clock = True

    def __init__(
        self,
        machine: CircuitMachine,
        role: int,
        *,
        threads: int | None = None,
        seed: int | None = None,
        memory: SheetMemory | None = None,
        team: Team | None = None,
        race: bool = False,
        **options: Any,
    ) -> None:
        random = Random(seed)
        threads = threads or len(os.sched_getaffinity(0))
        self._machine, self._role = machine, role
        self._team, self._race = team, race
        self._tree = TreeSearch(
            machine, role, threads=threads, seed=random.getrandbits(63), team=team, setting=TreeSetting(), **options
        )
        self._alpha_beta: AlphaBetaSearch | None = None
        self._threads = threads
        self._preparation = Preparation(
            machine, role, threads=threads, seed=random.getrandbits(63), memory=memory, team=team
        )
        self._preparing: threading.Thread | None = None
        self._halt = np.zeros(1, np.uint8)
        """Stops it."""
        self._state = machine.initial()
        self.name, self.reason = self._tree.name, self._tree.reason

    def begin(self, state: State) -> None:
        self._state = state
        self._tree.begin(state)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._state = state
        self._tree.advance(joint_move, state)

    def prepare(self, stop: StopFlag, report: Report, seconds: float | None) -> None:
        proven = self._get_ready(stop, report, min(seconds or START_SECONDS, MOST_SECONDS), trial=True)
        # The match may begin: what could be learnt is learnt, and searching goes on until the first turn.
        self.uses_start_clock = False
        if not proven:
            self._search(stop, report, seconds)

    def think(self, stop: StopFlag, report: Report, seconds: float | None) -> None:
        if seconds is None or len(self._machine.legal(self._state, self._role)) == 1:
            self._ponder(stop, report)
            return
        end = time.monotonic() + seconds
        if self._get_ready(stop, report, LATE_SHARE * seconds, trial=False):
            return
        if not self._improvable:
            self._search(stop, report, seconds)
            return
        # The answer leaves then; what is left until the next turn is the others'.
        with limited(stop, end - time.monotonic()) as halt:
            self._search(halt, report, seconds)
            goes_on = bool(halt[0])
        if goes_on:
            self._ponder(stop, report)

    @property
    def _improvable(self) -> bool:
        """Whether there is something better to do with time that nobody waits for than to search."""
        return self._preparation.immature or self._preparation.undecided

    def _ponder(self, stop: StopFlag, report: Report) -> None:
        """Searches, and finds out how to search better by turns, while nobody waits for an answer."""
        while not stop[0]:
            if not self._improvable:
                self._search(stop, report, None)
                return
            seconds = ALPHA_BETA_SECONDS if self._preparation.prefers_alpha_beta else TREE_SECONDS
            with limited(stop, seconds) as halt:
                self._search(halt, report, None)
                # Else there is nothing left to find out.
                goes_on = bool(halt[0])
            if not goes_on:
                return
            end = time.monotonic() + IMPROVE_SECONDS
            if self._may_prepare(stop, end):
                self._start(self._preparation.improve)
                self._finish(stop, end)

    def _search(self, stop: StopFlag, report: Report, seconds: float | None) -> None:
        if stop[0]:
            return
        preparation = self._preparation
        if preparation.prefers_alpha_beta and preparation.evaluation is not None:
            alpha_beta = self._alpha_beta_for(preparation.evaluation)
            self.name, self.reason = alpha_beta.name, alpha_beta.reason
            try:
                alpha_beta.think(stop, report, seconds)
                if not alpha_beta.helpless:
                    return
            except CannotSearchError:
                pass
        self.name, self.reason = self._tree.name, self._tree_reason()
        preparation.trees.tune(self._tree)
        settled: Opinion | None = None

        def take(opinion: Opinion) -> None:
            nonlocal settled
            if self._plies_matter(opinion):
                settled, opinion = opinion, opinion.unproven()
            report(opinion)

        self._tree.think(stop, take, seconds)
        if settled is not None and not stop[0]:
            self._count_plies(settled, stop, report, seconds)

    def _plies_matter(self, opinion: Opinion) -> bool:
        """Whether an opinion of tree search is a proof that is not all there is to say, and alpha-beta can say more."""
        goals = self._machine.game.goals[self._role]
        if not (opinion.proven and goals and self._preparation.can_count_plies):
            return False
        ends = (min(goals), max(goals)) if self._race else (min(goals),)
        return any(opinion.value is not None and abs(opinion.value - end) < SAME_GOAL for end in ends)

    def _count_plies(self, settled: Opinion, stop: StopFlag, report: Report, seconds: float | None) -> None:
        """Looks for the move that loses latest, or wins soonest, where tree search has proven that the role does.

        To tree search all such moves are alike. Who has lost may still win against somebody who does not see it, the
        more so the longer it takes.
        """
        evaluation, best = self._preparation.evaluation, settled
        assert evaluation is not None
        assert settled.value is not None
        lost = settled.value < min(self._machine.game.goals[self._role]) + SAME_GOAL

        def take(opinion: Opinion) -> None:
            nonlocal best
            # Of the moves of who has lost any may be taken; else what is not proven may lose.
            if lost or (opinion.proven and opinion.value == 100):
                best = replace(opinion, value=settled.value)
                report(best)

        with contextlib.suppress(CannotSearchError):
            self._alpha_beta_for(evaluation).think(stop, take, seconds)
        if not stop[0]:
            report(replace(best, proven=True))

    def _alpha_beta_for(self, evaluation: LogisticEvaluation) -> AlphaBetaSearch:
        """Alpha-beta with an evaluation, at the present state."""
        if self._alpha_beta is None:
            self._alpha_beta = self._preparation.alpha_beta(self._role, threads=self._threads, team=self._team)
        self._alpha_beta.use(evaluation)
        self._alpha_beta.begin(self._state)
        return self._alpha_beta

    def _tree_reason(self) -> str:
        """Why it is tree search that plays."""
        preparation = self._preparation
        if preparation.suits is False:
            return "the rules are compiled to a circuit, and are none that alpha-beta suits"
        if preparation.evaluation is None or preparation.features is None:
            return f"{self._tree.reason}; no evaluation for alpha-beta is learnt (yet)"
        if self._alpha_beta is not None and self._alpha_beta.helpless:
            return "alpha-beta finds no move that the other player, if it saw it, could not answer with a win"
        return "alpha-beta with the evaluation that was learnt did worse in trial matches"

    def _get_ready(self, stop: StopFlag, report: Report, seconds: float, *, trial: bool) -> bool:
        """Prepares for so many seconds at most, if that is worth while; returns whether that has proven a move.

        In a thread of its own, as some steps go on for longer than a search may after `stop`. One that is still in such
        a step is waited for, within the same time.
        """
        if not self._preparation.worth_while:
            return False
        end = time.monotonic() + seconds
        if self._glance(stop, report, GLANCE_SHARE * seconds):
            return True
        if self._may_prepare(stop, end):
            self._prepare(stop, end, trial=trial)
        return False

    def _may_prepare(self, stop: StopFlag, end: float) -> bool:
        """Waits for the thread that prepares, until `stop` or `end` (`time.monotonic`); whether a new one may begin."""
        self._wait(stop, end)
        return not stop[0] and self._preparing is None

    def _prepare(self, stop: StopFlag, end: float, *, trial: bool) -> None:
        seconds = end - time.monotonic()
        self._start(lambda halt: self._preparation.run(self._state, seconds, halt, trial=trial))
        self._finish(stop, end)

    def _start(self, work: Callable[[StopFlag], None]) -> None:
        """Has a thread do what ends by itself or, a while after it is told to, by its own stop flag."""
        self._halt = np.zeros(1, np.uint8)
        self._preparing = threading.Thread(target=work, args=(self._halt,), name="preparation", daemon=True)
        self._preparing.start()

    def _finish(self, stop: StopFlag, end: float) -> None:
        """Tells the thread to end, at `stop` or at `end` (`time.monotonic`), if it has not by then."""
        self._wait(stop, end)
        self._halt[0] = 1

    def _glance(self, stop: StopFlag, report: Report, seconds: float) -> bool:
        """Tree search for so many seconds, for a first opinion; returns whether that is proven."""
        proven = False

        def take(opinion: Opinion) -> None:
            nonlocal proven
            proven |= opinion.proven
            report(opinion)

        with limited(stop, seconds) as halt:
            self._tree.think(halt, take, seconds)
        return proven

    def _wait(self, stop: StopFlag, end: float) -> None:
        """Waits for the thread that prepares until it ends, or until `stop` or `end` (`time.monotonic`)."""
        while self._preparing is not None and not stop[0] and time.monotonic() < end:
            self._preparing.join(0.002)
            if not self._preparing.is_alive():
                self._preparing = None


def make_engine(
    machine: StateMachine, role: int, memory: SheetMemory | None = None, team: Team | None = None
) -> Engine | None:
    """The engine for a compiled game of two players, nature being none; None for any other.

    One for each part where the game falls apart; those neither remember nor have helpers, and race: whichever part is
    won first may end the match.
    """
    if not isinstance(machine, CircuitMachine) or len(machine.roles) != 2 or any(map(is_random_role, machine.roles)):
        return None
    whole = partial(GeneralSearch, machine, role, memory=memory, team=team)
    subgames = find_subgames(machine, 1)
    if not subgames:
        return whole()
    share = MEMORY_BYTES // (len(subgames) + 1)
    parts = [(part, GeneralSearch(part.machine, role, race=True, memory_bytes=share)) for part in subgames]
    return SubgameSearch(machine, role, parts, whole)
