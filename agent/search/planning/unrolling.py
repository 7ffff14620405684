"""Plans as formulas: the circuit unrolled over time, with one move a step or with independent moves at once.

The first is planning as satisfiability (Kautz and Selman, 1992). The second makes moves whose order does not matter in
one step ("for all" steps; Rintanen, Heljanko and Niemela: Planning as satisfiability: parallel plans and algorithms for
plan search, 2006): fill-in puzzles need few steps, and no search for an order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from agent.search.planning.formula import FALSE, TRUE, Formula, Literal
from agent.search.planning.gate_lists import GateLists, Program, fluent_literal, needed
from agent.search.planning.independence import Independence, bits
from agent.search.planning.move_choices import MoveChoices


class Unrolling(ABC):
    """A formula whose models are plans from a state."""

    moves_taken: Callable[[list[int]], list[int]]
    """The moves of a step, by the options taken there."""

    def __init__(self, circuit: GateLists, state: Sequence[int]) -> None:
        """`state` is 0 or 1 per fluent."""
        self.formula = Formula()
        self.steps: list[dict[int, Literal]] = []
        """Per step, literals by options, true where the option is taken."""
        self._circuit = circuit
        self._fluents = [TRUE if value else FALSE for value in state]

    @abstractmethod
    def extend(self) -> bool:
        """Adds a step; returns False where every match is over by now."""

    @abstractmethod
    def ends(self) -> dict[int, Literal]:
        """Per goal value, whether it holds at the end of the match. To be called once, after all steps."""

    def _after(self, program: Program) -> list[Literal]:
        """The values of the circuit's literals after a program in the present state."""
        values = [TRUE, *[FALSE] * (self._circuit.n_literals - 1)]
        for fluent, literal in enumerate(self._fluents):
            set_value(values, fluent_literal(fluent), literal)
        unroll(self.formula, program, values)
        return values

    def _goals(self, values: list[Literal]) -> dict[int, Literal]:
        """Per goal, whether it holds, by the values after the goal program."""
        holds: dict[int, list[Literal]] = {}
        for goal, literal in zip(self._circuit.goal_value, self._circuit.goal_holds, strict=True):
            holds.setdefault(goal, []).append(values[literal])
        return {goal: self.formula.any_of(literals) for goal, literals in holds.items()}


class Sequential(Unrolling):
    """An unrolling with one move a step, made of `choices`; finished matches have no more moves."""

    def __init__(self, circuit: GateLists, state: Sequence[int], choices: MoveChoices) -> None:
        super().__init__(circuit, state)
        self.moves_taken = choices.move_of
        self._choices = choices
        self._values = self._after(circuit.legal)
        self._over: list[tuple[Literal, list[Literal]]] = []
        """Per step, whether the match is over, and the fluents."""

    def extend(self) -> bool:
        circuit, formula, values = self._circuit, self.formula, self._values
        over = values[circuit.terminal]
        self._over.append((over, self._fluents))
        if over == TRUE:
            return False
        options = self._choices.options
        legal = [self._legal(choice) for choice in self._choices.choices]
        if not all(legal):
            return False
        self.steps.append({})
        # Sets without an option stay empty.
        for s in circuit.sets:
            set_value(values, s, FALSE)
        for some in legal:
            if len(some) == 1:
                # Drops "if it is legal": a plan that goes wrong here fails when it is tried out.
                ((option, literal),) = some.items()
                taken = {option: TRUE}
                formula.forbid((-over, -literal))
            else:
                taken = {option: formula.choice(literal) for option, literal in some.items()}
                formula.at_most_one(list(taken.values()))
                formula.forbid([-over, *(-literal for literal in taken.values())])
            self.steps[-1] |= taken
            members: dict[int, list[Literal]] = {}
            for option, literal in taken.items():
                for s in options[option].sets:
                    members.setdefault(s, []).append(literal)
            for s, literals in sorted(members.items()):
                all_options = len(literals) == len(taken)
                set_value(values, circuit.sets[s], TRUE if all_options else formula.any_of(literals))
        unroll(formula, circuit.next, values)
        self._fluents = [values[literal] for literal in circuit.fluent_next]
        self._values = self._after(circuit.legal)
        return True

    def _legal(self, choice: Iterable[int]) -> dict[int, Literal]:
        """The options of a choice that may be legal, and whether they are."""
        options, values = self._choices.options, self._values
        legal = {o: self.formula.all_of(values[literal] for literal in options[o].conditions) for o in choice}
        return {option: literal for option, literal in legal.items() if literal != FALSE}

    def ends(self) -> dict[int, Literal]:
        if len(self._over) == len(self.steps):
            self._over.append((self._values[self._circuit.terminal], self._fluents))
        formula = self.formula
        ends: dict[int, list[Literal]] = {}
        before = FALSE
        for over, fluents in self._over:
            if over == FALSE:
                continue
            self._fluents = fluents
            first = formula.all_of((over, -before))
            for goal, literal in self._goals(self._after(self._circuit.goal)).items():
                ends.setdefault(goal, []).append(formula.all_of((first, literal)))
            before = formula.any_of((before, over))
        return {goal: formula.any_of(literals) for goal, literals in ends.items()}


