"""Matches of two engines against one another on very short clocks, to find out which of them plays a game."""

from __future__ import annotations

import threading
from random import Random

import numpy as np

from agent.search.engine import Engine, Opinion, StopFlag
from games.machine import State, StateMachine, Term, points

OPENING = 4
"""Most random plies at the start of a match. Set by hand; not tuned."""
MAX_PLIES = 400
"""A longer match counts as it stands."""


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
    goals = [points(machine.goal(state, role)) for role in (0, 1)]
    return 0.5 + (goals[0] - goals[1]) / 200


def _think(engine: Engine, seconds: float, stop: StopFlag, fallback: Term) -> Term:
    """The engine's move after so many seconds, or at `stop`."""
    halt = np.zeros(1, np.uint8)
    newest = [fallback]
    done = threading.Event()

    def take(opinion: Opinion) -> None:
        newest[0] = opinion.move

    def watch() -> None:
        waited = 0.0
        while waited < seconds and not stop[0]:
            if done.wait(min(0.005, seconds - waited)):
                return
            waited += 0.005
        halt[0] = 1

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        engine.think(halt, take, seconds)
    finally:
        done.set()
        watcher.join()
    return newest[0]
