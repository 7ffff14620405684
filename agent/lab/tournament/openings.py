"""Openings of matches: random joint moves, the same for all matches that are compared."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from agent.errors import InputError
from games.machine import State, StateMachine, Term

OPENING_TRIES = 1000
"""Random openings that may end the match, or be refused, before the search for one is given up."""

Opening = list[list[Term]]
"""[plies][roles]"""


def draw_opening(
    machine: StateMachine, plies: int, seed: str, accept: Callable[[Opening], bool] = lambda opening: True
) -> Opening:
    """Returns the first acceptable opening of that many plies that belongs to a seed.

    Raises `InputError` where there is none.
    """
    generator = random.Random(seed)
    for _ in range(OPENING_TRIES):
        opening = random_opening(machine, plies, generator)
        if accept(opening):
            return opening
    raise InputError(f"no further opening of {plies} random plies is balanced")


def random_opening(machine: StateMachine, plies: int, generator: random.Random) -> Opening:
    """Returns uniformly random joint moves from the start that do not end the match. Raises `InputError`."""
    for _ in range(OPENING_TRIES):
        state = machine.initial()
        opening: Opening = []
        while len(opening) < plies and not machine.terminal(state):
            legal = [machine.legal(state, role) for role in range(len(machine.roles))]
            if not all(legal):
                break
            opening.append([generator.choice(moves) for moves in legal])
            state = machine.next(state, opening[-1])
        if len(opening) == plies and not machine.terminal(state):
            return opening
    raise InputError(f"random play ends this game within {plies} plies: choose shorter openings")


def after(machine: StateMachine, joint_moves: Sequence[Sequence[Term]]) -> State:
    """Returns the state after joint moves from the start."""
    state = machine.initial()
    for joint_move in joint_moves:
        state = machine.next(state, joint_move)
    return state
