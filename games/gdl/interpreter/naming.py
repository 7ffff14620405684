"""What generated code calls things: terms as Python expressions, relations as global variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from games.gdl.interpreter.unfolding import Unfolding
from games.gdl.rules.terms import Predicate, iterate_variables
from games.machine import Term


class Linker(Protocol):
    """Where the code gets its relations from: names of global variables that hold them."""

    def is_derived(self, relation: Predicate) -> bool:
        """Whether the relation is defined by rules and has no rows at hand."""

    def is_whole(self, relation: Predicate) -> bool:
        """Whether the relation is derived, but computed as a whole in each state."""

    def is_varying(self, relation: Predicate) -> bool:
        """Whether the relation's rows are facts of the state."""

    def table(self, relation: Predicate, pattern: str) -> str:
        """The suffix of the names of the table of a derived relation."""

    def index(self, relation: Predicate, pattern: str) -> str:
        """The name of the index of a relation that has rows, other than `does`."""

    def moves(self, relation: Predicate) -> str:
        """The name of the list of rows of `does`, or of what was unfolded from it."""


def tuple_source(parts: Sequence[str]) -> str:
    """A tuple of expressions."""
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def value_source(parts: Sequence[str]) -> str:
    """A key or an answer: the value itself if it is one, else a tuple."""
    return parts[0] if len(parts) == 1 else tuple_source(parts)


class Names:
    """Python names of a rule's variables, as far as they are bound."""

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}
        self._count = 0

    def fresh(self) -> str:
        """A name that is not used yet."""
        self._count += 1
        return f"v{self._count}"

    def bind(self, variable: str) -> str:
        """Gives a variable a name: from here on it is bound."""
        name = self.bound[variable] = self.fresh()
        return name

    def is_bound(self, term: Term) -> bool:
        """Whether all variables of the term are bound."""
        return all(name in self.bound for name in iterate_variables((term,)))

    def expression(self, term: Term) -> str:
        """The term, whose variables are bound."""
        if isinstance(term, str):
            return self.bound[term] if term.startswith("?") else repr(term)
        return tuple_source([self.expression(part) for part in term])


def fact_of(unfolding: Unfolding | None, arguments: Sequence[Term]) -> Term:
    """The fact that the arguments of an unfolded `true` make up."""
    return arguments[0] if unfolding is None else (unfolding.functions[0][1], *arguments)