class Parallel(Unrolling):
    """An unrolling with any independent moves in a step; `clocks` has the clock fluents by number of moves."""

    def __init__(
        self,
        circuit: GateLists,
        state: Sequence[int],
        independence: Independence,
        clocks: Sequence[Sequence[int]],
    ) -> None:
        super().__init__(circuit, state)
        # Each option is a move.
        self.moves_taken = list
        self._independence = independence
        self._clocks = clocks
        self._affecting: list[list[int]] = [[] for _ in range(circuit.n_fluents)]
        self._reading: list[list[int]] = [[] for _ in range(circuit.n_fluents)]
        self._members: list[list[int]] = [[] for _ in circuit.sets]
        for m in independence.affects:
            for f in bits(independence.affects[m]):
                self._affecting[f].append(m)
            for f in bits(independence.reads[m]):
                self._reading[f].append(m)
            for s in circuit.sets_of[m]:
                self._members[s].append(m)
        self._by_cone = _cones(circuit)

    def extend(self) -> bool:
        circuit, formula = self._circuit, self.formula
        values = self._after(circuit.legal)
        over = values[circuit.terminal]
        made: dict[int, Literal] = {}
        for m in self._independence.affects:
            literal = formula.choice(formula.all_of((values[circuit.move_legal[m]], -over)))
            if literal != FALSE:
                made[m] = literal
        self.steps.append(made)
        following = list(self._fluents)
        for f, affecting in enumerate(self._affecting):
            writers = [m for m in affecting if m in made]
            if not writers:
                continue
            formula.at_most_one([made[m] for m in writers])
            changed = formula.any_of([made[m] for m in writers])
            for m in self._reading[f]:
                if m in made and not self._independence.affects[m] >> f & 1:
                    formula.forbid((changed, made[m]))
            following[f] = formula.either(changed, self._next_of(f, values, made, set(writers)), self._fluents[f])
        self._fluents = following
        return True

    def _next_of(self, fluent: int, values: list[Literal], made: dict[int, Literal], writers: set[int]) -> Literal:
        """The fluent's next value where one of the writers is made; only writers count in move sets."""
        own = list(values)
        sets, program = self._by_cone[fluent]
        for s in sets:
            inside = [m for m in self._members[s] if m in writers]
            whole = len(inside) == len(writers)
            literal = TRUE if whole else self.formula.any_of([made[m] for m in inside])
            set_value(own, self._circuit.sets[s], literal)
        unroll(self.formula, program, own)
        return own[self._circuit.fluent_next[fluent]]

    def ends(self) -> dict[int, Literal]:
        circuit, formula = self._circuit, self.formula
        clock = [f for f, is_clock in enumerate(self._independence.clock) if is_clock]
        values, goal_values = self._after(circuit.legal), self._after(circuit.goal)
        # All else is the same for every number of moves.
        timed, timed_goals = (_depending(program, clock) for program in (circuit.legal, circuit.goal))
        counts: dict[int, dict[Literal, list[int]]] = {}
        """Per goal, conditions at the end, with the numbers of moves for which they suffice."""
        for count, fluents in enumerate(self._clocks):
            for f in clock:
                for some in (values, goal_values):
                    set_value(some, fluent_literal(f), TRUE if fluents[f] else FALSE)
            unroll(formula, timed, values)
            unroll(formula, timed_goals, goal_values)
            over = values[circuit.terminal]
            for goal, literal in self._goals(goal_values).items():
                end = formula.all_of((over, literal))
                if end != FALSE:
                    counts.setdefault(goal, {}).setdefault(end, []).append(count)
            if over == TRUE:
                break
        if not clock:
            # The number of moves does not matter.
            return {goal: formula.any_of(ends) for goal, ends in counts.items()}
        moves = [literal for made in self.steps for literal in made.values()]

        def within(first: int, last: int) -> Literal:
            return formula.all_of((formula.at_least(first, moves), -formula.at_least(last + 1, moves)))

        return {
            goal: formula.any_of(
                formula.all_of((end, formula.any_of([within(*span) for span in _spans(numbers)])))
                for end, numbers in ends.items()
            )
            for goal, ends in counts.items()
        }


