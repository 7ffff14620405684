"""Memory of a game during a preparation: what to recall from earlier matches and to keep for later ones. Never
fails."""

from __future__ import annotations

import logging
from functools import partial
from random import Random
from typing import NamedTuple

from agent.search.choosing.trials import Trials
from agent.search.evaluation.features import Features, find_features
from agent.search.evaluation.network import NetworkEvaluation
from agent.search.learning.learner import Experience, Learner
from agent.search.learning.memory import MemoryEntry, SheetMemory
from games.gdl.running.machine import CircuitMachine

log = logging.getLogger(__name__)

KEPT_MATCHES = 16
"""Matches learnt from that are worth writing the memory again."""


class Recalled(NamedTuple):
    """Knowledge of a game before learning."""

    features: Features
    evaluation: NetworkEvaluation
    experience: Experience | None
    """For the next fit; None if it does not fit."""


class Recollection:
    """The memory of a game during one preparation."""

    def __init__(self, memory: SheetMemory | None, trials: Trials) -> None:
        """Without a memory, nothing is recalled or kept."""
        self._memory = memory
        self._trials = trials
        self._entry: MemoryEntry | None = None
        """The entry recalled."""
        self._kept = (0, 0, 0)
        """Generations and trial matches in the stored entry, and this learner's matches behind it."""

    @property
    def generations(self) -> int:
        """Evaluations learnt one after the other up to the recalled one; 0 without one."""
        return self._entry.generations if self._entry is not None else 0

    def recall(self, machine: CircuitMachine, random: Random) -> Recalled | None:
        """Returns the stored knowledge of the game; trial matches continue from the stored results. None if
        there is nothing, or nothing that fits."""
        memory, fluents = self._memory, machine.game.fluents
        try:
            entry = memory.read() if memory is not None else None
            if memory is None or entry is None:
                return None
            features = find_features(machine, random.getrandbits(63), partial(memory.pairs, entry, fluents))
            evaluation = memory.evaluation(entry, fluents, features, machine.game.always)
            experience = memory.experience(entry, fluents)
        except Exception:
            log.exception("nothing is remembered")
            return None
        if evaluation is None:
            log.warning("what is remembered does not fit the facts of the game")
            return None
        self._entry = entry
        self._trials.recall(entry.trials)
        self._kept = entry.generations, self._trials.matches, 0
        log.info(
            "remembered: %d generations, from %d matches; %.1f of %d points against tree search",
            entry.generations,
            entry.matches,
            *entry.trials,
        )
        return Recalled(features, evaluation, experience)

    def keep(self, machine: CircuitMachine, features: Features, learner: Learner) -> None:
        """Stores the learner's results, if enough is new."""
        if self._memory is None:
            return
        generations = self.generations + learner.generations
        news = generations, self._trials.matches, learner.matches
        if news[:2] == self._kept[:2] and learner.matches < self._kept[2] + KEPT_MATCHES:
            return
        earlier = self._entry.matches if self._entry is not None else 0
        try:
            self._memory.keep(
                machine.game.fluents,
                features,
                learner.evaluation,
                learner.experience,
                generations=generations,
                matches=earlier + learner.matches,
                trials=self._trials.tally,
            )
            self._kept = news
        except Exception as error:
            log.warning("what was learnt cannot be kept: %s", error)
