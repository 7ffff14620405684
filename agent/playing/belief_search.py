"""Flat Monte-Carlo search over the possible states, where the state is in doubt.

Each playout begins in a state drawn by its probability. The own first move is chosen by UCB1 over all states (Auer,
Cesa-Bianchi, Fischer: Finite-time analysis of the multiarmed bandit problem, 2002). This is perfect information
Monte-Carlo search (Long, Sturtevant, Buro, Furtak: Understanding the success of perfect information Monte Carlo
sampling in game tree search, AAAI 2010).
"""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Sequence
from contextlib import suppress

from agent.search.engine import Opinion, Report, Score, StopFlag
from games.machine import NO_MOVE, Interrupted, State, StateMachine, Term, points

NAME = "belief search"

EXPLORATION = 0.7
"""Weight of the exploration term, on goals scaled to 0..1."""

UNKNOWN_GOAL = 0.5
"""Value, 0..1, of a playout cut off in a state without a goal."""

PLAYOUT_SECONDS = 1.0
"""Seconds after which a playout is cut off."""


class BeliefSearch:
    """Search for one role of a match, from one turn's states."""

    def __init__(
        self, machine: StateMachine, role: int, states: Sequence[tuple[State, float]], moves: Sequence[Term]
    ) -> None:
        """`states` are the possible states, with their probabilities, or weights; `moves` those to choose from."""
        self._machine = machine
        self._role = role
        self._states = [state for state, _ in states]
        self._cumulative = list(itertools.accumulate(weight for _, weight in states))
        self._moves = list(moves)
        self._visits = [0] * len(self._moves)
        self._scale = machine.goal_scale
        """The range of the goals seen."""
        self._totals = [0.0] * len(self._moves)

    def think(self, stop: StopFlag, report: Report, playouts: int | None = None) -> None:
        """Reports better and better opinions until it is stopped, the first at once; returns if there is no choice, and
        after a number of `playouts`."""
        if not self._moves:
            return
        if len(self._moves) == 1:
            report(Opinion(self._moves[0], final=True))
            return
        if not any(self._visits):
            report(Opinion(random.choice(self._moves)))
        with self._machine.interruptible(lambda: bool(stop[0])), suppress(Interrupted):
            for _ in itertools.count() if playouts is None else range(playouts):
                if stop[0]:
                    return
                self._play_out(stop)
                report(self._opinion())

    def _opinion(self) -> Opinion:
        best = max(range(len(self._moves)), key=lambda i: (self._visits[i], self._totals[i]))
        score = Score(self._totals[best] / self._visits[best]) if self._visits[best] else None
        info = {"states": len(self._states), "playouts": sum(self._visits)}
        return Opinion(self._moves[best], score, info=info)

    def _play_out(self, stop: StopFlag) -> None:
        machine = self._machine
        (state,) = random.choices(self._states, cum_weights=self._cumulative)
        if machine.terminal(state):
            return
        choice = self._select()
        joint_move = self._joint_move(state, stop)
        joint_move[self._role] = self._moves[choice]
        value = self._finish(machine.next(state, joint_move), stop)
        self._visits[choice] += 1
        self._totals[choice] += value
        self._scale = self._scale.including([value])

    def _select(self) -> int:
        untried = [i for i, count in enumerate(self._visits) if not count]
        if untried:
            return random.choice(untried)
        log_visits = math.log(sum(self._visits))
        bounds = [
            self._scale.worth(total / count) / 100 + EXPLORATION * math.sqrt(log_visits / count)
            for total, count in zip(self._totals, self._visits, strict=True)
        ]
        return bounds.index(max(bounds))

    def _finish(self, state: State, stop: StopFlag) -> float:
        """Plays a random match on from a state; returns its goal."""
        machine = self._machine
        end = time.monotonic() + PLAYOUT_SECONDS
        while not machine.terminal(state):
            if time.monotonic() > end:
                goal = machine.goal(state, self._role)
                return self._scale.goal(100 * UNKNOWN_GOAL) if goal is None else goal
            state = machine.next(state, self._joint_move(state, stop))
        return points(machine.goal(state, self._role))

    def _joint_move(self, state: State, stop: StopFlag) -> list[Term]:
        if stop[0]:
            raise Interrupted
        roles = range(len(self._machine.roles))
        return [random.choice(self._machine.legal(state, role) or [NO_MOVE]) for role in roles]
