"""Matches of searches on very short clocks, by which a preparation chooses the search for a game."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random

from agent.search.engine import Engine, Limit, StopFlag, consider
from agent.search.learning.trial_points import TrialPoints
from agent.search.pvs.survey import MAX_PLIES, share_of_points
from agent.search.tree.engine import TreeSearch
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine, Term, points

OPENING = 4
"""Limit on random plies at the start of a match."""
TRIAL_MEMORY = 1 << 26
"""Bytes of memory for each engine."""


class TrialMatch:
    """A match of two engines that can be interrupted and continued."""

    def __init__(
        self, machine: StateMachine, root: State, engines: tuple[Engine, Engine], seconds: float, random: Random
    ) -> None:
        """Begins at `root`, after some random plies. Engine i plays role i; it thinks for that many seconds a move, and
        not on the opponent's time."""
        self._machine, self._engines, self._seconds = machine, engines, seconds
        self._state = root
        self._plies = 0
        self.void = False
        """Whether there will be no result: the match was over before an engine had to think."""
        for _ in range(random.randint(0, OPENING)):
            state = machine.next(self._state, [random.choice(machine.legal(self._state, role)) for role in (0, 1)])
            if machine.terminal(state) or not all(machine.legal(state, role) for role in (0, 1)):
                self.void = True
                return
            self._state = state
        for engine in engines:
            engine.begin(self._state)

    def play(self, stop: StopFlag) -> float | None:
        """Plays to the end; returns the first engine's share of the points, 0..1.

        None if it is stopped before, or `void`.
        """
        machine = self._machine
        while not self.void and self._plies < MAX_PLIES:
            joint: list[Term] = []
            for role, engine in enumerate(self._engines):
                moves = machine.legal(self._state, role)
                if not moves:
                    self.void = True
                    return None
                joint.append(consider(engine, moves, Limit(self._seconds), stop).move if len(moves) > 1 else moves[0])
                if stop[0]:
                    return None
            self._state = machine.next(self._state, joint)
            self._plies += 1
            if machine.terminal(self._state):
                break
            for engine in self._engines:
                engine.advance(tuple(joint), self._state)
        if self.void:
            return None
        # Longer matches count as they stand.
        first, second = (machine.goal_scale.worth(points(machine.goal(self._state, role))) for role in (0, 1))
        return share_of_points(first, second)


class MatchSeries(ABC):
    """Matches of a tested search against another; interrupted ones continue later."""

    def __init__(
        self,
        machine: CircuitMachine,
        make_tree: Callable[[int, Random], TreeSearch],
        *,
        threads: int,
        random: Random,
    ) -> None:
        """Plays one match per thread at once. `make_tree` makes tree search for a role, within `TRIAL_MEMORY`."""
        self._machine, self._make_tree, self._threads, self._random = machine, make_tree, threads, random
        self.points, self.matches = 0.0, 0
        """Points of the tested search, and number of matches."""
        self.prior = 0.0
        """Points of lead assumed before any match."""
        self._seconds = 0.0
        """Time for a move in new matches."""
        self._begun = 0
        self._lock = threading.Lock()
        self._interrupted: list[tuple[int, TrialMatch]] = []
        """Matches to continue, with the role of the tested search."""

    @property
    def lead(self) -> float:
        """Points by which the tested search leads, with `prior`."""
        return self.prior + 2 * self.points - self.matches

    @property
    def tally(self) -> TrialPoints:
        """Result of the matches."""
        return TrialPoints(self.points, self.matches)

    def _play_on(self, roles: Sequence[int], seconds: float, stop: StopFlag, undecided: Callable[[], bool]) -> None:
        """Plays on all threads, alternating between these roles, until `stop` or no longer `undecided`.

        New matches take that many seconds a move. Raises the errors of engines.
        """
        self._seconds = seconds
        with ThreadPoolExecutor(self._threads, "trial") as pool:
            for done in [pool.submit(self._play_some, roles, stop, undecided) for _ in range(self._threads)]:
                done.result()

    def _play_some(self, roles: Sequence[int], stop: StopFlag, undecided: Callable[[], bool]) -> None:
        while not stop[0]:
            with self._lock:
                if not undecided():
                    break
                role, match = self._interrupted.pop() if self._interrupted else self._next(roles)
            share = match.play(stop)
            with self._lock:
                if share is not None:
                    self.points += share if role == 0 else 1 - share
                    self.matches += 1
                elif not match.void:
                    self._interrupted.append((role, match))
                    break

    def _next(self, roles: Sequence[int]) -> tuple[int, TrialMatch]:
        role = roles[self._begun % len(roles)]
        self._begun += 1
        return role, self._begin(role, Random(self._random.getrandbits(63)))

    @abstractmethod
    def _begin(self, role: int, random: Random) -> TrialMatch:
        """Returns a match in which the tested search has this role."""
