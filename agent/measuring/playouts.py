"""Measurements that several commands report: set-up time, random playouts, what random matches look like."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from games.machine import StateMachine, points

T = TypeVar("T")

SAMPLE_MATCHES = 20
SAMPLE_SECONDS = 1.0
"""How much of a game is looked at to describe it: so many random matches, or as many as fit in so many seconds."""


def cpu_seconds() -> float:
    """CPU time that this process and its ended children have used."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What the work returns, and the CPU seconds that it took, its child processes included."""
    before = cpu_seconds()
    result = work()
    return result, cpu_seconds() - before


@dataclass(frozen=True)
class Speed:
    """How fast random playouts run, goals included."""

    playouts_per_s: float
    transitions_per_s: float
    """Both per CPU second of one core."""


def playout_speed(machine: StateMachine, seconds: float, seed: int = 1) -> Speed:
    """Plays random matches one after the other on any machine for so many CPU seconds of this thread."""
    rng = random.Random(seed)
    roles = range(len(machine.roles))
    playouts = transitions = 0
    begin = time.thread_time()
    while (spent := time.thread_time() - begin) < seconds:
        state = machine.initial()
        while not machine.terminal(state):
            legal = [machine.legal(state, role) for role in roles]
            # A slow game's playout is left where the time is up; its transitions count.
            if not all(legal) or time.thread_time() - begin > seconds:
                break
            state = machine.next(state, [rng.choice(moves) for moves in legal])
            transitions += 1
        else:
            for role in roles:
                machine.goal(state, role)
            playouts += 1
    spent = max(spent, 1e-9)
    return Speed(playouts / spent, transitions / spent)


@dataclass
class Sample:
    """What some random matches of a game were like."""

    matches: int = 0
    """Matches that were played to an end."""
    steps: int = 0
    moves: int = 0
    """Legal moves in all positions, of all roles that had more than one."""
    choices: int = 0
    """How many times a role had more than one legal move."""
    shared_turns: int = 0
    """Positions in which several roles had more than one legal move."""
    dead_ends: int = 0
    """Matches in which a role had no legal move before the end."""
    constant_sum: bool = True
    """Whether all matches distributed the same number of points."""

    @property
    def kind(self) -> str:
        """The kind of game, as far as the sample shows it."""
        return "simultaneous moves" if self.shared_turns else "taking turns"


def sample(machine: StateMachine, seed: int = 1) -> Sample:
    """Looks at `SAMPLE_MATCHES` random matches, or at fewer in a slow or long game."""
    rng = random.Random(seed)
    found = Sample()
    sums: set[int] = set()
    deadline = time.monotonic() + SAMPLE_SECONDS
    roles = range(len(machine.roles))
    while found.matches + found.dead_ends < SAMPLE_MATCHES and time.monotonic() < deadline:
        state = machine.initial()
        while not machine.terminal(state):
            legal = [machine.legal(state, role) for role in roles]
            if not all(legal):
                found.dead_ends += 1
                break
            if time.monotonic() > deadline:
                break
            choosing = [len(moves) for moves in legal if len(moves) > 1]
            found.choices += len(choosing)
            found.moves += sum(choosing)
            found.shared_turns += len(choosing) > 1
            found.steps += 1
            state = machine.next(state, [rng.choice(moves) for moves in legal])
        else:
            sums.add(sum(points(machine.goal(state, role)) for role in roles))
            found.matches += 1
    found.constant_sum = len(sums) == 1
    return found
