"""Matches of two engines against one another on very short clocks, to find out which of them plays a game."""

from __future__ import annotations

import threading
import time
from random import Random

import numpy as np

from agent.search.engine import Engine, Opinion, StopFlag
from agent.search.pvs.survey import MAX_PLIES, share_of_points
from games.machine import State, StateMachine, Term, points

OPENING = 4
"""Most random plies at the start of a match. Set by hand; not tuned."""


class limited:
    """A stop flag that is set when another one is, or after some seconds."""

    def __init__(self, stop: StopFlag, seconds: float) -> None:
        self._stop, self._seconds = stop, seconds
        self._flag = np.zeros(1, np.uint8)
        self._over = threading.Event()

    def __enter__(self) -> StopFlag:
        end = time.monotonic() + self._seconds
        self._flag[0] = self._seconds <= 0

        def watch() -> None:
            while not self._over.wait(0.002):
                if self._stop[0] or time.monotonic() >= end:
                    self._flag[0] = 1
                    return

        self._watcher = threading.Thread(target=watch, daemon=True)
        self._watcher.start()
        return self._flag

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._watcher.join()


class TrialMatch:
    """A match of two engines, which may be interrupted and goes on later."""

    def __init__(
        self, machine: StateMachine, root: State, engines: tuple[Engine, Engine], seconds: float, random: Random
    ) -> None:
        """Begins at `root`, after some random plies. Engine i plays role i, thinks for so many seconds a move, and not
        while the other one does."""
        self._machine, self._engines, self._seconds = machine, engines, seconds
        self._state = root
        self._plies = 0
        self.void = False
        """Whether there is no result, and will be none: it was over before an engine had to think."""
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

        None where it is stopped before, or `void`.
        """
        machine = self._machine
        while not self.void and self._plies < MAX_PLIES:
            joint: list[Term] = []
            for role, engine in enumerate(self._engines):
                moves = machine.legal(self._state, role)
                if not moves:
                    self.void = True
                    return None
                joint.append(_think(engine, self._seconds, stop, moves[0]) if len(moves) > 1 else moves[0])
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
        # A match that is longer counts as it stands.
        first, second = (float(points(machine.goal(self._state, role))) for role in (0, 1))
        return share_of_points(first, second)


def _think(engine: Engine, seconds: float, stop: StopFlag, fallback: Term) -> Term:
    """The engine's move after so many seconds, or at `stop`."""
    newest = [fallback]

    def take(opinion: Opinion) -> None:
        newest[0] = opinion.move

    with limited(stop, seconds) as halt:
        engine.think(halt, take, seconds)
    return newest[0]
