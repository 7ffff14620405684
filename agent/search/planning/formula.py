"""A propositional formula that grows as a circuit is unrolled: literals, definitions and constraints, given to clasp.

Literals are integers as clingo has them: an atom, or minus an atom. Atom 1 is true. What is defined twice by the same
literals is one atom, and constants are folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import clingo

Literal = int

TRUE: Literal = 1
FALSE: Literal = -1

OPTIONS = ("--warn=none",)
"""Of clingo. The solver keeps its standard settings: no other configuration was better on most of ten puzzles, and with
`jumpy` and `handy` a pocket cube took more than twice as long."""


class Formula:
    """Definitions and constraints over atoms 1..`n_atoms`, in the order in which they were made."""

    def __init__(self) -> None:
        self.n_atoms = 1
        self.size = 0
        """Literals in all bodies: a measure of memory."""
        self._rules: list[tuple[int, Sequence[Literal]]] = [(TRUE, ())]
        """Head (0: none, the body must not hold) and body."""
        self._choices: list[tuple[int, Sequence[Literal]]] = []
        self._bounds: list[tuple[int, int, Sequence[Literal]]] = []
        """Head (0: none), how many literals at least, of which."""
        self._known: dict[tuple[Literal, ...], int] = {}
        self._counted: dict[tuple[int, ...], int] = {}

    def atom(self) -> Literal:
        """A new atom; false unless `define` or `choice` says otherwise."""
        self.n_atoms += 1
        return self.n_atoms

    def choice(self, condition: Literal = TRUE) -> Literal:
        """A new atom that may be true where the condition holds."""
        if condition == FALSE:
            return FALSE
        atom = self.atom()
        self._choices.append((atom, () if condition == TRUE else (condition,)))
        return atom

    def define(self, atom: Literal, body: Iterable[Literal]) -> None:
        """The atom holds where all of these do; with several definitions, where any of them does.

        Definitions may go in circles without negation: atoms hold only where there is a reason that ends.
        """
        kept = self._simplified(body)
        if kept is not None:
            self._rules.append((atom, kept))
            self.size += len(kept) + 1

    def all_of(self, literals: Iterable[Literal]) -> Literal:
        """Whether all of these hold."""
        kept = self._simplified(literals)
        if kept is None:
            return FALSE
        if not kept:
            return TRUE
        if len(kept) == 1:
            return kept[0]
        key = tuple(sorted(kept))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self.atom()
            self._rules.append((known, key))
            self.size += len(key) + 1
        return known

    def any_of(self, literals: Iterable[Literal]) -> Literal:
        """Whether any of these holds."""
        return -self.all_of([-literal for literal in literals])

    def either(self, condition: Literal, then: Literal, otherwise: Literal) -> Literal:
        """One literal where the condition holds, the other where it does not."""
        if then == otherwise:
            return then
        return self.any_of((self.all_of((condition, then)), self.all_of((-condition, otherwise))))

    def forbid(self, literals: Iterable[Literal]) -> None:
        """Not all of these may hold."""
        kept = self._simplified(literals)
        if kept is not None:
            self._rules.append((0, kept))
            self.size += len(kept) + 1

    def at_least(self, count: int, literals: Sequence[Literal]) -> Literal:
        """Whether at least `count` of these (that are different) hold."""
        certain = sum(literal == TRUE for literal in literals)
        open_ones = [literal for literal in literals if abs(literal) != TRUE]
        count -= certain
        if count <= 0:
            return TRUE
        if count > len(open_ones):
            return FALSE
        if count == 1:
            return self.any_of(open_ones)
        key = (count, *open_ones)
        atom = self._counted.get(key)
        if atom is None:
            atom = self._counted[key] = self.atom()
            self._bounds.append((atom, count, open_ones))
            self.size += len(open_ones) + 1
        return atom

    def at_most_one(self, literals: Sequence[Literal]) -> None:
        """No two of these may hold."""
        two = self.at_least(2, literals)
        self.forbid((two,))

    def control(self) -> clingo.Control:
        """A solver with this formula in it."""
        control = clingo.Control(OPTIONS)
        with control.backend() as backend:
            for head, body in self._rules:
                backend.add_rule([head] if head else [], body)
            for head, body in self._choices:
                backend.add_rule([head], body, choice=True)
            for head, count, literals in self._bounds:
                backend.add_weight_rule([head], count, [(literal, 1) for literal in literals])
        return control

    @staticmethod
    def _simplified(literals: Iterable[Literal]) -> list[Literal] | None:
        """Without repeats and what is true; None where something is false, or holds along with its negation."""
        kept: dict[Literal, None] = {}
        for literal in literals:
            if literal == TRUE:
                continue
            if literal == FALSE or -literal in kept:
                return None
            kept[literal] = None
        return list(kept)
