"""`GeneralSearch` plays compiled games of two players: by alpha-beta or tree search, whichever does better."""

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
from agent.search.defence import Defence, defended
from agent.search.engine import START_SECONDS, UNLIMITED, Engine, Limit, Opinion, Report, Score, StopFlag, limited
from agent.search.evaluation.features import find_features
from agent.search.evaluation.network import NetworkEvaluation, linear_evaluation
from agent.search.evaluation.training import Trainer
from agent.search.learning.memory import SheetMemory
from agent.search.learning.selfplay import play_match
from agent.search.pvs.analysis import PvsAnalyser
from agent.search.pvs.engine import AlphaBetaSearch, CannotSearchError
from agent.search.subgames.division import find_subgames
from agent.search.subgames.engine import SubgameSearch
from agent.search.team import Team
from agent.search.tree.engine import TreeSearch, tree_memory
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine, Term
from games.roles import are_two_players

MOST_SECONDS = 60.0
"""Longest preparation. People who set long start clocks should not have to wait."""
GLANCE_SHARE = 0.05
"""Share of the time for a glance by tree search, which proves small games at once."""
LATE_SHARE = 0.3
"""Share of a turn for learning, where the start clock was too short for it."""
COUNTING_SHARE = 0.25
"""Share of a lost turn for finding out which move loses latest; the rest is for which one is hardest to answer."""
ALPHA_BETA_SECONDS, TREE_SECONDS, IMPROVE_SECONDS = 0.5, 1.5, 4.0
"""While others think: seconds of a search by alpha-beta or by tree search, then of learning or trial matches, and so
on. More for tree search, since its tree lasts for turns to come."""


