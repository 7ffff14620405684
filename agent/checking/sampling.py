"""The kind of a game, as a few random matches show it."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from games.machine import StateMachine, points

SAMPLE_MATCHES = 20
SAMPLE_SECONDS = 1.0
"""Most random matches of a sample, and its longest time."""


@dataclass
class Sample:
    """Counts from some random matches of a game."""

    matches: int = 0
    """Matches played to the end."""
    steps: int = 0
    moves: int = 0
    """Legal moves in all positions, of all roles that had more than one."""
    choices: int = 0
    """Number of times a role had more than one legal move."""
    shared_turns: int = 0
    """Positions in which several roles had more than one legal move."""
    dead_ends: int = 0
    """Matches in which a role had no legal move before the end."""
    constant_sum: bool = True
    """Whether all matches distributed the same number of points."""

    @property
    def kind(self) -> str:
        """The kind of the game."""
        return "simultaneous moves" if self.shared_turns else "taking turns"


def sample(machine: StateMachine, seed: int = 1) -> Sample:
    """Plays `SAMPLE_MATCHES` random matches, or fewer in a slow or long game."""
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
