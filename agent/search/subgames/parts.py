"""Independent parts of a game: games in their own right, played simultaneously or alternately.

Facts belong together where one depends on the other, through a rule for `next` or a condition of a legal move. Facts
that no move influences (counters, whose turn it is) belong to no part; any part may use them. Moves that are legal
under the same conditions on such facts are alternatives. A move acts on a part if its effect there differs from that of
most alternatives. Moves join the parts they act on, with two exceptions. Where each acts on one part only, a role
*chooses a part* in each step. Where moves act on several parts, and every combination of effects is a move, a role
moves *in all of them at once*.

Results are no influence: goals and the end may combine the parts in any way. But facts used together in one condition
of theirs belong together: else each square of a board on which only lines count would be a part. Conditions over all
parts, such as that a board is full, do not count.

The idea: Cox, Schkufza, Madsen, Genesereth: Factoring general games using propositional automata, 2009; Zhao, Schiffel,
Thielscher: Decomposition of multi-player games, 2009.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from games.gdl.circuit.circuit import Circuit
from games.gdl.circuit.outputs import mark_live
from games.gdl.circuit.pool import FLUENT, GATE, LOOP, MOVE_SET, N_SIGNALS, items_of
from games.machine import Term

Manner: TypeAlias = Literal["one", "choice", "all"]


@dataclass
class Part:
    """A part of a game."""

    facts: list[Term] = field(default_factory=list)
    moves: dict[int, list[Term]] = field(default_factory=dict)
    """Moves by role that act on the part."""


@dataclass(frozen=True)
class Parts:
    """A game's division into parts."""

    parts: list[Part]
    """Parts that moves act on, the largest first; a single one if the game does not divide."""
    manner: list[Manner]
    """Per role: it moves in `one` part (or none), makes a `choice` of one in each step, or moves in `all` of its parts
    at once."""
    time: list[Term]
    """Facts that no move influences."""
    idle: list[Term]
    """Facts without influence from moves or parts other than `time`; they belong to no part."""


def find_parts(circuit: Circuit) -> Parts:
    """The parts of an unfactored circuit. Time and memory are about linear in circuit times fluents."""
    return _Finder(circuit).parts()


