"""Bodies of random rules, over sorts of terms.

Every variable has a sort, a finite set of terms, and stands only where terms of its sort belong. So nothing grows
without end, and a rule's instances can be counted before it is written down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import Any

Term = Any

MOST_INSTANCES = 1500
"""Ground instances of one rule, at most: what keeps the naive evaluator bearable."""


@dataclass(eq=False)
class Sort:
    """A finite set of terms: constants, and functions of other sorts."""

    name: str
    """The relation that holds for its terms; empty where there is none."""
    constants: list[str] = field(default_factory=list)
    functions: list[tuple[str, list[Sort]]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The number of its terms."""
        return len(self.constants) + sum(prod([sort.size for sort in sorts]) for _, sorts in self.functions)


@dataclass(frozen=True)
class Relation:
    """Something that can stand in a body: `wrap` makes the atom of its arguments."""

    name: str
    sorts: tuple[Sort, ...]
    wrap: Callable[[tuple[Term, ...]], Term]
    closed: bool = False
    """Whether it may only be asked with all variables bound."""

    def atom(self, arguments: Sequence[Term]) -> Term:
        """The atom with these arguments."""
        return self.wrap(tuple(arguments))


def relation(name: str, *sorts: Sort) -> Relation:
    """A relation of the sheet's own."""
    return Relation(name, sorts, lambda arguments: (name, *arguments) if arguments else name)


def fluent(name: str, *sorts: Sort) -> Relation:
    """`(true (name ...))`."""
    return Relation(name, sorts, lambda arguments: ("true", (name, *arguments) if arguments else name))


def inner(name: str, arguments: Sequence[Term]) -> Term:
    """A function term, or a constant."""
    return (name, *arguments) if arguments else name


