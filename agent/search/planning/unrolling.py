"""Plans as formulas: the circuit unrolled over time, with one move a step or with independent moves at once.

The first is planning as satisfiability (Kautz and Selman, 1992). The second makes moves whose order does not matter in
one step ("for all" steps; Rintanen, Heljanko and Niemela: Planning as satisfiability: parallel plans and algorithms for
plan search, 2006): fill-in puzzles need few steps, and no search for an order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence

from agent.search.planning.formula import FALSE, TRUE, Formula, Literal
from agent.search.planning.gate_lists import Block, GateLists
from agent.search.planning.independence import Independence, Reachable, bits
from agent.search.planning.move_choices import MoveChoices
from games.gdl.running.layout import FIRST_FLUENT, SLOT_FALSE, SLOT_TRUE


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

    def _state_slots(self, n_slots: int) -> list[Literal]:
        slots = [FALSE] * n_slots
        slots[SLOT_TRUE], slots[SLOT_FALSE] = TRUE, FALSE
        slots[FIRST_FLUENT : FIRST_FLUENT + len(self._fluents)] = self._fluents
        return slots

    def _legal_slots(self) -> list[Literal]:
        """The slots after the legal program."""
        slots = self._state_slots(self._circuit.n_slots)
        unroll(self.formula, self._circuit.legal, slots)
        return slots

    def _goal_slots(self) -> list[Literal]:
        """The slots after the goal program."""
        slots = self._state_slots(self._circuit.n_goal_slots)
        unroll(self.formula, self._circuit.goal, slots)
        return slots

    def _goals(self, slots: list[Literal]) -> dict[int, Literal]:
        """Per goal value, whether it holds with these goal slots."""
        holds: dict[int, list[Literal]] = {}
        for value, slot in zip(self._circuit.goal_value, self._circuit.goal_slot, strict=True):
            holds.setdefault(value, []).append(slots[slot])
        return {value: self.formula.any_of(literals) for value, literals in holds.items()}


class Sequential(Unrolling):
    """An unrolling with one move a step, made of `choices`; finished matches have no more moves."""

    def __init__(self, circuit: GateLists, state: Sequence[int], choices: MoveChoices) -> None:
        super().__init__(circuit, state)
        self.moves_taken = choices.move_of
        self._choices = choices
        self._slots = self._legal_slots()
        self._over: list[tuple[Literal, list[Literal]]] = []
        """Per step, whether the match is over, and the fluents."""

    def extend(self) -> bool:
        circuit, formula, slots = self._circuit, self.formula, self._slots
        over = slots[circuit.terminal_slot]
        self._over.append((over, self._fluents))
        if over == TRUE:
            return False
        options = self._choices.options
        legal = [self._legal(choice) for choice in self._choices.choices]
        if not all(legal):
            return False
        self.steps.append({})
        # Sets without an option stay empty.
        slots[circuit.first_set : circuit.first_set + circuit.n_sets] = [FALSE] * circuit.n_sets
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
                slots[circuit.first_set + s] = TRUE if all_options else formula.any_of(literals)
        unroll(formula, circuit.next, slots)
        self._fluents = [slots[slot] for slot in circuit.next_slot]
        self._slots = self._legal_slots()
        return True

    def _legal(self, choice: Iterable[int]) -> dict[int, Literal]:
        """The options of a choice that may be legal, and whether they are."""
        options = self._choices.options
        legal = {o: self.formula.all_of(self._slots[slot] for slot in options[o].conditions) for o in choice}
        return {option: literal for option, literal in legal.items() if literal != FALSE}

    def ends(self) -> dict[int, Literal]:
        if len(self._over) == len(self.steps):
            self._over.append((self._slots[self._circuit.terminal_slot], self._fluents))
        formula = self.formula
        ends: dict[int, list[Literal]] = {}
        before = FALSE
        for over, fluents in self._over:
            if over == FALSE:
                continue
            self._fluents = fluents
            first = formula.all_of((over, -before))
            for value, literal in self._goals(self._goal_slots()).items():
                ends.setdefault(value, []).append(formula.all_of((first, literal)))
            before = formula.any_of((before, over))
        return {value: formula.any_of(literals) for value, literals in ends.items()}


class Parallel(Unrolling):
    """An unrolling with any independent moves in a step; `clocks` has the clock fluents by number of moves."""

    def __init__(
        self,
        circuit: GateLists,
        state: Sequence[int],
        within: Reachable,
        independence: Independence,
        clocks: Sequence[Sequence[int]],
    ) -> None:
        super().__init__(circuit, state)
        # Each option is a move.
        self.moves_taken = list
        self._within = within
        self._independence = independence
        self._clocks = clocks
        self._affecting: list[list[int]] = [[] for _ in range(circuit.n_fluents)]
        self._reading: list[list[int]] = [[] for _ in range(circuit.n_fluents)]
        for m in within.moves:
            for f in bits(independence.affects[m]):
                self._affecting[f].append(m)
            for f in bits(independence.reads[m]):
                self._reading[f].append(m)
        self._members: list[list[int]] = [[] for _ in range(circuit.n_sets)]
        for m in within.moves:
            for s in circuit.sets_of[m]:
                self._members[s].append(m)
        self._by_cone = _cones(circuit)

    def extend(self) -> bool:
        circuit, formula = self._circuit, self.formula
        slots = self._legal_slots()
        over = slots[circuit.terminal_slot]
        made: dict[int, Literal] = {}
        for m in self._within.moves:
            literal = formula.choice(formula.all_of((slots[circuit.legal_slot[m]], -over)))
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
            following[f] = formula.either(changed, self._next_of(f, slots, made, set(writers)), self._fluents[f])
        self._fluents = following
        return True

    def _next_of(self, fluent: int, slots: list[Literal], made: dict[int, Literal], writers: set[int]) -> Literal:
        """The fluent's next value where one of the writers is made; only writers count in move sets."""
        own = list(slots)
        sets, blocks = self._by_cone[fluent]
        for s in sets:
            inside = [m for m in self._members[s] if m in writers]
            whole = len(inside) == len(writers)
            own[self._circuit.first_set + s] = TRUE if whole else self.formula.any_of([made[m] for m in inside])
        unroll(self.formula, blocks, own)
        return own[self._circuit.next_slot[fluent]]

    def ends(self) -> dict[int, Literal]:
        circuit, formula = self._circuit, self.formula
        clock = [f for f, is_clock in enumerate(self._independence.clock) if is_clock]
        slots, goal_slots = self._legal_slots(), self._goal_slots()
        # All else is the same for every number of moves.
        timed, timed_goals = (_depending(program, clock) for program in (circuit.legal, circuit.goal))
        counts: dict[int, dict[Literal, list[int]]] = {}
        """Per goal value, conditions at the end, with the numbers of moves for which they suffice."""
        for count, values in enumerate(self._clocks):
            for f in clock:
                slots[FIRST_FLUENT + f] = goal_slots[FIRST_FLUENT + f] = TRUE if values[f] else FALSE
            unroll(formula, timed, slots)
            unroll(formula, timed_goals, goal_slots)
            over = slots[circuit.terminal_slot]
            for value, literal in self._goals(goal_slots).items():
                end = formula.all_of((over, literal))
                if end != FALSE:
                    counts.setdefault(value, {}).setdefault(end, []).append(count)
            if over == TRUE:
                break
        if not clock:
            # The number of moves does not matter.
            return {value: formula.any_of(ends) for value, ends in counts.items()}
        moves = [literal for made in self.steps for literal in made.values()]

        def within(first: int, last: int) -> Literal:
            return formula.all_of((formula.at_least(first, moves), -formula.at_least(last + 1, moves)))

        return {
            value: formula.any_of(
                formula.all_of((end, formula.any_of([within(*span) for span in _spans(numbers)])))
                for end, numbers in ends.items()
            )
            for value, ends in counts.items()
        }


