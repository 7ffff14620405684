"""Finds plans: clasp solves formulas with more and more steps until one has a model.

Refuting a formula with too few steps can take far longer than solving one with a few more. So several formulas take
turns, which grow longer (algorithm B of Rintanen, Heljanko and Niemela, 2006). Each plan is tried out on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

import clingo
import numpy as np

from agent.search.planning.formula import FALSE, Formula, Literal
from agent.search.planning.gate_lists import read_circuit
from agent.search.planning.independence import Independence, find_independence
from agent.search.planning.move_choices import find_choices
from agent.search.planning.plan import Bound, Findings, Known, Plan
from agent.search.planning.unrolling import Parallel, Sequential, Unrolling
from games.gdl.running.batches import facts_in
from games.gdl.running.machine import CircuitMachine
from games.machine import State, points

MOST_GATE_INPUTS = 150_000
"""Size of the largest circuit to unroll: one step of a larger one would take seconds."""

MOST_LITERALS = 3_000_000
"""Largest size of all formulas together: about a gigabyte."""

FIRST_TURN, LONGER = 0.25, 1.3
"""Seconds of the first round's turns, and the factor from one round to the next."""

MOST_STEPS = 400
"""Most steps of a formula."""

LENGTHENING = 1.25
"""Factor from one formula's number of steps to the next one's, which grows by at least one."""

MORE_THAN_ANY = 10**18
"""A goal that no match has."""

MOST_TURNS = 6
"""Formulas that take turns; the one with the fewest steps gives way."""

ROUNDS_FOR_THE_BEST = 4
"""Rounds before lower goals are sought, too."""

MOST_DIVIDED_MOVES = 1_000
"""Most moves made of several choices among which independent ones are looked for: pairs of more take too long, and a
step already has what is chosen at once."""

FAILED_TRIALS = 4
"""Plans that may fail when tried out before a way is given up."""

_POLL = 0.01
"""Seconds between looks at whether to stop."""

Wanted: TypeAlias = Callable[[], bool]
"""Whether to interrupt the search; asked often."""


class _Formula:
    """An unrolling with a number of steps, and its solver."""

    def __init__(self, unrolling: Unrolling, goals: Sequence[int]) -> None:
        """`goals` are ascending."""
        formula = unrolling.formula
        ends = unrolling.ends()
        self._at_least: dict[int, Literal] = {}
        """Per goal, whether a match ends with it or a better one."""
        better: Literal = FALSE
        for goal in reversed(goals):
            better = formula.any_of((better, ends.get(goal, FALSE)))
            self._at_least[goal] = better
        self.refuted = next((goal for goal in goals if self._at_least[goal] == FALSE), MORE_THAN_ANY)
        """Lowest goal proven out of reach in this number of steps."""
        self._steps = unrolling.steps
        self._moves_taken = unrolling.moves_taken
        self._formula: Formula | None = formula
        self._control: clingo.Control | None = None
        self.size = formula.size

    def solve(self, goal: int, seconds: float, wanted: Wanted) -> list[list[int]] | None:
        """Seeks a plan for a goal or a better one for some seconds; returns the moves of each step."""
        if self._control is None:
            assert self._formula is not None
            self._control = self._formula.control()
            # It takes as much memory as the solver does.
            self._formula = None
        begin = time.process_time()
        with self._control.solve([self._at_least[goal]], yield_=True, async_=True) as handle:
            handle.resume()
            while not handle.wait(_POLL):
                if time.process_time() - begin > seconds or wanted():
                    handle.cancel()
                    return None
            model = handle.model()
            if model is None:
                if handle.get().unsatisfiable:
                    self.refuted = min(self.refuted, goal)
                return None
            return [
                self._moves_taken([option for option, literal in taken.items() if model.is_true(literal)])
                for taken in self._steps
            ]


class _Way:
    """A way to state plans as formulas, with more and more steps."""

    def __init__(self, start: Callable[[], Unrolling], *, exact: bool) -> None:
        """`exact` is whether every match is a plan."""
        self._start = start
        self._exact = exact
        self._n_steps = 0
        self._whole = False
        """Whether there are no more steps to add."""
        self._refuted = MORE_THAN_ANY
        self._formulas: list[_Formula] = []
        self._longest: _Formula | None = None
        """Newest formula."""
        self._failures = 0

    @property
    def over(self) -> bool:
        """Whether there is nothing left to do."""
        return self._whole and not self._formulas

    def impossible(self) -> int:
        """Lowest goal proven out of reach."""
        return self._refuted if self._exact else MORE_THAN_ANY

    def formulas(self, goals: Sequence[int], wanted: Wanted) -> list[_Formula]:
        """The formulas that take turns: one more each time, while there are more."""
        while not self._whole and not wanted():
            formula = self._next(goals)
            if formula is None:
                continue
            self._formulas.append(formula)
            break
        if len(self._formulas) > MOST_TURNS:
            self._formulas.pop(0)
        while len(self._formulas) > 1 and sum(formula.size for formula in self._formulas) > MOST_LITERALS:
            self._formulas.pop(0)
        return list(self._formulas)

    def _next(self, goals: Sequence[int]) -> _Formula | None:
        """The next formula; None where it is refuted without solving."""
        self._n_steps = max(self._n_steps + 1, int(self._n_steps * LENGTHENING))
        unrolling = self._start()
        while len(unrolling.steps) < self._n_steps and not self._whole:
            all_over = not unrolling.extend()
            too_large = unrolling.formula.size > MOST_LITERALS
            self._exact = self._exact and not too_large
            self._whole = all_over or too_large or len(unrolling.steps) >= MOST_STEPS
            self._exact = self._exact and (all_over or not self._whole)
        formula = self._longest = _Formula(unrolling, goals)
        if self._whole:
            self._refuted = min(self._refuted, formula.refuted)
        return formula if formula.refuted > goals[0] else None

    def refute(self, formula: _Formula, goals: Sequence[int]) -> None:
        """Takes note of the goals that a formula's solver has refuted; `goals` are those still wanted."""
        if self._whole and formula is self._longest:
            self._refuted = min(self._refuted, formula.refuted)
        if formula.refuted <= goals[0]:
            self._leave(formula)

    def fail(self, formula: _Formula) -> None:
        """Takes note of a plan that failed."""
        self._leave(formula)
        self._failures += 1
        if self._failures >= FAILED_TRIALS:
            self._whole = True
            self._exact = False
            self._formulas.clear()

    def _leave(self, formula: _Formula) -> None:
        if formula in self._formulas:
            self._formulas.remove(formula)


