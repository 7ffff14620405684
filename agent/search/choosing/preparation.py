"""Preparation of a match while the start clock runs: examine the game, learn an evaluation, try it out."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from functools import partial
from random import Random

import numpy as np

from agent.search.choosing.trials import CLEAR_LEAD, DECISIVE_LEAD, TRIAL_MEMORY, Trials, gain_by_averages
from agent.search.engine import StopFlag, limited
from agent.search.evaluation.features import MAX_FLUENTS, Features, find_features
from agent.search.evaluation.network import NetworkEvaluation, linear_evaluation
from agent.search.learning.first_evaluation import imitate_random_play
from agent.search.learning.learner import Learner
from agent.search.learning.memory import MemoryEntry, SheetMemory
from agent.search.pvs.engine import TABLE_MEGABYTES, AlphaBetaSearch, CannotSearchError
from agent.search.pvs.survey import survey
from agent.search.team import Team
from agent.search.tree.engine import TreeSearch
from agent.search.tree.move_averages import DRAWS
from games.gdl.running.machine import CircuitMachine
from games.machine import State

log = logging.getLogger(__name__)

FIT_SHARE = 0.08
"""Share of the time for the fit to random play."""
PARTS = ((0.2, 0.12), (0.3, 0.18))
"""Shares of the time for learning, and for matches against tree search after it, in two parts: a clear result of the
first makes the second needless (see docs/experiments.md)."""
GAIN_SHARE, GAIN_SECONDS, LEAST_GAIN_SECONDS = 0.08, 1.0, 0.1
"""Share of the time for measuring the gain of move averages, and limits on the seconds. In gomoku on 15x15 cells 0.55
shows after 0.4 s, 0.65 later."""
MUCH_GAIN = 0.6
"""Gain, as a share of all points, from which playouts choose by move averages: they bring 75 and 79 % of the points
above it, 48 % below (see docs/experiments.md)."""
FEW_GENERATIONS = 3
"""Least number of learnt evaluations worth trusting."""
MANY_GENERATIONS = 32
"""Number of learnt evaluations that is enough."""
KEPT_MATCHES = 16
"""Matches learnt from that are worth writing the memory again."""
MOST_FIT_SECONDS, KEEP_SECONDS, TRIAL_SHARE = 5.0, 10.0, 0.1
"""Of `study`: limit on the fit to random play, seconds between two writes of the memory, share of the time for trial
matches."""
QUICK_FEATURES = 1500
"""Limit on features of a fit that takes less than a second: it may continue when the turn begins."""


class Preparation:
    """Finds out which search plays a two-player game, and with which evaluation."""

    def __init__(
        self,
        machine: CircuitMachine,
        *,
        threads: int,
        seed: int,
        memory: SheetMemory | None = None,
        team: Team | None = None,
    ) -> None:
        """`memory` holds the results of earlier matches and takes those of this one; a `team` plays matches to learn
        from."""
        self._machine = machine
        self._threads = threads
        self._team = team
        self._random = Random(seed)
        self.learner: Learner | None = None
        """The learner, with the best evaluation so far; None before the first one."""
        self._lock = threading.Lock()
        self.suits: bool | None = None
        """Whether alpha-beta can play the game; None until known."""
        self._told: tuple[int, bool] | None = None
        """Generations and preference as last logged."""
        self.draws = 1
        """Moves that playouts of tree search draw to play the best of (see `TreeSearch.draw`)."""
        self._measured = False
        """Whether the gain of move averages is known."""
        self.trials = Trials(
            machine, self._alpha_beta_for_trials, self._tree_for_trials, threads=threads, random=self._random
        )
        # Weights of patterns have no keys.
        self._memory = memory if len(machine.game.fluents) <= MAX_FLUENTS else None
        self._earlier: MemoryEntry | None = None
        """The memory of earlier matches, as it was recalled."""
        self._kept = (0, 0, 0)
        """Generations and trial matches in the stored entry, and this learner's matches behind it."""
        self._improved = 0
        """Number of `improve`'s steps."""

    @property
    def evaluation(self) -> NetworkEvaluation | None:
        """The best evaluation so far; None before the first one."""
        return self.learner.evaluation if self.learner is not None else None

    @property
    def generations(self) -> int:
        """Evaluations learnt, also in earlier matches, without the fit to random play."""
        earlier = self._earlier.generations if self._earlier is not None else 0
        return earlier + (self.learner.generations if self.learner is not None else 0)

    @property
    def matches(self) -> int:
        """Matches learnt from, without those of earlier preparations."""
        return self.learner.matches if self.learner is not None else 0

    @property
    def prefers_alpha_beta(self) -> bool:
        """Whether alpha-beta is to play: it can, and its lead over tree search is large enough."""
        if not self.suits or self.learner is None:
            return False
        return self.trials.lead >= self._needed_lead(self.learner.features)

    @property
    def can_count_plies(self) -> bool:
        """Whether alpha-beta can tell how soon a match is won or lost."""
        return bool(self.suits) and self.evaluation is not None

    def _needed_lead(self, features: Features) -> float:
        """Returns the lead in points that alpha-beta needs with an evaluation of these features.

        Without a match no lead is enough if it is `_ignorant`, or if the evaluation is only of patterns: such games are
        slow to learn.
        """
        if self.trials.matches == 0 and (self._ignorant or features.shares is not None):
            return math.inf
        return self.trials.needed_lead

    @property
    def _ignorant(self) -> bool:
        """Whether a slow game left no time for a trial match, nor for learning beyond random play (see
        docs/experiments.md)."""
        return self.trials.too_slow and self.generations == 0 and self.trials.matches == 0

    @property
    def worth_while(self) -> bool:
        """Whether `run` may still make a difference: alpha-beta is possible, and has learnt little."""
        return self.suits is not False and not self.trials.lost and self.generations < FEW_GENERATIONS

    @property
    def immature(self) -> bool:
        """Whether alpha-beta plays with an evaluation that will probably improve by learning."""
        learner = self.learner
        if learner is None or not self.prefers_alpha_beta or learner.features.n > QUICK_FEATURES:
            return False
        return learner.evaluation.linear and self.generations < MANY_GENERATIONS

    @property
    def undecided(self) -> bool:
        """Whether more matches may change the choice, or it is not known how tree search's playouts draw."""
        alpha_beta = bool(self.suits) and self.evaluation is not None and self.trials.undecided
        return alpha_beta or not (self._measured or self.prefers_alpha_beta)

    def run(self, state: State, seconds: float, stop: StopFlag, *, trial: bool = True) -> None:
        """Does the remaining work in about that many seconds; ends within a second after `stop`.

        Errors are logged and rule out alpha-beta.
        """
        self._attempt(lambda: self._run(state, seconds, stop, trial=trial))

    def improve(self, stop: StopFlag) -> None:
        """Uses the time until `stop`, after `run`: learns while the evaluation is immature and plays trial matches
        while the choice is undecided, alternately. Ends and fails as `run` does."""
        self._attempt(lambda: self._improve(stop))

    def study(self, seconds: float, stop: StopFlag, told: Callable[[Learner], None]) -> bool:
        """Learns for that many seconds or until `stop`, then plays trial matches anew with what was learnt.

        Keeps all of it, also on the way. Calls `told` after each generation. Returns whether the game can be learnt.
        """
        end = time.monotonic() + seconds
        with self._lock:
            if self.suits is None:
                self.suits = self._examine()
            if not self.suits:
                return False
            root = self._machine.initial()
            self._recall()
            self._fit(FIT_SHARE * min(seconds, MOST_FIT_SECONDS / FIT_SHARE), stop)
            learner = self.learner
            if learner is None:
                return bool(stop[0])
            # Those of an evaluation that is worse by now would count.
            self.trials.recall((0.0, 0))
            kept = time.monotonic()

            def hear() -> None:
                nonlocal kept
                told(learner)
                if time.monotonic() > kept + KEEP_SECONDS:
                    self._keep()
                    kept = time.monotonic()

            with limited(stop, (1 - TRIAL_SHARE) * (end - time.monotonic())) as halt:
                learner.run(self._machine.pack(root), halt, hear)
            self._keep()
            self._try_out(end, stop, DECISIVE_LEAD)
            self._keep()
        return True

    def _attempt(self, work: Callable[[], None]) -> None:
        try:
            with self._lock:
                work()
        except Exception:
            log.exception("alpha-beta cannot be prepared")
            self.suits = False

    def _run(self, state: State, seconds: float, stop: StopFlag, *, trial: bool) -> None:
        if self.suits is None:
            self.suits = self._examine()
        # Before the trials: alpha-beta must face tree search as it would play.
        self._choose_draws(GAIN_SHARE * seconds, stop)
        if self.suits:
            self._prepare_alpha_beta(state, seconds, stop, trial=trial)
        self._tell()
        self._keep()

    def _prepare_alpha_beta(self, state: State, seconds: float, stop: StopFlag, *, trial: bool) -> None:
        begin = time.monotonic()
        if self.learner is None:
            self._recall()
        self._fit(FIT_SHARE * seconds, stop)
        if self.learner is None or stop[0]:
            return
        end = begin + FIT_SHARE * seconds
        for learning, trying in PARTS:
            end += learning * seconds
            self._learn(state, end - time.monotonic(), stop)
            if stop[0]:
                break
            if trial:
                end += trying * seconds
                self._try_out(end, stop, CLEAR_LEAD)
                # If nothing was learnt by now, little will be.
                hopeless = self.trials.matches > 0 and self.trials.lost and self.generations == 0
                if hopeless or abs(self.trials.lead) >= CLEAR_LEAD:
                    break
        if trial and self.trials.lead >= CLEAR_LEAD and not stop[0]:
            self._learn(state, begin + (FIT_SHARE + sum(map(sum, PARTS))) * seconds - time.monotonic(), stop)

    def _improve(self, stop: StopFlag) -> None:
        self._choose_draws(GAIN_SECONDS, stop)
        works: list[Callable[[], None]] = []
        if self.trials.undecided and self.learner is not None and self.suits:
            works.append(lambda: self._try_out(math.inf, stop, DECISIVE_LEAD))
        if self.learner is not None and self.suits and (self.immature or self._ignorant or not works):
            works.append(lambda: self._learn(self._machine.initial(), math.inf, stop))
        if works:
            works[self._improved % len(works)]()
            self._improved += 1
        self._tell()
        self._keep()

    def _choose_draws(self, seconds: float, stop: StopFlag) -> None:
        """Measures once the gain of move averages, for about that many seconds at most, where tree search may play."""
        if self._measured or self.prefers_alpha_beta or seconds < LEAST_GAIN_SECONDS:
            return
        seconds = min(seconds, GAIN_SECONDS)
        gain = gain_by_averages(self._tree_for_trials, self._machine.initial(), seconds, stop, self._random)
        self._measured = not stop[0]
        if gain is not None:
            self.draws = DRAWS if gain >= MUCH_GAIN else 1
            log.info("tree search: %+.2f of the points by move averages in playouts", gain)

    def _tell(self) -> None:
        """Logs the results if they are new."""
        if self.learner is None:
            return
        news = self.learner.generations, self.prefers_alpha_beta
        if news != self._told:
            self._told = news
            log.info(
                "alpha-beta: %d generations, %d of them better, from %d matches; %.1f of %d points against tree search",
                self.learner.generations,
                self.learner.accepted,
                self.learner.matches,
                self.trials.points,
                self.trials.matches,
            )

    def _recall(self) -> None:
        """Takes over what earlier matches taught, if there is something that fits. Never fails."""
        memory, fluents = self._memory, self._machine.game.fluents
        try:
            entry = memory.read() if memory is not None else None
            if memory is None or entry is None:
                return
            features = find_features(self._machine, partial(memory.pairs, entry, fluents))
            evaluation = memory.evaluation(entry, fluents, features, self._machine.game.always)
            experience = memory.experience(entry, fluents)
        except Exception:
            log.exception("nothing is remembered")
            return
        if evaluation is None:
            log.warning("what is remembered does not fit the facts of the game")
            return
        self._earlier = entry
        self.trials.recall(entry.trials)
        self._kept = entry.generations, self.trials.matches, 0
        self.learner = self._make_learner(features, evaluation, entry.generations)
        if experience is not None:
            self.learner.resume(experience)
        log.info(
            "remembered: %d generations, from %d matches; %.1f of %d points against tree search",
            entry.generations,
            entry.matches,
            *entry.trials,
        )

    def _keep(self) -> None:
        """Stores the results for later matches, if enough is new. Never fails."""
        learner, trials = self.learner, self.trials
        if learner is None or self._memory is None:
            return
        news = self.generations, trials.matches, learner.matches
        if news[:2] == self._kept[:2] and learner.matches < self._kept[2] + KEPT_MATCHES:
            return
        earlier = self._earlier.matches if self._earlier is not None else 0
        try:
            self._memory.keep(
                self._machine.game.fluents,
                learner.features,
                learner.evaluation,
                learner.experience,
                generations=self.generations,
                matches=earlier + learner.matches,
                trials=trials.tally,
            )
            self._kept = news
        except Exception as error:
            log.warning("what was learnt cannot be kept: %s", error)

    def _make_learner(self, features: Features, start: NetworkEvaluation, earlier: int = 0) -> Learner:
        seed = self._random.getrandbits(63)
        return Learner(
            self._machine,
            features,
            start,
            earlier=earlier,
            threads=self._threads,
            seed=seed,
            team=self._team,
        )

    def _examine(self) -> bool:
        """Whether alpha-beta can play the game."""
        found = survey(self._machine)
        if found is not None:
            self.trials.plies, self.trials.branching = found.plies, found.branching
        return found is not None and found.suits

    def _fit(self, seconds: float, stop: StopFlag) -> None:
        """Sets the first evaluation by random play."""
        if self.learner is not None:
            return
        end = time.monotonic() + seconds
        features = find_features(self._machine)
        learner = self._make_learner(features, linear_evaluation(np.zeros(features.n), 0.0))
        if imitate_random_play(self._machine, learner, self._random, end, stop):
            self.learner = learner
        else:
            self.suits = False

    def _learn(self, state: State, seconds: float, stop: StopFlag) -> None:
        assert self.learner is not None
        if self.learner.lacking:
            # Hours of learning are not improved in seconds.
            return
        with limited(stop, seconds) as halt:
            self.learner.run(self._machine.pack(state), halt)

    def _try_out(self, end: float, stop: StopFlag, lead: float) -> None:
        """Plays trial matches; see `Trials.play`."""
        assert self.learner is not None
        plies = self.learner.plies
        if plies is not None:
            # Random matches have other lengths.
            self.trials.plies = plies
        try:
            self.trials.play(end, stop, lead)
        except CannotSearchError:
            self.suits = False

    def _tree_for_trials(self, role: int, random: Random) -> TreeSearch:
        seed = random.getrandbits(63)
        return TreeSearch(self._machine, role, threads=1, memory_bytes=TRIAL_MEMORY, draws=self.draws, seed=seed)

    def _alpha_beta_for_trials(self, role: int) -> AlphaBetaSearch:
        return self.alpha_beta(role, threads=1, megabytes=TRIAL_MEMORY >> 20)

    def alpha_beta(
        self, role: int, *, threads: int, megabytes: int = TABLE_MEGABYTES, team: Team | None = None
    ) -> AlphaBetaSearch:
        """Returns a search for a role with the best evaluation so far, which must exist."""
        learner = self.learner
        assert learner is not None
        found = AlphaBetaSearch(self._machine, role, learner.features, threads=threads, megabytes=megabytes, team=team)
        found.use(learner.evaluation)
        return found
