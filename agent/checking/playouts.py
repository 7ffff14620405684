"""Speed of random playouts: on any machine through its contract, on a circuit in its lanes."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

import numpy as np

from agent.search.engine import limited
from games.gdl.running.machine import CircuitMachine
from games.machine import StateMachine

MOST_SECONDS = 10.0
"""Seconds for a first playout, with the kernels."""


@dataclass(frozen=True)
class Speed:
    """Speed of random playouts, goals included."""

    playouts_per_s: float
    transitions_per_s: float
    """Both per CPU second of one core."""


def machine_speed(machine: StateMachine, seconds: float, seed: int = 1) -> Speed:
    """Plays random matches one after the other on any machine for `seconds` of this thread's CPU time."""
    rng = random.Random(seed)
    roles = range(len(machine.roles))
    playouts = transitions = 0
    begin = time.thread_time()
    while (spent := time.thread_time() - begin) < seconds:
        state = machine.initial()
        while not machine.terminal(state):
            legal = [machine.legal(state, role) for role in roles]
            # A playout that runs out of time counts by its transitions only.
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


def speed_of(machine: StateMachine, seconds: float) -> Speed:
    """Random playouts on a machine, in lanes if it has a circuit."""
    return circuit_speed(machine, seconds) if isinstance(machine, CircuitMachine) else machine_speed(machine, seconds)


def circuit_speed(machine: CircuitMachine, seconds: float) -> Speed:
    """Random playouts in lanes, on the circuit that searches use, for `seconds` of this thread's CPU time."""
    machine = machine.searched
    # Matches may have no end.
    with limited(np.zeros(1, np.uint8), MOST_SECONDS + seconds) as stop:
        # Loads the kernels.
        machine.random_playouts(playouts=1, stop=stop)
        found = machine.random_playouts(seconds=seconds, stop=stop)
    spent = max(found.cpu_seconds, 1e-9)
    return Speed(found.playouts / spent, found.transitions / spent)
