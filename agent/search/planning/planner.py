"""Finds plans: formulas with more and more steps, solved by clasp in turns, until one has a model.

Which number of steps suffices is not known, and to refute a formula with too few can take far longer than to solve one
with a few more. So several are worked on by turns (algorithm B of Rintanen, Heljanko and Niemela, 2006), with longer and
longer turns. Each plan is tried out on the machine before it is believed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import clingo
import numpy as np

from agent.search.planning.circuit import Circuit, read_circuit
from agent.search.planning.formula import FALSE
from agent.search.planning.independence import Independence, find_independence, reachable
from agent.search.planning.unrolling import Parallel, Sequential, Unrolling
from games.gdl.running.machine import CircuitMachine
from games.machine import State, points

MOST_GATE_INPUTS = 150_000
"""Larger circuits are not unrolled. Set by hand; not tuned."""

MOST_LITERALS = 3_000_000
"""Size of all formulas together at most: about a gigabyte. Set by hand; not tuned."""

FIRST_TURN, LONGER = 0.25, 1.3
"""Seconds of the first round's turns, and the factor from one round to the next. Set by hand; not tuned."""

MOST_STEPS = 400
"""Set by hand; not tuned."""

MOST_TURNS = 6
"""Formulas that are worked on at once; the one with the fewest steps gives way. Set by hand; not tuned."""

ROUNDS_FOR_THE_BEST = 4
"""Rounds before plans for lower goals are looked for, too. Set by hand; not tuned."""

FAILED_TRIALS = 4
"""Plans with several moves a step that may turn out not to work before they are given up. Set by hand; not tuned."""

SOLVER = ("--configuration=jumpy",)
"""Options of clasp: its settings for large problems of industry. Set by hand; not tuned."""


_POLL = 0.01
"""Seconds between looks at whether to stop."""


class Plan(NamedTuple):
    """A match that a single player can play to its end."""

    moves: list[int]
    """By index."""
    goal: int


Wanted: TypeAlias = Callable[[], bool]
"""Whether the planner's attention is wanted: what it does is interrupted then."""

Proceed: TypeAlias = Callable[[], bool]
"""Asked after that, and from time to time: whether to go on. May take its time to answer."""


class _Formula:
    """An unrolling with so many steps, and a solver that works on it from time to time."""

    def __init__(self, unrolling: Unrolling, goals: Sequence[int], options: Sequence[str]) -> None:
        self.steps = unrolling.steps
        self.goals = goals
        self.refuted = False
        formula = unrolling.formula
        end = unrolling.reaches(goals)
        if end == FALSE:
            self.refuted = True
            return
        formula.forbid((-end,))
        self.size = formula.size
        self._control = formula.control(options)

    def solve(self, seconds: float, wanted: Wanted) -> list[list[int]] | None:
        """Works for this long; the moves of each step where there is a plan."""
        begin = time.process_time()
        with self._control.solve(yield_=True, async_=True) as handle:
            handle.resume()
            while not handle.wait(_POLL):
                if time.process_time() - begin > seconds or wanted():
                    handle.cancel()
                    return None
            model = handle.model()
            if model is None:
                self.refuted = bool(handle.get().unsatisfiable)
                return None
            return [[m for m, literal in made.items() if model.is_true(literal)] for made in self.steps]


