"""Rules of rulesheets' texts, their interpreters, and random matches."""

from __future__ import annotations

import random
from collections.abc import Iterator

from games import rulesheets
from games.gdl.crosscheck import MAX_PLIES, CrossCheck, Difference
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules, check
from games.machine import NO_MOVE, State, StateMachine, Term
from protocol.kif import read_rulesheet


def rules_of(text: str) -> CheckedRules:
    """The checked rules of a rulesheet's text."""
    return check(read_rulesheet(text))


def interpreter_of(text: str) -> Interpreter:
    """The interpreter of a rulesheet's text."""
    return Interpreter(rules_of(text))


def own_interpreter(name: str) -> Interpreter:
    """The interpreter of one of the package's rulesheets."""
    return interpreter_of(rulesheets.text(name))


def random_match(machine: StateMachine, rng: random.Random) -> Iterator[tuple[State, tuple[Term, ...], State]]:
    """Yields the plies of a random match: a state, the moves of all roles, and the state after them.

    A role without a legal move makes `NO_MOVE`.
    """
    state = machine.initial()
    while not machine.terminal(state):
        joint_move = tuple(rng.choice(machine.legal(state, role) or [NO_MOVE]) for role in range(len(machine.roles)))
        after = machine.next(state, joint_move)
        yield state, joint_move, after
        state = after


def goals(machine: StateMachine, state: State) -> list[int | None]:
    """The goal of each role."""
    return [machine.goal(state, role) for role in range(len(machine.roles))]


def first_difference(
    tested: StateMachine, trusted: StateMachine, matches: int, plies: int = MAX_PLIES
) -> Difference | None:
    """The first difference of two machines in some random matches, or in the first plies of these."""
    cross_check = CrossCheck(tested, trusted)
    while cross_check.matches < matches:
        if difference := cross_check.step():
            return difference
        if cross_check.ply > plies:
            cross_check.abandon()
    return None
