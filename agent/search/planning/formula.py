"""A propositional formula for clasp: literals, definitions and constraints.

Literals are clingo's: an atom, or minus an atom. Atom 1 is true. Equal definitions share an atom, and constants are
folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import clingo

Literal = int

TRUE: Literal = 1
FALSE: Literal = -1

OPTIONS = ("--warn=none",)
"""clingo's options. Its standard settings were no worse than other configurations (see docs/experiments.md)."""


class Formula:
    """Definitions and constraints over atoms 1..`n_atoms`, in the order in which they were made."""

    def __init__(self) -> None:
        self.n_atoms = 1
        self.size = 0
        """Literals in all bodies: a measure of memory."""
        self._rules: list[tuple[int, Sequence[Literal]]] = [(TRUE, ())]
        """Head and body; head 0 forbids the body."""
        self._choices: list[tuple[int, Sequence[Literal]]] = []
        self._bounds: list[tuple[int, int, Sequence[Literal]]] = []
        """Head, least number of true literals, and the literals."""
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
        """Makes the atom true where all of these hold; several definitions are alternatives.

        Definitions may be cyclic, without negation: the least solution counts.
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
        """Forbids that all of these hold."""
        kept = self._simplified(literals)
        if kept is not None:
            self._rules.append((0, kept))
            self.size += len(kept) + 1

    def at_least(self, count: int, literals: Sequence[Literal]) -> Literal:
        """Whether at least `count` of these different literals hold."""
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
        """Forbids that two of these hold."""
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
        """The literals without repeats and true ones; None where the conjunction is false."""
        kept: dict[Literal, None] = {}
        for literal in literals:
            if literal == TRUE:
                continue
            if literal == FALSE or -literal in kept:
                return None
            kept[literal] = None
        return list(kept)