class GeneralSearch(Engine):
    """Alpha-beta or tree search for one role of a game for two.

    During the start clock it learns an evaluation and tries it out in matches of both searches (see `preparation`).
    While others think it goes on, until the evaluation is good and the choice certain. `threads` defaults to the number
    of cores; `memory` holds what was learnt in earlier matches; a `team` searches the same states elsewhere; `whole` is
    whether the game is no part of another, which may end before a lost part does; other options are those of
    `TreeSearch`.
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
        whole: bool = True,
        **options: Any,
    ) -> None:
        random = Random(seed)
        threads = threads or len(os.sched_getaffinity(0))
        self._machine, self._role = machine, role
        self._team = team
        self._tree = TreeSearch(machine, role, threads=threads, seed=random.getrandbits(63), **options)
        self._alpha_beta: AlphaBetaSearch | None = None
        self._threads = threads
        self._preparation = Preparation(machine, threads=threads, seed=random.getrandbits(63), memory=memory, team=team)
        self._defence = Defence(machine, role) if whole else None
        self._preparing: threading.Thread | None = None
        self._halt = np.zeros(1, np.uint8)
        """Stop flag of that thread."""
        self._state = machine.initial()
        self.name, self.reason = "alpha-beta or tree search", f"{self._tree.reason}; trial matches decide which"

    def begin(self, state: State) -> None:
        self._state = state
        self._tree.begin(state)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._state = state
        self._tree.advance(joint_move, state)

    def prepare(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        final = self._get_ready(stop, report, min(limit.seconds or START_SECONDS, MOST_SECONDS), trial=True)
        # The match may begin now; searching goes on until the first turn.
        self.uses_start_clock = False
        if not final:
            self._search(stop, report, limit)

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        if limit.exact:
            # Learning and trial matches depend on time: they are left out where the result must not.
            self._search(stop, report, limit)
            return
        if limit.seconds is None or len(self._machine.legal(self._state, self._role)) == 1:
            self._ponder(stop, report)
            return
        end = time.monotonic() + limit.seconds
        if self._get_ready(stop, report, LATE_SHARE * limit.seconds, trial=False):
            return
        if not self._improvable:
            self._search(stop, report, limit)
            return
        # The answer leaves then; the time until the next turn may be used otherwise.
        with limited(stop, end - time.monotonic()) as halt:
            self._search(halt, report, limit)
            goes_on = bool(halt[0])
        if goes_on:
            self._ponder(stop, report)

    @property
    def _improvable(self) -> bool:
        """Whether learning or trial matches may still change how the game is played."""
        return self._preparation.immature or self._preparation.undecided

    def _ponder(self, stop: StopFlag, report: Report) -> None:
        """Searches and improves the search by turns, while nobody waits for an answer."""
        while not stop[0]:
            if not self._improvable:
                self._search(stop, report, UNLIMITED)
                return
            seconds = ALPHA_BETA_SECONDS if self._preparation.prefers_alpha_beta else TREE_SECONDS
            with limited(stop, seconds) as halt:
                self._search(halt, report, UNLIMITED)
                # A search that ends by itself has nothing left to find out.
                goes_on = bool(halt[0])
            if not goes_on:
                return
            end = time.monotonic() + IMPROVE_SECONDS
            if self._may_prepare(stop, end):
                self._start(self._preparation.improve)
                self._finish(stop, end)

    def _search(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        self._defended(lambda take: self._find_best(stop, take, limit), stop, report, limit)

    def _defended(self, search: Callable[[Report], None], stop: StopFlag, report: Report, limit: Limit) -> bool:
        """Runs a search as `defended` does; returns whether it had a last word."""
        last = defended(self._defence, search, self._state, stop, report, limit)
        return last is not None and last.final

    def _find_best(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        """Searches by alpha-beta or tree search until nothing is left to prove."""
        if stop[0]:
            return
        preparation = self._preparation
        if preparation.prefers_alpha_beta and preparation.evaluation is not None:
            alpha_beta = self._alpha_beta_for(preparation.evaluation)
            self.name, self.reason = alpha_beta.name, alpha_beta.reason
            try:
                alpha_beta.think(stop, report, limit)
                return
            except CannotSearchError:
                pass
        self.name, self.reason = self._tree.name, self._tree_reason()
        self._tree.draw(preparation.draws)
        proven: Opinion | None = None

        def take(opinion: Opinion) -> None:
            nonlocal proven
            if opinion.final and self._ends(opinion.score):
                proven = opinion
                if self._loses(opinion.score):
                    # Which move loses latest is worth the rest of the turn.
                    opinion = replace(opinion, final=False)
            report(opinion)

        self._tree.think(stop, take, limit)
        # A win is played at once: counting its plies is for parts of a game, and for pages, as long as the turn lasts.
        if proven is not None and not stop[0] and (self._loses(proven.score) or limit.seconds is not None):
            self._count_plies(proven, stop, report, limit)

    def _ends(self, score: Score | None) -> bool:
        """Whether a score is a proven win or loss of which alpha-beta can count the plies."""
        goals = self._machine.game.goals[self._role]
        known = score is not None and score.proven and bool(goals) and self._preparation.can_count_plies
        return known and score is not None and score.goal in (min(goals), max(goals))

    def _loses(self, score: Score | None) -> bool:
        return score is not None and score.goal == min(self._machine.game.goals[self._role])

    def _count_plies(self, proven: Opinion, stop: StopFlag, report: Report, limit: Limit) -> None:
        """Looks for the soonest win or the latest loss where tree search has proven the result.

        To tree search all winning moves are alike, and all losing ones. A part of a game that is won late may be won
        too late; of moves that are equally hard to answer the one that loses latest is played.
        """
        evaluation, best = self._preparation.evaluation, proven
        assert evaluation is not None
        assert proven.score is not None
        goal, lost = proven.score.goal, self._loses(proven.score)
        seconds = None
        if lost and self._defence is not None and limit.seconds is not None:
            seconds = COUNTING_SHARE * limit.seconds

        def take(opinion: Opinion) -> None:
            nonlocal best
            score = opinion.score
            # In a lost position any move may be taken; in a won one, what is not proven may lose.
            if score is not None and (lost or (score.proven and score.goal == self._machine.goal_scale.most)):
                best = replace(opinion, score=Score(goal, proven=True, plies=score.plies), final=not lost)
                report(best)

        with contextlib.suppress(CannotSearchError), limited(stop, seconds) as halt:
            self._alpha_beta_for(evaluation).think(halt, take, limit)
        if not stop[0]:
            report(replace(best, final=True))

    def _alpha_beta_for(self, evaluation: NetworkEvaluation) -> AlphaBetaSearch:
        """Alpha-beta with this evaluation, at the present state."""
        if self._alpha_beta is None:
            self._alpha_beta = self._preparation.alpha_beta(self._role, threads=self._threads, team=self._team)
        self._alpha_beta.use(evaluation)
        self._alpha_beta.begin(self._state)
        return self._alpha_beta

    def _tree_reason(self) -> str:
        """Why tree search plays."""
        preparation = self._preparation
        if preparation.suits is False:
            return "the rules are compiled to a circuit, and do not suit alpha-beta"
        if preparation.evaluation is None:
            return f"{self._tree.reason}; no evaluation for alpha-beta is learnt (yet)"
        return "alpha-beta with the evaluation that was learnt did worse in trial matches"

    def _get_ready(self, stop: StopFlag, report: Report, seconds: float, *, trial: bool) -> bool:
        """Prepares for at most `seconds`, if that is worth while; returns whether an opinion is final.

        In a thread of its own, since some steps do not end within 5 ms of `stop`. An earlier thread in such a step is
        waited for, within the same time.
        """
        if not self._preparation.worth_while:
            return False
        end = time.monotonic() + seconds
        if self._defended(lambda take: self._glance(stop, take, GLANCE_SHARE * seconds), stop, report, UNLIMITED):
            return True
        if self._may_prepare(stop, end):
            self._prepare(stop, end, trial=trial)
        return False

    def _may_prepare(self, stop: StopFlag, end: float) -> bool:
        """Waits for the preparing thread until `stop` or `end` (`time.monotonic`); returns whether a new one may
        start."""
        self._wait(stop, end)
        return not stop[0] and self._preparing is None

    def _prepare(self, stop: StopFlag, end: float, *, trial: bool) -> None:
        seconds = end - time.monotonic()
        self._start(lambda halt: self._preparation.run(self._state, seconds, halt, trial=trial))
        self._finish(stop, end)

    def _start(self, work: Callable[[StopFlag], None]) -> None:
        """Starts a thread for work that ends by itself, or a while after its stop flag is set."""
        self._halt = np.zeros(1, np.uint8)
        self._preparing = threading.Thread(target=work, args=(self._halt,), name="preparation", daemon=True)
        self._preparing.start()

    def _finish(self, stop: StopFlag, end: float) -> None:
        """Waits for the preparing thread until `stop` or `end` (`time.monotonic`), then sets its stop flag."""
        self._wait(stop, end)
        self._halt[0] = 1

    def _glance(self, stop: StopFlag, report: Report, seconds: float) -> None:
        """Searches the tree for a first opinion."""
        with limited(stop, seconds) as halt:
            self._tree.think(halt, report, Limit(seconds))

    def _wait(self, stop: StopFlag, end: float) -> None:
        """Waits until the preparing thread ends, `stop` is set, or `end` (`time.monotonic`)."""
        while self._preparing is not None and not stop[0] and time.monotonic() < end:
            self._preparing.join(0.002)
            if not self._preparing.is_alive():
                self._preparing = None


def make_engine(
    machine: StateMachine, role: int, memory: SheetMemory | None = None, team: Team | None = None
) -> Engine | None:
    """The engine for a compiled game of two players without chance; None for any other.

    A game that falls apart gets one for each part, without memory and helpers.
    """
    if not isinstance(machine, CircuitMachine) or not are_two_players(machine.roles):
        return None
    whole = partial(GeneralSearch, machine, role, memory=memory, team=team)
    subgames = find_subgames(machine)
    if not subgames:
        return whole()
    share = tree_memory() // (len(subgames) + 1)
    parts = [(part, GeneralSearch(part.machine, role, whole=False, memory_bytes=share)) for part in subgames]
    return SubgameSearch(machine, role, parts, whole)


def warm_kernels(machine: CircuitMachine) -> None:
    """Compiles the kernels of alpha-beta and of learning in this process, or loads them from the cache."""
    root, stop = machine.pack(machine.initial()), np.zeros(1, np.uint8)
    features = find_features(machine)
    searcher = PvsAnalyser(machine, features, megabytes=1).searchers[0]
    searcher.analyse(root, stop, lambda verdict: None, 2)
    movers = np.zeros(4, np.int8)
    rng, states, scores = np.ones(1, np.uint64), np.zeros((4, machine.words), np.uint64), np.zeros(4, np.int64)
    play_match(searcher.game, searcher.game, root, 1, 0, 0, rng, states, movers, scores, stop)
    trainer = Trainer(features, machine.words, 1, 1)
    trainer.add(root[None], movers[:1], scores[:1])
    trained = trainer.trained(linear_evaluation(np.zeros(features.n), 0.0), 1, stop)
    assert trained is not None
    trainer.expected(trained, root[None], movers[:1])
    trainer.features_of(root[None])