class Planner:
    """Looks for plans from one state after the other."""

    def __init__(self, machine: CircuitMachine) -> None:
        self._machine = machine
        self._circuit = read_circuit(machine)
        self._goals = sorted(set(self._circuit.goal_value))

    def plans(self, state: State, wanted: Wanted, proceed: Proceed, known: int = -1) -> Iterator[Plan]:
        """Better and better plans from a state, all better than the goal `known`.

        Ends when it is not to proceed, when there is no better plan, or when there is nothing more to try.
        """
        machine, circuit = self._machine, self._circuit
        if machine.terminal(state) or machine.game.edges > MOST_GATE_INPUTS:
            return
        fluents = self._fluents(state)
        within = reachable(circuit, fluents)
        independence = find_independence(machine, circuit, within)
        ways: list[Iterator[Unrolling]] = []
        if independence is not None and independence.independent_pairs() > 0:
            clocks = self._clocks(state, independence)
            ways.append(_lengthened(lambda: Parallel(circuit, fluents, within, independence, clocks)))
        ways.append(_lengthened(lambda: Sequential(circuit, fluents)))
        working: list[list[_Formula]] = [[] for _ in ways]
        failures = 0
        turn, round_number = FIRST_TURN, 0
        open_ways = set(range(len(ways)))
        while proceed():
            better = [goal for goal in self._goals if goal > known]
            if not better:
                return
            for way in sorted(open_ways):
                formulas = working[way]
                goals = better if round_number >= ROUNDS_FOR_THE_BEST and round_number % 2 else better[-1:]
                unrolling = next(ways[way], None)
                if unrolling is not None:
                    formula = _Formula(unrolling, goals, SOLVER)
                    if formula.refuted:
                        # Nothing is lost by looking at the next at once: no solver was needed.
                        continue
                    formulas.append(formula)
                    if len(formulas) > MOST_TURNS:
                        formulas.pop(0)
                elif not formulas:
                    open_ways.discard(way)
                for formula in list(formulas):
                    if not proceed():
                        return
                    steps = formula.solve(turn, wanted)
                    if formula.refuted:
                        formulas.remove(formula)
                    if steps is None:
                        continue
                    plan = self._try_out(state, steps)
                    if plan is not None and plan.goal > known:
                        known = plan.goal
                        yield plan
                        working = [[f for f in fs if max(f.goals) > known] for fs in working]
                        break
                    formulas.remove(formula)
                    failures += 1
                    if failures >= FAILED_TRIALS and len(ways) > 1:
                        open_ways.discard(0)
            if not open_ways:
                return
            turn *= LONGER
            round_number += 1

    def _fluents(self, state: State) -> list[int]:
        words = self._machine.pack(state)
        return np.unpackbits(words.view(np.uint8), bitorder="little")[: self._circuit.n_fluents].tolist()

    def _clocks(self, state: State, independence: Independence) -> list[list[int]]:
        """The fluents after 0, 1, ... moves, of which the clock's are right, as long as they change."""
        machine = self._machine
        clock = [f for f, is_clock in enumerate(independence.clock) if is_clock]
        states = [self._fluents(state)]
        seen = {tuple(states[0][f] for f in clock)}
        while clock and len(states) < MOST_STEPS and not machine.terminal(state):
            legal = machine.legal(state, 0)
            if not legal:
                break
            state = machine.next(state, legal[:1])
            fluents = self._fluents(state)
            value = tuple(fluents[f] for f in clock)
            states.append(fluents)
            if value in seen:
                break
            seen.add(value)
        return states

    def _try_out(self, state: State, steps: Sequence[Sequence[int]]) -> Plan | None:
        """Plays the moves, those of one step in an order that works; None where there is none, or no end."""
        machine = self._machine
        moves = machine.game.moves[0]
        played: list[int] = []
        for number, step in enumerate(steps):
            left = list(step)
            last_step = not any(steps[number + 1 :])
            while left:
                legal = set(machine.legal(state, 0))
                for m in left:
                    if moves[m] not in legal:
                        continue
                    following = machine.next(state, (moves[m],))
                    if not machine.terminal(following) or (last_step and len(left) == 1):
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


def _lengthened(start: Callable[[], Unrolling]) -> Iterator[Unrolling]:
    """Unrollings with 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, ... steps, until there are no more."""
    steps = 1
    while steps <= MOST_STEPS:
        unrolling = start()
        whole = True
        while len(unrolling.steps) < steps and whole:
            whole = unrolling.extend()
            if unrolling.formula.size > MOST_LITERALS:
                return
        yield unrolling
        if not whole:
            return
        steps = max(steps + 1, int(steps * 1.25))
