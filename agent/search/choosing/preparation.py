"""What happens while the start clock runs: is the game one for alpha-beta, learn its evaluation, try it out."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from functools import partial
from random import Random

import numpy as np
from numpy.typing import NDArray

from agent.search.choosing.match_series import TRIAL_MEMORY
from agent.search.choosing.recollection import Recollection
from agent.search.choosing.tree_choice import TreeChoice
from agent.search.choosing.trial import CLEAR_LEAD, DECISIVE_LEAD, Trials
from agent.search.choosing.variants import VariantTrials
from agent.search.engine import StopFlag, limited
from agent.search.evaluation import fit
from agent.search.evaluation.features import Features, find_features
from agent.search.evaluation.logistic import LogisticEvaluation
from agent.search.learning.first_evaluation import fit_fluents, fit_patterns
from agent.search.learning.learner import Learner
from agent.search.learning.memory import SheetMemory
from agent.search.learning.ties import symmetries_of
from agent.search.pvs.engine import TABLE_MEGABYTES, AlphaBetaSearch, CannotSearchError
from agent.search.pvs.simultaneous import SimultaneousSearch
from agent.search.pvs.survey import survey
from agent.search.team import Team
from games.gdl.running.machine import CircuitMachine
from games.gdl.running.serialise import serialise, widen
from games.machine import State

log = logging.getLogger(__name__)

FIT_SHARE = 0.08
"""Share of the time for the fit to random play. Set by hand; not tuned."""
PARTS = ((0.2, 0.12), (0.3, 0.18))
"""Shares of the time for learning, and for matches against tree search after it, one part after the other: what is
clear after the first one need not be tried again. Of 21 games, prepared for twice in 8 s on one core, alpha-beta was
clearly behind by then in one that it lost altogether later on, both times, and once each in two that are even; where it
won all matches later on it had lost none."""
FORESIGHT_SHARE, FORESIGHT_SECONDS = 0.1, 0.5
"""Of the time for learning, and at most how long it is looked at how much more than random playouts the evaluation
foresees. Set by hand; not tuned."""
FORESIGHT_POINTS, MOST_PRIOR = 10.0, 3.0
"""Points that alpha-beta is expected to be ahead by for each unit by which its evaluation's correlation with results is
higher, and at most. Set by hand: it is 0.1 to 0.35 higher in games of races, in which alpha-beta wins all, about even
in connect four, pentago and others where it got 0.25 to 0.88 of tree search (4 to 6 matches at 1 s a move), and 0.1 to
0.4 lower in amazons, squares and two boards of connect four, where it loses most."""
VARIANTS_SHARE, VARIANTS_END = 0.5, 0.9
"""Share of the time for matches of tree search against itself, where it is to play, and when they end at the latest, as
a share, too. Hardly any game takes so much. Set by hand; not tuned."""
VARIANT_MATCHES = 6
"""So many of them should come to their end: more of them tell more than longer ones. Set by hand; not tuned."""
GAIN_SHARE = 0.08
"""Share of the time for what is to be expected of variants. Set by hand; not tuned."""
FEW_GENERATIONS = 3
"""Fewer learnt evaluations are too few. Set by hand; not tuned."""
MANY_GENERATIONS = 32
"""So many are enough, if they were made in one match. Set by hand; not tuned."""
QUICK_FEATURES = 1500
"""Up to so many features a fit takes less than a second: it may still go on when the turn begins."""


class Preparation:
    """Finds out which search plays a two-player game, and with which evaluation."""

    def __init__(
        self,
        machine: CircuitMachine,
        role: int,
        *,
        threads: int,
        seed: int,
        memory: SheetMemory | None = None,
        team: Team | None = None,
    ) -> None:
        """`role` is the one that is to be played, `memory` what earlier matches have left, and where to leave something
        for later ones; a `team` plays matches to learn from."""
        self._machine, self._role = machine, role
        self.searched = machine
        """The game that alpha-beta searches: another one where both players choose at once (see `simultaneous`)."""
        self._threads = threads
        self._team = team
        self._random = Random(seed)
        self._trainer: fit.EvaluationTrainer | None = None
        self._learner: Learner | None = None
        self._lock = threading.Lock()
        self.features: Features | None = None
        """What evaluations are made of; None before the first one."""
        self.suits: bool | None = None
        """Whether alpha-beta can play the game; None as long as that is not known."""
        self._told: tuple[int, bool] | None = None
        """Generations, and whether alpha-beta is to play, that the log has last."""
        self.trees = TreeChoice(machine, threads=threads, random=self._random)
        """How tree search plays the game."""
        self.trials = Trials(
            machine, self._alpha_beta_for_trials, self.trees.make, threads=threads, random=self._random
        )
        # What patterns weigh has no keys.
        known = memory if len(machine.game.fluents) <= fit.MAX_FLUENTS else None
        self._recollection = Recollection(known, self.trials, self.trees.variants)
        self._improved = 0
        """How often `improve` has done something."""

    @property
    def evaluation(self) -> LogisticEvaluation | None:
        """The best evaluation so far; None before the first one."""
        return self._learner.evaluation if self._learner is not None else None

    @property
    def generations(self) -> int:
        """Evaluations that were learnt, also in earlier matches, not counting the fit to random play."""
        return self._recollection.generations + (self._learner.generations if self._learner is not None else 0)

    @property
    def prefers_alpha_beta(self) -> bool:
        """Whether alpha-beta is to play: where it can, and is as far ahead of tree search as is needed."""
        if not self.suits or self.features is None or self.evaluation is None:
            return False
        return self.trials.lead >= self._needed_lead(self.features)

    @property
    def can_count_plies(self) -> bool:
        """Whether alpha-beta can say how soon a match is won or lost: not where both players choose at once."""
        return bool(self.suits) and self.evaluation is not None and self.searched is self._machine

    def _needed_lead(self, features: Features) -> float:
        """Points that alpha-beta has to be ahead, whose evaluation is made of these features.

        Without a match none are enough where it is `_ignorant`, or where an evaluation is only of patterns: such games
        are slow to learn. Where both players choose at once it has to lead, as it takes the other one to see what it
        cannot see.
        """
        if self.trials.matches == 0 and (self._ignorant or features.shares is not None):
            return math.inf
        return max(self.trials.needed_lead, 0.0 if self.searched is self._machine else CLEAR_LEAD)

    @property
    def _ignorant(self) -> bool:
        """Whether a slow game has left no time to learn from anything but random play, nor for a match.

        Alpha-beta lost seven of eight matches then, at 0.6 to 1 s a move: in amazons on a torus and two kinds of chess.
        """
        return self.trials.too_slow and self.generations == 0 and self.trials.matches == 0

    @property
    def worth_while(self) -> bool:
        """Whether `run` may still make a difference: alpha-beta is not out of the question, and has learnt little."""
        return self.suits is not False and not self.trials.lost and self.generations < FEW_GENERATIONS

    @property
    def immature(self) -> bool:
        """Whether alpha-beta plays, with an evaluation that is likely to become better by learning on."""
        if not self.prefers_alpha_beta or self.features is None or self.features.n > QUICK_FEATURES:
            return False
        return self.generations < MANY_GENERATIONS

    @property
    def undecided(self) -> bool:
        """Whether more matches may show that the other search is the better one, or that tree search, if it plays, is
        better in another way."""
        return self._choice_undecided or bool(self._undecided_variants)

    @property
    def _choice_undecided(self) -> bool:
        return bool(self.suits) and self.evaluation is not None and self.trials.undecided

    @property
    def _undecided_variants(self) -> list[VariantTrials]:
        known = self.suits is not None and not self.trials.too_slow
        return self.trees.undecided if known and not self.prefers_alpha_beta else []

    def run(self, state: State, seconds: float, stop: StopFlag, *, trial: bool = True) -> None:
        """Does all that is left to do, in about so many seconds; ends a second after `stop` at the latest.

        Where anything fails, the log says so, and alpha-beta is out of the question.
        """
        self._attempt(lambda: self._run(state, seconds, stop, trial=trial))

    def improve(self, stop: StopFlag) -> None:
        """Uses the time until `stop`, after `run`: learns on where the evaluation is immature, and finds out which
        search is the better one where that is undecided, by turns. Ends and fails as `run` does."""
        self._attempt(lambda: self._improve(stop))

    def _attempt(self, work: Callable[[], None]) -> None:
        try:
            with self._lock:
                work()
        except Exception:
            log.exception("alpha-beta cannot be prepared")
            self.suits = False

    def _run(self, state: State, seconds: float, stop: StopFlag, *, trial: bool) -> None:
        begin = time.monotonic()
        if self.suits is None:
            self.suits = self._examine()
        # Alpha-beta is compared with tree search as it would play.
        self._expect(GAIN_SHARE * seconds, stop)
        if self.suits:
            self._prepare_alpha_beta(state, seconds, stop, trial=trial)
        if trial:
            end = min(time.monotonic() + VARIANTS_SHARE * seconds, begin + VARIANTS_END * seconds)
            undecided = self._undecided_variants
            for i, trials in enumerate(undecided):
                if not stop[0]:
                    now = time.monotonic()
                    self._try_variant(trials, now + (end - now) / (len(undecided) - i), stop)
        self._tell()
        self._keep()

    def _prepare_alpha_beta(self, state: State, seconds: float, stop: StopFlag, *, trial: bool) -> None:
        begin = time.monotonic()
        if self._learner is None:
            self._recall()
        self._fit(state, FIT_SHARE * seconds, stop)
        if self._learner is None or stop[0]:
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
                # Where nothing could be learnt by now there is not much to come.
                hopeless = self.trials.matches > 0 and self.trials.lost and self.generations == 0
                if hopeless or abs(self.trials.lead) >= CLEAR_LEAD:
                    break
        if trial and self.trials.lead >= CLEAR_LEAD and not stop[0]:
            self._learn(state, begin + (FIT_SHARE + sum(map(sum, PARTS))) * seconds - time.monotonic(), stop)

    def _improve(self, stop: StopFlag) -> None:
        self._expect(math.inf, stop)
        works: list[Callable[[], None]] = []
        if self._choice_undecided:
            works.append(lambda: self._try_out(math.inf, stop, DECISIVE_LEAD))
        for trials in self._undecided_variants:
            works.append(partial(self._try_variant, trials, math.inf, stop))
        if self._learner is not None and self.suits and (self.immature or self._ignorant or not works):
            works.append(lambda: self._learn(self._machine.initial(), math.inf, stop))
        if works:
            works[self._improved % len(works)]()
            self._improved += 1
        self._tell()
        self._keep()

    def _expect(self, seconds: float, stop: StopFlag) -> None:
        """Looks for about so many seconds at most at what is to be expected of variants, if they matter."""
        if self._undecided_variants:
            self.trees.expect(seconds, stop)

    def _try_variant(self, trials: VariantTrials, end: float, stop: StopFlag) -> None:
        """Finds out whether tree search should search in another way, until `end` (`time.monotonic`) at most; nothing
        where that is too soon for a few matches."""
        seconds = self.trials.time_for_a_move(VARIANT_MATCHES, end, stop)
        # To measure that may have shown that tree search is too slow.
        if seconds > 0.0 and trials in self._undecided_variants:
            with limited(stop, end - time.monotonic()) as halt:
                self.trees.try_out(trials, seconds, halt)

    def _tell(self) -> None:
        """Logs what is known by now, where that is new."""
        if self._learner is None:
            return
        news = self._learner.generations, self.prefers_alpha_beta
        if news != self._told:
            self._told = news
            log.info(
                "alpha-beta: %d generations, %d of them better, from %d matches; "
                "%.1f of %d points against tree search, %+.1f ahead by what it foresees",
                self._learner.generations,
                self._learner.accepted,
                self._learner.matches,
                self.trials.points,
                self.trials.matches,
                self.trials.prior,
            )

    def _recall(self) -> None:
        """Takes the evaluation of earlier matches for the first one, if there is one."""
        found = self._recollection.recall(self.searched, self._random)
        if found is not None:
            learner = self._make_learner(found.features, found.evaluation, self._recollection.generations)
            self.features, self._learner = found.features, learner
            if found.experience is not None:
                learner.resume(found.experience)

    def _keep(self) -> None:
        """Remembers what was learnt for later matches."""
        if self._learner is not None and self.features is not None:
            self._recollection.keep(self.searched, self.features, self._learner)

    def _make_learner(self, features: Features, start: LogisticEvaluation, earlier: int = 0) -> Learner:
        seed = self._random.getrandbits(63)
        # Patterns of facts have no symmetries.
        symmetries = symmetries_of(self.searched) if features.shares is None else ()
        return Learner(
            self.searched,
            features,
            start,
            earlier=earlier,
            threads=self._threads,
            seed=seed,
            symmetries=symmetries,
            # It plays the game itself.
            team=self._team if self.searched is self._machine else None,
        )

    def _examine(self) -> bool:
        """Whether alpha-beta can play the game, as it stands or as if one player saw what the other one chooses."""
        found = survey(self._machine, self._random.getrandbits(32))
        if found is not None:
            self.trials.plies, self.trials.branching = found.plies, found.branching
        if found is None or found.turns or not found.opposed:
            return found is not None and found.suits
        serial = serialise(self._machine, self._role)
        found = survey(serial, self._random.getrandbits(32)) if serial is not None else None
        if serial is None or found is None or not found.suits:
            return False
        self.searched = serial
        # What is kept of a game would have to say for which role.
        self._recollection.drop()
        return True

    def _fit(self, state: State, seconds: float, stop: StopFlag) -> None:
        """The first evaluation, from random play."""
        if self._learner is not None:
            return
        end = time.monotonic() + seconds
        large = len(self.searched.game.fluents) > fit.MAX_FLUENTS
        start = None
        if not large:
            # What is stopped goes on later.
            self._trainer = self._trainer or fit.EvaluationTrainer(self.searched, self._random.getrandbits(63))
            start = fit_fluents(self._trainer, self._root(state), end, stop)
            if start is None:
                if not stop[0]:
                    self.suits = False
                return
            self._trainer = None
        features = find_features(self.searched, self._random.getrandbits(63))
        weights = np.zeros(features.n)
        if start is not None:
            weights[: len(start.weights)] = start.weights
        learner = self._make_learner(features, LogisticEvaluation(weights, 0.0 if start is None else start.bias))
        if start is None:
            fit_patterns(self.searched, learner, self._random, end, stop)
            if stop[0]:
                return
        self.features, self._learner = features, learner

    def _learn(self, state: State, seconds: float, stop: StopFlag) -> None:
        assert self._learner is not None
        looking = min(FORESIGHT_SHARE * seconds, FORESIGHT_SECONDS)
        with limited(stop, seconds - looking) as halt:
            self._learner.run(self._root(state), halt)
        foresight = self._learner.foresight
        foresight.play_out(looking, stop)
        if self.searched is self._machine:
            # Else tree search knows of another game, in which both choose at once.
            expected = FORESIGHT_POINTS * foresight.advantage
            self.trials.prior = min(max(expected, -MOST_PRIOR), MOST_PRIOR)

    def _root(self, state: State) -> NDArray[np.uint64]:
        """A state of the game, packed, as alpha-beta sees it."""
        return self.searched.pack(widen(self.searched, state))

    def _try_out(self, end: float, stop: StopFlag, lead: float) -> None:
        """See `Trials.play`."""
        assert self._learner is not None
        roles = (0, 1) if self.searched is self._machine else (self._role,)
        plies = self._learner.plies
        if plies is not None:
            # Random matches are much longer, or shorter. Where both choose at once a turn is two plies there.
            self.trials.plies = plies if self.searched is self._machine else plies / 2
        try:
            self.trials.play(roles, end, stop, lead)
        except CannotSearchError:
            self.suits = False

    def _alpha_beta_for_trials(self, role: int) -> AlphaBetaSearch:
        return self.alpha_beta(role, threads=1, megabytes=TRIAL_MEMORY >> 20)

    def alpha_beta(
        self, role: int, *, threads: int, megabytes: int = TABLE_MEGABYTES, team: Team | None = None
    ) -> AlphaBetaSearch:
        """A search for a role with the best evaluation so far; there has to be one. Where both players choose at once,
        only for the role that is to be played, and without a team."""
        evaluation, features = self.evaluation, self.features
        assert evaluation is not None
        assert features is not None
        found: AlphaBetaSearch
        if self.searched is self._machine:
            found = AlphaBetaSearch(self._machine, role, features, threads=threads, megabytes=megabytes, team=team)
        else:
            assert role == self._role
            found = SimultaneousSearch(self.searched, role, features, threads=threads, megabytes=megabytes)
        found.use(evaluation)
        return found