class Body:
    """The body of a rule in the making."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.deepest = 4 if rng.random() < 0.1 else 2
        """How deep formulas that bind nothing are nested."""
        self.literals: list[Term] = []
        self.bound: dict[str, Sort] = {}
        self.instances = 1
        self._made = 0

    def fresh(self, sort: Sort) -> str:
        """A new variable."""
        self._made += 1
        name = f"?{'xyzuvwpq'[self._made % 8]}{self._made}"
        self.bound[name] = sort
        self.instances *= sort.size
        return name

    def stray(self) -> str:
        """A new variable that stays unbound."""
        self._made += 1
        return f"?stray{self._made}"

    def known(self, sort: Sort) -> list[str]:
        """The variables of a sort."""
        return [name for name, other in self.bound.items() if other is sort]

    def term(self, sort: Sort, new: float = 0.6) -> Term:
        """A term for a positive literal: it may bring variables of its own."""
        rng = self.rng
        if sort.functions and rng.random() < 0.6:
            name, sorts = rng.choice(sort.functions)
            return inner(name, [self.term(part, new) for part in sorts])
        known = self.known(sort)
        if known and rng.random() > new * 0.6:
            return rng.choice(known)
        if self.instances * sort.size <= MOST_INSTANCES and (rng.random() < 0.85 or not sort.constants):
            return self.fresh(sort)
        return rng.choice(known) if known else self.ground(sort)

    def ground(self, sort: Sort) -> Term:
        """A term without variables."""
        rng = self.rng
        if sort.functions and (not sort.constants or rng.random() < 0.5):
            name, sorts = rng.choice(sort.functions)
            return inner(name, [self.ground(part) for part in sorts])
        return rng.choice(sort.constants)

    def closed(self, sort: Sort, constant: float = 0.2) -> Term:
        """A term of variables that are bound already."""
        rng = self.rng
        known = self.known(sort)
        if known and rng.random() > constant:
            return rng.choice(known)
        if sort.functions and (not sort.constants or rng.random() < 0.7):
            name, sorts = rng.choice(sort.functions)
            return inner(name, [self.closed(part, constant) for part in sorts])
        return rng.choice(sort.constants)

    def positive(self, source: Relation, new: float = 0.6) -> None:
        """Adds a literal that may bind variables."""
        self.literals.append(source.atom([self.term(sort, new) for sort in source.sorts]))

    def head_terms(self, sorts: Sequence[Sort]) -> list[Term]:
        """Arguments of a head, bound where need be by the relation that holds for their sort."""
        result = []
        for sort in sorts:
            known = self.known(sort)
            if known and self.rng.random() < 0.8:
                result.append(self.rng.choice(known))
            elif sort.functions and (not sort.constants or self.rng.random() < 0.8):
                name, parts = self.rng.choice(sort.functions)
                result.append(inner(name, self.head_terms(parts)))
            elif self.instances * sort.size <= MOST_INSTANCES and self.rng.random() < 0.75 and sort.name:
                result.append(self.fresh(sort))
                self.literals.append((sort.name, result[-1]))
            else:
                result.append(self.closed(sort))
        return result

    def unequal(self) -> Term | None:
        """A `distinct` of two bound variables, or of one and a term; seldom its negation."""
        names = list(self.bound)
        if not names:
            return None
        name = self.rng.choice(names)
        others = [other for other in self.known(self.bound[name]) if other != name]
        right = self.rng.choice(others) if others and self.rng.random() < 0.7 else self.ground(self.bound[name])
        literal = ("distinct", name, right) if self.rng.random() < 0.7 else ("distinct", right, name)
        return ("not", literal) if self.rng.random() < 0.1 else literal

    def test(self, sources: Sequence[Relation], depth: int | None = None) -> Term | None:
        """A formula about bound variables: it binds nothing."""
        rng = self.rng
        depth = self.deepest if depth is None else depth
        kind = rng.random()
        if depth > 2:
            # Disjunctions in disjunctions, and in negations.
            kind *= 0.6
        if kind < 0.3:
            return self.unequal()
        if kind < 0.45 and depth:
            parts = [self.test(sources, depth - 1) for _ in range(rng.choice((2, 2, 3)))]
            found = [part for part in parts if part is not None]
            if found and rng.random() < 0.15:
                return ("not", (rng.choice(("or", "and")), *found))
            return ("or", *found) if found else None
        if kind < 0.5 and depth:
            parts = [self.test(sources, depth - 1) for _ in range(2)]
            found = [part for part in parts if part is not None]
            return ("and", *found) if found else None
        source = rng.choice(sources)
        arguments = [self.closed(sort) for sort in source.sorts]
        if arguments and not source.closed and rng.random() < 0.06:
            # A variable that nothing else has: for none of its values.
            arguments[rng.randrange(len(arguments))] = self.stray()
            return ("not", source.atom(arguments))
        atom = source.atom(arguments)
        return ("not", atom) if rng.random() < 0.6 else atom

    def alternatives(self, sources: Sequence[Relation], tested: Sequence[Relation]) -> None:
        """Adds an `or` each of whose branches binds the same new variable."""
        source = self.rng.choice(sources)
        if not source.sorts:
            return
        sort = self.rng.choice(source.sorts)
        if self.instances * sort.size > MOST_INSTANCES:
            return
        fitting = [other for other in sources if sort in other.sorts]
        name = self.fresh(sort)
        branches = []
        for _ in range(self.rng.choice((2, 2, 3))):
            other = self.rng.choice(fitting)
            place = self.rng.choice([i for i, part in enumerate(other.sorts) if part is sort])
            before, count = dict(self.bound), self.instances
            atom = other.atom([name if i == place else self.term(part, 0.4) for i, part in enumerate(other.sorts)])
            branch = atom
            if self.rng.random() < 0.3:
                test = self.test(tested, 0)
                branch = ("and", atom, test) if test is not None else atom
            self.bound, self.instances = before, count
            branches.append(branch)
        self.literals.append(("or", *branches))

    def tests(self, sources: Sequence[Relation], count: int) -> None:
        """Adds some formulas that bind nothing."""
        for _ in range(count):
            found = self.test(sources)
            if found is not None:
                self.literals.append(found)