def _depending(program: Program, fluents: Iterable[int]) -> Program:
    """The part of a program that depends on these fluents."""
    dependent = {fluent_literal(f) >> 1 for f in fluents}
    size = -1
    while len(dependent) != size:
        size = len(dependent)
        dependent.update(out >> 1 for out, inputs, _ in program.gates if any(i >> 1 in dependent for i in inputs))
        dependent.update(loop >> 1 for loop, definition in program.loops if definition >> 1 in dependent)
    gates = [gate for gate in program.gates if gate.out >> 1 in dependent]
    return Program(gates, [(loop, definition) for loop, definition in program.loops if loop >> 1 in dependent])


def _spans(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending numbers as ranges (first, last)."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return spans


def _cones(circuit: GateLists) -> list[tuple[list[int], Program]]:
    """Per fluent, the move sets and the part of the next program that its next value depends on."""
    sets = {literal >> 1: s for s, literal in enumerate(circuit.sets)}
    gates = {gate.out >> 1: gate for gate in circuit.next.gates}
    loops = {loop >> 1: (loop, definition) for loop, definition in circuit.next.loops}
    result = []
    for following in circuit.circuit.outputs.next:
        cone = np.flatnonzero(needed(circuit.circuit, np.array([following]))).tolist()
        program = Program([gates[s] for s in cone if s in gates], [loops[s] for s in cone if s in loops])
        result.append(([sets[s] for s in cone if s in sets], program))
    return result


def set_value(values: list[Literal], literal: int, value: Literal) -> None:
    """Sets the value of a positive literal of the circuit, and that of its negation."""
    values[literal], values[literal + 1] = value, -value


def unroll(formula: Formula, program: Program, values: list[Literal]) -> None:
    """Fills the values of a program's gates with literals of a formula.

    Positive cycles become atoms with their least solution. Their definitions must not go through negation: an AND of
    negations becomes the negation of an atom defined by alternatives.
    """
    all_of = formula.all_of
    inner = {loop >> 1 for loop, _ in program.loops}
    """Signals that depend on a cycle."""
    for loop, _ in program.loops:
        set_value(values, loop, formula.atom())
    for out, inputs, cyclic in program.gates:
        literals = [values[i] for i in inputs]
        dependent = [values[i] for i in inputs if i >> 1 in inner] if cyclic else ()
        if not dependent or FALSE in literals:
            value = all_of(literals)
        else:
            inner.add(out >> 1)
            value = formula.atom()
            if dependent[0] > 0:
                formula.define(value, literals)
            else:
                for each in literals:
                    formula.define(value, (-each,))
                value = -value
        values[out], values[out + 1] = value, -value
    for loop, definition in program.loops:
        formula.define(values[loop], (values[definition],))
