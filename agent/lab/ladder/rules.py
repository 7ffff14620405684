"""Whether an engine of others plays the game of a rulesheet."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from agent.errors import InputError
from agent.lab.ladder.outside import OutsideEngine, place
from games.machine import State, StateMachine, points
from protocol.kif import write

MATCHES = 50
"""Random matches in which both have to agree."""


def check_rules(engine: OutsideEngine, machine: StateMachine, matches: int = MATCHES) -> None:
    """Compares legal moves at each ply of random matches, and their results as far as the engine tells them.

    Raises `InputError` at the first difference.
    """
    roles = [write(role) for role in machine.roles]
    generator = random.Random(0)
    for _ in range(matches):
        engine.new_game()
        state, line, mover = machine.initial(), list[str](), 0
        while True:
            over = machine.terminal(state)
            moves = [[] if over else machine.legal(state, role) for role in range(len(roles))]
            ours = [set(engine.spelled(role, some)) for role, some in zip(roles, moves, strict=True)]
            if all(ours):
                raise InputError(f"{engine.name} plays where roles take turns; here both choose {place(line)}")
            theirs = {move for move in engine.legal(line) if not engine.is_pass(move)}
            if theirs != set().union(*ours):
                raise InputError(
                    f"{engine.name} plays other rules {place(line)}: "
                    f"the rulesheet alone has {_listed(set().union(*ours) - theirs, over)}, "
                    f"the engine alone {_listed(theirs.difference(*ours), not theirs)}"
                )
            if over:
                _compare_results(engine, machine, state, mover, line)
            if not all(moves):
                break
            mover = next((role for role, some in enumerate(ours) if some), mover)
            joint_move = [generator.choice(some) for some in moves]
            state, line = machine.next(state, joint_move), engine.after(line, machine.roles, joint_move)


def _compare_results(
    engine: OutsideEngine, machine: StateMachine, state: State, mover: int, line: Sequence[str]
) -> None:
    """Raises `InputError` where the engine has other points for the role that made the last move."""
    told = None if engine.is_pass(line[-1]) else engine.result(line)
    goals = [points(machine.goal(state, role)) for role in (mover, 1 - mover)]
    if told is not None and told != 0.5 + 0.5 * np.sign(goals[0] - goals[1]):
        raise InputError(
            f"{engine.name} has another result {place(line)}: {write(machine.roles[mover])} gets {goals[0]} and the "
            f"other {goals[1]}, and {told:g} points of the engine"
        )


def _listed(moves: set[str], over: bool) -> str:
    return ", ".join(sorted(moves)) or ("no move: the game is over" if over else "none")
