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


def play(
    machine: StateMachine, root: State, engines: tuple[Engine, Engine], seconds: float, random: Random, stop: StopFlag
) -> float | None:
    """Plays a match from `root`, after some random plies; returns the first engine's share of the points, 0..1.

    Engine i plays role i, thinks for so many seconds a move, and not while the other one does. None where the match was
    stopped, or was over before an engine had to think.
    """
    state = root
    for _ in range(random.randint(0, OPENING)):
        state = machine.next(state, [random.choice(machine.legal(state, role)) for role in (0, 1)])
        if machine.terminal(state) or not all(machine.legal(state, role) for role in (0, 1)):
            return None
    for engine in engines:
        engine.begin(state)
    for _ in range(MAX_PLIES):
        joint: list[Term] = []
        for role, engine in enumerate(engines):
            moves = machine.legal(state, role)
            if not moves:
                return None
            joint.append(_think(engine, seconds, stop, moves[0]) if len(moves) > 1 else moves[0])
            if stop[0]:
                return None
        state = machine.next(state, joint)
        if machine.terminal(state):
            break
        for engine in engines:
            engine.advance(tuple(joint), state)
    # A match that is longer counts as it stands.
    first, second = (float(points(machine.goal(state, role))) for role in (0, 1))
    return share_of_points(first, second)


def _think(engine: Engine, seconds: float, stop: StopFlag, fallback: Term) -> Term:
    """The engine's move after so many seconds, or at `stop`."""
    newest = [fallback]

    def take(opinion: Opinion) -> None:
        newest[0] = opinion.move

    with limited(stop, seconds) as halt:
        engine.think(halt, take, seconds)
    return newest[0]
