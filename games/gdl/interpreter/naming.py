"""Names in generated code: terms as Python expressions, relations as global variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from games.gdl.interpreter.unfolding import Unfolding
from games.gdl.rules.terms import Predicate, iterate_variables
from games.machine import Term


class Linker(Protocol):
    """The source of relations for generated code: names of the global variables that hold them."""

    def is_derived(self, relation: Predicate) -> bool:
        """Whether the relation is defined by rules and has no stored rows."""

    def is_whole(self, relation: Predicate) -> bool:
        """Whether the relation is derived and computed as a whole in each state."""

    def is_varying(self, relation: Predicate) -> bool:
        """Whether the relation's rows are facts of the state."""

    def table(self, relation: Predicate, pattern: str) -> str:
        """The suffix of the names of a derived relation's table."""

    def index(self, relation: Predicate, pattern: str) -> str:
        """The name of the index of a relation with rows, other than `does`."""

    def moves(self, relation: Predicate) -> str:
        """The name of the list of rows of `does`, or of a predicate unfolded from it."""


def tuple_source(parts: Sequence[str]) -> str:
    """Source of a tuple of expressions."""
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def value_source(parts: Sequence[str]) -> str:
    """Source of a key or an answer: a single value itself, several as a tuple."""
    return parts[0] if len(parts) == 1 else tuple_source(parts)


class Names:
    """Python names of a rule's bound variables."""

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}
        self._count = 0

    def fresh(self) -> str:
        """An unused name."""
        self._count += 1
        return f"v{self._count}"

    def bind(self, variable: str) -> str:
        """Binds a variable to a new name."""
        name = self.bound[variable] = self.fresh()
        return name

    def is_bound(self, term: Term) -> bool:
        """Whether all variables of the term are bound."""
        return all(name in self.bound for name in iterate_variables((term,)))

    def expression(self, term: Term) -> str:
        """Source of a term whose variables are bound."""
        if isinstance(term, str):
            return self.bound[term] if term.startswith("?") else repr(term)
        return tuple_source([self.expression(part) for part in term])


def fact_of(unfolding: Unfolding | None, arguments: Sequence[Term]) -> Term:
    """The fact with the arguments of an unfolded `true`."""
    return arguments[0] if unfolding is None else (unfolding.functions[0][1], *arguments)
