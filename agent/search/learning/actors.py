"""Self-play on helpers, from which the engine learns.

One learner and many actors, as in distributed reinforcement learning (Espeholt et al. 2018): helpers receive each new
evaluation, and send positions and targets. Those of matches not yet sent are lost with a helper.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.search.engine import StopFlag
from agent.search.evaluation.features import Features
from agent.search.evaluation.network import NetworkEvaluation
from agent.search.learning.episodes import Episode, SelfPlay
from agent.search.pvs.workspace import NOBODY
from agent.search.team import Assistant, Setting, Team
from games.gdl.running.machine import CircuitMachine
from games.machine import State


@dataclass(frozen=True, eq=False)
class Players:
    """Settings of the players."""

    evaluation: NetworkEvaluation
    depth: int
    """Plies searched by both sides."""


@dataclass(frozen=True, eq=False)
class Episodes:
    """Episodes of a helper's matches that have ended since its last answer."""

    matches: tuple[Episode, ...]

    def fits(self, words: int) -> bool:
        """Whether it belongs to a game with packed states of that many words, and is well-formed."""
        return all(
            states.dtype == np.uint64
            and states.shape == (len(targets), words)
            and movers.dtype == np.int8
            and movers.shape == targets.shape
            and bool(((movers >= 0) & (movers <= NOBODY)).all())
            and bool(((targets >= 0) & (targets <= 1)).all())
            and plies > 0
            for states, movers, targets, plies in self.matches
        )


@dataclass(frozen=True, eq=False)
class SelfPlaySetting(Setting):
    """Has helpers play matches."""

    features: Features
    players: Players
    """The first ones; others follow as notes."""

    def assistant(self, machine: CircuitMachine, role: int, rank: int) -> Assistant:
        return SelfPlayAssistant(self, machine)


class SelfPlayAssistant(Assistant):
    """Plays matches on one core."""

    def __init__(self, setting: SelfPlaySetting, machine: CircuitMachine) -> None:
        self._machine = machine
        # Each helper plays other matches, also when asked again.
        chosen = np.random.default_rng()
        zobrist = chosen.integers(0, 1 << 64, len(machine.game.fluents), np.uint64)
        self._table = SelfPlay(machine, setting.features, int(chosen.integers(1 << 62)), zobrist)
        self._players = setting.players
        self._root = machine.pack(machine.initial())
        self._played: deque[Episode] = deque()

    def begin(self, state: State) -> None:
        self._root = self._machine.pack(state)

    def think(self, stop: StopFlag) -> None:
        seated: NetworkEvaluation | None = None
        while not stop[0]:
            players = self._players
            if players.evaluation is not seated:
                seated = players.evaluation
                for player in (0, 1):
                    self._table.set_evaluation(player, seated)
            episode = self._table.record(self._root, players.depth, stop)
            if episode is not None:
                self._played.append(episode)

    def answer(self) -> Episodes | None:
        episodes = _emptied(self._played)
        return Episodes(tuple(episodes)) if episodes else None

    def take(self, note: object) -> None:
        if isinstance(note, Players):
            self._players = note


class Actors:
    """A learner's helpers; does nothing without a team."""

    def __init__(self, team: Team | None, machine: CircuitMachine, features: Features) -> None:
        self._team = team
        self._machine = machine
        self._features = features
        self._setting: SelfPlaySetting | None = None
        self._players: Players | None = None
        self._told: Players | None = None
        """The newest players sent to helpers."""
        self._heard: deque[Episode] = deque()

    @property
    def size(self) -> int:
        """Number of helpers at work."""
        return 0 if self._team is None else self._team.size

    @contextmanager
    def playing(self, root: NDArray[np.uint64], evaluation: NetworkEvaluation, depth: int) -> Iterator[None]:
        """Has helpers play matches from a packed state during the context."""
        team = self._team
        if team is None:
            yield
            return
        self.go_by(evaluation, depth)
        assert self._players is not None
        if self._setting is None:
            self._setting = SelfPlaySetting(self._features.for_search, self._players)
        self._told = self._setting.players
        with team.searching(self._setting, self._machine.unpack(root), self._hear):
            yield

    def go_by(self, evaluation: NetworkEvaluation, depth: int) -> None:
        """Has helpers play by this evaluation, searching that many plies."""
        now = self._players
        if now is None or now.evaluation is not evaluation or now.depth != depth:
            self._players = Players(evaluation, depth)

    def episodes(self) -> list[Episode]:
        """Removes and returns the episodes received."""
        return _emptied(self._heard)

    def _hear(self, answer: object) -> Players | None:
        if not isinstance(answer, Episodes) or not answer.fits(self._machine.words):
            return None
        self._heard.extend(answer.matches)
        players = self._players
        if players is self._told:
            return None
        self._told = players
        return players


def _emptied(episodes: deque[Episode]) -> list[Episode]:
    """Removes and returns all episodes, while other threads may add some."""
    return [episodes.popleft() for _ in range(len(episodes))]
