"""Moves as several choices made at once: 2,187 moves may be seven choices, each between three options.

A move has *marks*: its move sets, and the conditions of its legality. Marks that depend on each other belong to one
choice. Moves divide into choices if every combination of options is a move. The state need not divide into parts: two
robots that move at once are two choices, even where they meet.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import NamedTuple

from agent.search.planning.gate_lists import Gate, GateLists
from games.gdl.circuit.pool import TRUE


class Option(NamedTuple):
    """An option of one choice."""

    marks: frozenset[int]
    conditions: list[int]
    """Literals of the circuit: the option is legal where all of them hold."""
    sets: list[int]
    """Its move sets, numbered from 0; no other choice has them."""


class MoveChoices(NamedTuple):
    """The choices that make up a move, which takes one option of each."""

    options: list[Option]
    choices: list[list[int]]
    """Per choice, indices of its options."""
    moves: dict[frozenset[int], int]
    """Moves by their marks; of several moves that are alike, one."""

    def move_of(self, taken: list[int]) -> list[int]:
        """The move that takes these options; nothing where they are too few."""
        if len(taken) < len(self.choices):
            return []
        return [self.moves[frozenset().union(*(self.options[option].marks for option in taken))]]


def find_choices(circuit: GateLists) -> MoveChoices:
    """The smallest choices that make up the moves; one choice between the moves where these do not divide."""
    gates = {gate.out: gate for gate in circuit.legal.gates}
    # Move sets are marks by their numbers, literals l by -1 - l.
    conditions = {legal: [-1 - c for c in _conditions(legal, gates)] for legal in set(circuit.move_legal)}
    every = [
        frozenset(conditions[legal]).union(sets)
        for legal, sets in zip(circuit.move_legal, circuit.sets_of, strict=True)
    ]
    moves = {marks: m for m, marks in enumerate(every)}
    groups = _dependent_marks(moves)
    found = [list(dict.fromkeys(marks & group for marks in moves)) for group in groups]
    if sum(len(some) > 1 for some in found) < 2 or prod(map(len, found)) != len(moves):
        options = [
            Option(*one) for one in zip(every, ([legal] for legal in circuit.move_legal), circuit.sets_of, strict=True)
        ]
        return MoveChoices(options, [list(range(len(options)))], moves)
    options, choices = [], []
    for some in found:
        choices.append(list(range(len(options), len(options) + len(some))))
        options += [
            Option(marks, [-1 - mark for mark in marks if mark < 0], [mark for mark in marks if mark >= 0])
            for marks in some
        ]
    return MoveChoices(options, choices, moves)


def _conditions(literal: int, gates: dict[int, Gate]) -> set[int]:
    """The literals whose conjunction a literal is; `gates` are the gates by their outputs."""
    found: set[int] = set()
    seen: set[int] = set()
    stack = [literal]
    while stack:
        at = stack.pop()
        if at in seen or at == TRUE:
            continue
        seen.add(at)
        if at in gates:
            stack.extend(gates[at].inputs)
        else:
            found.add(at)
    return found


def _dependent_marks(moves: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """The smallest groups such that marks of different ones are independent: as frequent together as by chance."""
    holders: dict[int, set[int]] = {}
    n_moves = 0
    for n_moves, marks in enumerate(moves, 1):
        for mark in marks:
            holders.setdefault(mark, set()).add(n_moves)
    groups: list[list[int]] = []
    for mark, having in holders.items():
        own, apart = [mark], []
        for group in groups:
            if any(len(having & holders[other]) * n_moves != len(having) * len(holders[other]) for other in group):
                own += group
            else:
                apart.append(group)
        groups = [*apart, own]
    return [frozenset(group) for group in groups]
