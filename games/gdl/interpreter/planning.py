"""Estimated sizes of relations, which decide the order of joins.

Facts and the initial state are counted; rules count as joins of independent relations (Selinger et al.: Access Path
Selection in a Relational Database Management System, 1979).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from games.gdl.interpreter.unfolding import DISTINCT, DOES, UnfoldedRules
from games.gdl.rules.terms import Literal, Predicate, Rule, is_variable, iterate_variables, predicate
from games.machine import Term

UNSEEN_FACTS = 8.0
"""Estimated facts of a relation without any in the initial state."""

RECURSIVE_DISTINCT = 8.0
"""Estimated distinct values of an argument of a recursive relation."""


@dataclass(frozen=True, slots=True)
class Size:
    """Estimated rows of a relation, and distinct values per column."""

    rows: float
    distinct: tuple[float, ...]
    counts: tuple[Mapping[Term, int], ...] = ()
    """Per column, number of rows with each value, where rows are known. Half of a board's cells may be blank."""

    def selected(self, column: int, value: Term) -> float:
        """Share of the rows with a value in a column: a constant, or a variable bound to any value."""
        if self.counts and value in self.counts[column]:
            return self.counts[column][value] / max(1.0, self.rows)
        return 1.0 / max(1.0, self.distinct[column])


def measure(rows: Collection[tuple[Term, ...]], arity: int) -> Size:
    """The exact size of some rows."""
    counts = tuple([Counter([row[i] for row in rows]) for i in range(arity)])
    return Size(float(len(rows)), tuple([float(len(values)) for values in counts]), counts)


class Sizes:
    """Estimated sizes of a program's predicates."""

    def __init__(self, program: UnfoldedRules) -> None:
        self._program = program
        self._known: dict[Predicate, Size] = {}
        for relation, rows in program.facts.items():
            self._known[relation] = measure(rows, relation[1])

    def learn(self, relation: Predicate, rows: Collection[tuple[Term, ...]]) -> None:
        """Records the rows of a relation, now or in a typical state."""
        self._known[relation] = measure(rows, relation[1])

    def forget_guesses(self, relations: Collection[Predicate]) -> None:
        """Drops estimates, to be made anew from what was learned since."""
        for relation in relations:
            self._known.pop(relation, None)

    def size(self, relation: Predicate) -> Size:
        """The estimated size of a relation."""
        known = self._known.get(relation)
        if known is None:
            arity = relation[1]
            if relation in self._program.rules:
                # Placeholder while the relation's own rules are examined.
                self._known[relation] = Size(RECURSIVE_DISTINCT ** min(arity, 3), (RECURSIVE_DISTINCT,) * arity)
                known = self._derived(relation)
            elif self._program.base(relation) == DOES:
                known = Size(1.0, (1.0,) * arity)
            else:
                known = Size(UNSEEN_FACTS, (UNSEEN_FACTS / 2,) * arity)
            self._known[relation] = known
        return known

    def fanout(self, literal: Literal, bound: Collection[str], wanted: Sequence[bool] | None) -> float:
        """Expected number of answers of a positive literal; `wanted` marks the columns used (None: all)."""
        size = self.size(predicate(literal.atom))
        rows = size.rows
        limit = 1.0
        for i, (argument, distinct) in enumerate(zip(literal.atom[1:], size.distinct, strict=True)):
            if all(name in bound for name in iterate_variables((argument,))):
                rows *= size.selected(i, argument)
            elif wanted is None or wanted[i]:
                limit *= max(1.0, distinct)
        return min(rows, limit)

    def _derived(self, relation: Predicate) -> Size:
        rules = self._program.rules[relation]
        sizes = [self._of_rule(rule) for rule in rules]
        rows = sum(size.rows for size in sizes)
        distinct = tuple([max(1.0, sum(size.distinct[i] for size in sizes)) for i in range(relation[1])])
        return Size(min(rows, prod(distinct)), tuple([min(count, max(1.0, rows)) for count in distinct]))

    def _of_rule(self, rule: Rule) -> Size:
        values: dict[str, float] = {}
        rows = 1.0
        for literal in rule.body:
            relation = predicate(literal.atom)
            if not literal.positive or relation == DISTINCT:
                continue
            size = self.size(relation)
            rows *= size.rows
            for i, (argument, distinct) in enumerate(zip(literal.atom[1:], size.distinct, strict=True)):
                if not is_variable(argument):
                    rows *= size.selected(i, argument)
                    for name in iterate_variables((argument,)):
                        values.setdefault(name, distinct)
                    continue
                assert isinstance(argument, str)
                if argument in values:
                    rows /= max(1.0, distinct, values[argument])
                    values[argument] = min(values[argument], distinct)
                else:
                    values[argument] = distinct
        distinct_of = [prod([values.get(n, 1.0) for n in iterate_variables((argument,))]) for argument in rule.head[1:]]
        rows = min(rows, prod(distinct_of))
        return Size(rows, tuple(distinct_of))