class Planner:
    """Finds plans by solving formulas."""

    def __init__(self, machine: CircuitMachine) -> None:
        self._machine = machine
        self._circuit = read_circuit(machine.game.circuit)
        self._choices = find_choices(self._circuit)
        self._goals = sorted(set(self._circuit.goal_value))

    def plans(self, state: State, known: Known, wanted: Wanted) -> Findings:
        """Better and better plans from a state, all better than the worst goal, and bounds.

        Yields None after each turn, and soon when `wanted` says so. Ends when no better plan exists or nothing is left
        to try.
        """
        machine = self._machine
        if machine.terminal(state):
            return
        ways = self._ways(state)
        goals = self._goals[1:]
        turn, rounds = FIRST_TURN, 0
        while True:
            limit = min((way.impossible() for way in ways), default=MORE_THAN_ANY)
            possible = [goal for goal in goals if goal < limit]
            if len(possible) < len(goals):
                # An end without a goal is worth 0 points.
                yield Bound(max(0, self._goals[0], *possible))
            goals = [goal for goal in possible if goal > known.goal]
            ways = [way for way in ways if not way.over]
            if not goals or not ways:
                return
            # The best goal first; now and then just a better one.
            target = goals[0] if rounds >= ROUNDS_FOR_THE_BEST and rounds % 2 else goals[-1]
            for way in ways:
                for formula in way.formulas(goals, wanted):
                    yield None
                    goals = [goal for goal in goals if goal > known.goal]
                    if not goals:
                        return
                    target = max(target, goals[0])
                    if formula.refuted <= target:
                        continue
                    steps = formula.solve(target, turn, wanted)
                    way.refute(formula, goals)
                    if steps is None:
                        continue
                    plan = self._try_out(state, steps)
                    if plan is None or plan.goal < target:
                        way.fail(formula)
                    else:
                        known.goal = plan.goal
                        yield plan
            turn *= LONGER
            rounds += 1

    def _ways(self, state: State) -> list[_Way]:
        machine, circuit, choices = self._machine, self._circuit, self._choices
        fluents = self._fluents(state)
        ways = [_Way(lambda: Sequential(circuit, fluents, choices), exact=True)]
        if len(choices.choices) > 1 and circuit.n_moves > MOST_DIVIDED_MOVES:
            return ways
        independence = find_independence(machine, circuit, np.array(fluents, np.bool_))
        if independence is not None and independence.independent_pairs() > 0:
            clocks = self._clocks(state, independence)
            ways.insert(0, _Way(lambda: Parallel(circuit, fluents, independence, clocks), exact=False))
        return ways

    def _fluents(self, state: State) -> list[int]:
        return [int(fact) for fact in facts_in(self._machine.pack(state), self._circuit.n_fluents)]

    def _clocks(self, state: State, independence: Independence) -> list[list[int]]:
        """The fluents after 0, 1, ... moves, while the clock changes; only its fluents are right."""
        machine = self._machine
        clock = [f for f, is_clock in enumerate(independence.clock) if is_clock]
        words = machine.pack(state)[None, :]
        # Any move will do, even an illegal one or after an end: another match may go on for longer.
        move = np.zeros((1, 1), np.int32)
        states = [self._fluents(state)]
        seen = {tuple(states[0][f] for f in clock)}
        while clock and len(states) < MOST_STEPS:
            words = machine.next_of(words, move)
            fluents = facts_in(words[0], self._circuit.n_fluents).astype(int).tolist()
            value = tuple(fluents[f] for f in clock)
            states.append(fluents)
            if value in seen:
                break
            seen.add(value)
        return states

    def _try_out(self, state: State, steps: Sequence[Sequence[int]]) -> Plan | None:
        """Plays the moves up to the end, each step's in an order that works; None where no order does, or none ends."""
        machine = self._machine
        moves = machine.game.moves[0]
        played: list[int] = []
        for step in steps:
            left = list(step)
            while left:
                legal = set(machine.legal(state, 0))
                for m in left:
                    if moves[m] not in legal:
                        continue
                    following = machine.next(state, (moves[m],))
                    if not machine.terminal(following) or len(left) == 1:
                        break
                else:
                    return None
                left.remove(m)
                played.append(m)
                state = following
            if machine.terminal(state):
                break
        if not machine.terminal(state):
            return None
        return Plan(played, points(machine.goal(state, 0)))