class _Union:
    """Disjoint sets of numbers (Tarjan 1975)."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def find(self, one: int) -> int:
        while self._parent[one] != one:
            self._parent[one] = self._parent[self._parent[one]]
            one = self._parent[one]
        return one

    def join(self, some: Iterable[int]) -> bool:
        """Joins the sets of some numbers; whether anything changed."""
        roots = {self.find(one) for one in some}
        if len(roots) < 2:
            return False
        first = min(roots)
        for root in roots:
            self._parent[root] = first
        return True


class _Finder:
    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        self._n = len(circuit.fluents)
        self._set_numbers: dict[tuple[int, frozenset[int]], int] = {}
        self._sets: list[tuple[int, frozenset[int]]] = []
        self._inputs = self._inputs_of_signals()
        next_inputs = [self._inputs[int(literal) >> 1] for literal in circuit.outputs.next]
        self._time = self._time_fluents(next_inputs)
        self._union = _Union(self._n)
        self._next = [(self._facts(bits), _ones(bits >> (self._n + 1))) for bits in next_inputs]
        self._alternatives: list[list[list[int]]] = []
        """[roles][..]: moves with the same conditions on time."""

    # Inputs are bits of integers: fluents from bit 1 on, like their signals, then sets of moves.

    def _set(self, role: int, moves: frozenset[int]) -> int:
        number = self._set_numbers.setdefault((role, moves), len(self._set_numbers))
        if number == len(self._sets):
            self._sets.append((role, moves))
        return 1 << (self._n + 1 + number)

    def _items(self, signal: int) -> list[int]:
        items: list[int] = items_of(self._circuit.pool, signal).tolist()
        return items

    def _inputs_of_signals(self) -> list[int]:
        """Per signal, the fluents and move sets it depends on."""
        pool, outputs = self._circuit.pool, self._circuit.outputs
        n = int(pool.counts[N_SIGNALS])
        live = mark_live(pool, *outputs.roots())
        kind = pool.kind[:n].tolist()
        definition = dict(zip(outputs.loop_signal.tolist(), outputs.loop_definition.tolist(), strict=True))
        items = [self._items(signal) if live[signal] and kind[signal] == GATE else [] for signal in range(n)]
        result = [0] * n
        changed = True
        while changed:
            # Except for loops, signals come after their inputs.
            changed = False
            for signal in range(1, n):
                if not live[signal]:
                    continue
                if kind[signal] == FLUENT:
                    result[signal] = 1 << signal
                elif kind[signal] == MOVE_SET:
                    result[signal] = self._set(int(pool.owner[signal]), frozenset(self._items(signal)))
                elif kind[signal] == GATE:
                    result[signal] = self._inputs_of_gate(items[signal], items, result)
                elif kind[signal] == LOOP:
                    bits = result[definition[signal] >> 1]
                    changed |= bits != result[signal]
                    result[signal] = bits
        return result

    def _inputs_of_gate(self, literals: list[int], items: list[list[int]], result: list[int]) -> int:
        """Inputs of a gate. Alternatives that differ only in moves count as one, with all their moves."""
        pool, bits = self._circuit.pool, 0
        alike: dict[tuple[int, tuple[int, ...]], list[tuple[int, int]]] = defaultdict(list)
        for literal in literals:
            signal = literal >> 1
            sets = [one for one in items[signal] if pool.kind[one >> 1] == MOVE_SET] if literal & 1 else []
            if len(sets) == 1:
                rest = tuple(one for one in items[signal] if one != sets[0])
                alike[int(pool.owner[sets[0] >> 1]), rest].append((signal, sets[0]))
            else:
                bits |= result[signal]
        for (role, rest), found in alike.items():
            if len(found) == 1:
                bits |= result[found[0][0]]
                continue
            moves: set[int] = set()
            for _, literal in found:
                inside = set(self._items(literal >> 1))
                moves |= set(range(len(self._circuit.moves[role]))) - inside if literal & 1 else inside
            others = set(range(len(self._circuit.moves[role]))) - moves
            bits |= self._set(role, frozenset(moves if len(moves) <= len(others) else others))
            for one in rest:
                bits |= result[one >> 1]
        return bits

    def _time_fluents(self, next_inputs: Sequence[int]) -> set[int]:
        """Fluents that depend on no move, nor on a fluent that does."""
        fluents = (1 << (self._n + 1)) - 1
        moved = {fluent for fluent, bits in enumerate(next_inputs) if bits & ~fluents}
        while True:
            mask = sum(1 << (fluent + 1) for fluent in moved)
            more = {fluent for fluent, bits in enumerate(next_inputs) if fluent not in moved and bits & mask}
            if not more:
                return set(range(self._n)) - moved
            moved |= more

    def _facts(self, bits: int) -> list[int]:
        """The fluents among inputs, without those of time."""
        bits &= (1 << (self._n + 1)) - 1
        return [fluent for fluent in (signal - 1 for signal in _ones(bits)) if fluent not in self._time]

    # --- putting together

    def parts(self) -> Parts:
        for fluent, (facts, _) in enumerate(self._next):
            if fluent not in self._time:
                self._union.join([fluent, *facts])
        conditions = self._conditions()
        while self._join_by_moves(conditions):
            pass
        self._join_asked_together()
        while self._join_by_moves(conditions):
            pass
        return self._result(conditions)

    def _conditions(self) -> list[list[list[tuple[int, int]]]]:
        """[roles][moves]: conditions for legality of a move, each as its literal and one of its fluents."""
        pool, result, place = self._circuit.pool, [], 0
        for moves in self._circuit.moves:
            of_role = []
            together: dict[tuple[int, ...], list[int]] = defaultdict(list)
            for move, literal in enumerate(self._circuit.outputs.legal[place : place + len(moves)].tolist()):
                signal = literal >> 1
                literals = [literal]
                if not literal & 1 and pool.kind[signal] == GATE:
                    literals = self._items(signal)
                found, of_time = [], []
                for one in literals:
                    facts = self._facts(self._inputs[one >> 1])
                    if facts:
                        self._union.join(facts)
                        found.append((one, facts[0]))
                    else:
                        of_time.append(one)
                of_role.append(found)
                together[tuple(sorted(of_time))].append(move)
            place += len(moves)
            self._alternatives.append(list(together.values()))
            result.append(of_role)
        return result

    def _join_asked_together(self) -> None:
        """Joins facts used together in one condition of goals or the end, unless it uses facts of every part."""
        pool, outputs = self._circuit.pool, self._circuit.outputs
        roots = np.concatenate((outputs.terminal, outputs.goal))
        live = mark_live(pool, roots, outputs.loop_signal, outputs.loop_definition)
        # The parts before any of these conditions is applied.
        part = [self._union.find(fluent) for fluent in range(self._n)]
        everything = {part[fluent] for fluent in range(self._n) if self._next[fluent][1]}
        for signal in np.flatnonzero(live).tolist():
            if pool.kind[signal] == GATE:
                items = [literal >> 1 for literal in self._items(signal)]
                facts = [one - 1 for one in items if pool.kind[one] == FLUENT and one - 1 not in self._time]
                if not everything <= {part[fact] for fact in facts}:
                    self._union.join(facts)

    def _signatures(self, conditions: list[list[list[tuple[int, int]]]]) -> list[list[dict[int, frozenset[int]]]]:
        """[roles][moves]: for each part a move acts on, its effect there, equal for moves with the same effect."""
        result: list[list[dict[int, frozenset[int]]]] = []
        marks: list[list[dict[int, set[int]]]] = [[defaultdict(set) for _ in moves] for moves in self._circuit.moves]
        by_part: dict[int, set[int]] = defaultdict(set)
        for fluent, (_, sets) in enumerate(self._next):
            by_part[self._union.find(fluent)].update(sets)
        for part, numbers in by_part.items():
            for number in numbers:
                role, members = self._sets[number]
                for move in members:
                    marks[role][move][part].add(-1 - number)
        for role, of_role in enumerate(conditions):
            for move, found in enumerate(of_role):
                for literal, fact in found:
                    marks[role][move][self._union.find(fact)].add(literal)
            acts: list[dict[int, frozenset[int]]] = [{} for _ in of_role]
            # A move without alternatives is no choice.
            for moves in (some for some in self._alternatives[role] if len(some) > 1):
                for part in {part for move in moves for part in marks[role][move]}:
                    signatures = [frozenset(marks[role][move].get(part, ())) for move in moves]
                    usual, number = max(Counter(signatures).items(), key=lambda item: (item[1], not item[0]))
                    for move, signature in zip(moves, signatures, strict=True):
                        # Where all effects differ, none is usual.
                        if signature != usual or (number == 1 and usual):
                            acts[move][part] = signature
            result.append(acts)
        return result

    def _join_by_moves(self, conditions: list[list[list[tuple[int, int]]]]) -> bool:
        """Joins parts that moves act on together, unless all combinations are moves; whether anything changed."""
        changed = False
        for alternatives, of_role in zip(self._alternatives, self._signatures(conditions), strict=True):
            for moves in alternatives:
                acts = [of_role[move] for move in moves]
                for group in _groups(acts):
                    if len(group) > 1 and not _is_product(group, acts):
                        changed |= self._union.join(group)
        return changed

    def _result(self, conditions: list[list[list[tuple[int, int]]]]) -> Parts:
        circuit = self._circuit
        found: dict[int, Part] = defaultdict(Part)
        manner: list[Manner] = []
        for role, of_role in enumerate(self._signatures(conditions)):
            for move, marks in zip(circuit.moves[role], of_role, strict=True):
                for part in marks:
                    found[part].moves.setdefault(role, []).append(move)
            acted_on = {part for marks in of_role for part in marks}
            several = any(len(marks) > 1 for marks in of_role)
            manner.append("one" if len(acted_on) < 2 else "all" if several else "choice")
        idle = []
        for fluent, term in enumerate(circuit.fluents):
            if fluent not in self._time:
                part = self._union.find(fluent)
                if part in found:
                    found[part].facts.append(term)
                else:
                    idle.append(term)
        parts = sorted(found.values(), key=lambda part: -len(part.facts))
        return Parts(parts, manner, [circuit.fluents[fluent] for fluent in sorted(self._time)], idle)


def _groups(acts: list[dict[int, frozenset[int]]]) -> list[list[int]]:
    """Groups of parts on which alternatives act together, directly or through others."""
    numbers = {part: i for i, part in enumerate(dict.fromkeys(part for marks in acts for part in marks))}
    union = _Union(len(numbers))
    for marks in acts:
        union.join(numbers[part] for part in marks)
    groups: dict[int, list[int]] = defaultdict(list)
    for part, number in numbers.items():
        groups[union.find(number)].append(part)
    return list(groups.values())


def _is_product(group: list[int], acts: list[dict[int, frozenset[int]]]) -> bool:
    """Whether the alternatives are all combinations of their effects in each part."""
    usual: frozenset[int] = frozenset()
    combinations = {tuple(marks.get(part, usual) for part in group) for marks in acts}
    wanted = 1
    for place in range(len(group)):
        wanted *= len({one[place] for one in combinations})
    return len(combinations) == wanted


def _ones(bits: int) -> list[int]:
    """Indices of the set bits."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found