def _depending(program: list[Block], fluents: Iterable[int]) -> list[Block]:
    """The gates of a program that depend on these fluents; of cyclic components all, if any does."""
    dependent = {FIRST_FLUENT + f for f in fluents}
    blocks = []
    for block in program:
        gates = []
        for gate in block.gates:
            if not dependent.isdisjoint(gate.inputs):
                dependent.add(gate.out)
                gates.append(gate)
        if gates and block.loops:
            gates = block.gates
            dependent.update(gate.out for gate in gates)
            dependent.update(loop for loop, _ in block.loops)
        if gates:
            blocks.append(Block(gates, block.loops))
    return blocks


def _spans(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending numbers as ranges (first, last)."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return spans


def _cones(circuit: GateLists) -> list[tuple[list[int], list[Block]]]:
    """Per fluent, the move sets and the blocks of the next program that its next value depends on."""
    of_slot: dict[int, tuple[int, int]] = {}
    for b, block in enumerate(circuit.next):
        for g, gate in enumerate(block.gates):
            of_slot[gate.out] = (b, g)
        for loop, _ in block.loops:
            of_slot[loop] = (b, -1)
    result = []
    for slot in circuit.next_slot:
        sets: set[int] = set()
        gates: dict[int, set[int]] = {}
        stack = [slot]
        seen = {slot}
        while stack:
            at = stack.pop()
            if circuit.first_set <= at < circuit.first_set + circuit.n_sets:
                sets.add(at - circuit.first_set)
                continue
            if at not in of_slot:
                continue
            b, g = of_slot[at]
            block = circuit.next[b]
            inputs: list[int] = []
            if block.loops:
                if b not in gates:
                    gates[b] = set(range(len(block.gates)))
                    inputs = [i for gate in block.gates for i in gate.inputs] + [slot for _, slot in block.loops]
            else:
                gates.setdefault(b, set()).add(g)
                inputs = list(block.gates[g].inputs)
            for i in inputs:
                if i not in seen:
                    seen.add(i)
                    stack.append(i)
        blocks = [
            Block([circuit.next[b].gates[g] for g in sorted(members)], circuit.next[b].loops)
            for b, members in sorted(gates.items())
        ]
        result.append((sorted(sets), blocks))
    return result


def unroll(formula: Formula, blocks: list[Block], slots: list[Literal]) -> None:
    """Fills the slots of a program with literals of a formula."""
    all_of: Callable[[Iterable[Literal]], Literal] = formula.all_of
    for block in blocks:
        if block.loops:
            _unroll_cycle(formula, block, slots)
            continue
        for out, flip, inputs in block.gates:
            literal = all_of([slots[i] for i in inputs])
            slots[out] = -literal if flip else literal


def _unroll_cycle(formula: Formula, block: Block, slots: list[Literal]) -> None:
    """`unroll` for a cyclic component, by atoms with their least solution.

    Their definitions must not go through negation: an AND of negations becomes the negation of an atom defined by
    alternatives.
    """
    inner: set[int] = set()
    """Slots that depend on the signals of the cycle."""
    for loop, _ in block.loops:
        slots[loop] = formula.atom()
        inner.add(loop)
    for out, flip, inputs in block.gates:
        literals = [slots[i] for i in inputs]
        dependent = [slots[i] for i in inputs if i in inner]
        if not dependent or FALSE in literals:
            literal = formula.all_of(literals)
        else:
            inner.add(out)
            atom = formula.atom()
            if dependent[0] > 0:
                formula.define(atom, literals)
                literal = atom
            else:
                for each in literals:
                    formula.define(atom, (-each,))
                literal = -atom
        slots[out] = -literal if flip else literal
    for loop, definition in block.loops:
        formula.define(slots[loop], (slots[definition],))
