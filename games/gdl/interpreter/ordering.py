"""Greedy order of a rule's body literals: tests first, then the literal with the fewest expected answers.

Literals that share no free variable with the rest, and bind nothing wanted, need to hold only once; they are kept
apart from those that bind something.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from games.gdl.interpreter.naming import Linker, Names
from games.gdl.interpreter.planning import Sizes
from games.gdl.interpreter.unfolding import DISTINCT, UnfoldedRules
from games.gdl.rules.terms import Literal, iterate_variables, predicate, variables
from games.machine import Term

SELECTIVE = 1.0
"""Most expected answers of a lookup that comes before tests by rules."""

RECURSION = 3.0
"""Cost of a recursive call in addition to its answers."""

FREE_IN_RECURSION, FREE_IN_ENDLESS_RECURSION = 3.0, 8.0
"""Factors of that cost for each value that the call has to find. Sizes of recursive relations are guesses; where
recursion builds terms, a call that ends with all arguments bound may be endless otherwise."""


NEARLY = 4.0
"""Candidates that cost at most this many times the cheapest are also compared by their successors."""


class JoinOrder:
    """Chooses the next literal of a body, by the variables bound so far."""

    def __init__(
        self,
        program: UnfoldedRules,
        sizes: Sizes,
        linker: Linker,
        in_recursion: bool,
        names: Names,
        wanted: Sequence[Term],
    ) -> None:
        self._program = program
        self._sizes = sizes
        self._linker = linker
        self._in_recursion = in_recursion
        self._names = names
        """Names of the function being written; they grow."""
        self._needed = set(variables(*wanted))

    def next(self, remaining: list[Literal], collects: bool) -> tuple[list[Literal], bool]:
        """The next literals of a body, and whether they bind something.

        Either one literal to enumerate (true), or some that only have to hold (false). `collects`: all answers are
        wanted, not one.
        """
        parts = _components(remaining, self._names.bound)
        checks = [part for part in parts if not self._binds_wanted(part)]
        if len(parts) == 1 and not collects and self._is_enumerable(parts[0]):
            checks = []
        candidates = [
            literal for part in parts if part not in checks for literal in part if self._is_enumerable([literal])
        ]
        best = self._best(candidates, remaining)
        if checks:
            check = min(checks, key=lambda part: self._check_cost(part, remaining))
            selective = best is not None and not self._linker.is_derived(predicate(best.atom))
            if not (selective and best and self.fanout(best, remaining) <= SELECTIVE and self._needs_rules(check)):
                return check, False
        assert best is not None
        return [best], True

    def pattern(self, literal: Literal, others: Iterable[Literal]) -> str:
        """The binding pattern of a call of the literal, before the other literals."""
        used = dict(self._names.bound)
        counts: dict[str, int] = {}
        for name in iterate_variables(literal.atom[1:]):
            counts[name] = counts.get(name, 0) + 1
        elsewhere = {name for other in others if other is not literal for name in variables(other.atom)}
        letters = []
        for argument in literal.atom[1:]:
            if all(name in used for name in iterate_variables((argument,))):
                letters.append("b")
            elif (
                isinstance(argument, str)
                and argument not in self._needed
                and argument not in elsewhere
                and counts[argument] == 1
            ):
                letters.append("e")
            else:
                letters.append("f")
        return "".join(letters)

    def _binds_wanted(self, part: Iterable[Literal]) -> bool:
        return any(
            name in self._needed and name not in self._names.bound for lit in part for name in variables(lit.atom)
        )

    def _is_enumerable(self, part: Iterable[Literal]) -> bool:
        """Whether one of the literals can bind a variable."""
        return any(
            literal.positive and predicate(literal.atom) != DISTINCT and not self._names.is_bound(literal.atom[1:])
            for literal in part
        )

    def _needs_rules(self, part: Iterable[Literal]) -> bool:
        return any(self._linker.is_derived(predicate(literal.atom)) for literal in part)

    def fanout(self, literal: Literal, others: Iterable[Literal]) -> float:
        """The expected number of answers of a literal."""
        wanted = [letter == "f" for letter in self.pattern(literal, others)]
        return self._sizes.fanout(literal, self._names.bound, wanted)

    def _cost(self, literal: Literal, others: Iterable[Literal]) -> float:
        """Cost for the order: expected answers, more for calls, most for calls that compute a whole relation."""
        cost = self.fanout(literal, others)
        relation = predicate(literal.atom)
        if self._linker.is_whole(relation):
            return cost + 0.5
        if self._linker.is_derived(relation):
            cost = 2.0 * cost + 1.0
            program = self._program
            if relation in program.recursive and (program.builds_terms or not self._in_recursion):
                factor = FREE_IN_ENDLESS_RECURSION if program.builds_terms else FREE_IN_RECURSION
                cost = (cost + RECURSION) * factor ** self.pattern(literal, others).count("f")
            if not any(self._names.is_bound(argument) for argument in literal.atom[1:]):
                cost += self._sizes.size(relation).rows
        return cost

    def _best(self, candidates: Sequence[Literal], remaining: Sequence[Literal]) -> Literal | None:
        """The candidate to enumerate next: the cheapest together with its cheapest successor."""
        costs = sorted([(self._cost(literal, remaining), i) for i, literal in enumerate(candidates)])
        close = [(cost, candidates[i]) for cost, i in costs[:3] if cost <= NEARLY * costs[0][0]]
        if len(close) < 2 or costs[0][0] <= SELECTIVE:
            return close[0][1] if close else None
        totals = []
        for cost, literal in close:
            bound = {*self._names.bound, *variables(literal.atom)}
            follows = [self._sizes.fanout(other, bound, None) for other in candidates if other is not literal]
            totals.append(cost + self.fanout(literal, remaining) * min(follows))
        return close[totals.index(min(totals))][1]

    def _check_cost(self, part: Sequence[Literal], others: Iterable[Literal]) -> float:
        cost = 0.0
        for literal in part:
            ground = self._names.is_bound(literal.atom[1:])
            relation = predicate(literal.atom)
            if self._linker.is_derived(relation) and not self._linker.is_whole(relation):
                cost += 10.0 if ground else 20.0
            if not ground and literal.positive and relation != DISTINCT:
                cost += self.fanout(literal, others)
        return cost


def _components(literals: list[Literal], bound: dict[str, str]) -> list[list[Literal]]:
    """Groups of literals that share no free variables."""
    groups: list[tuple[set[str], list[Literal]]] = []
    for literal in literals:
        free = {name for name in variables(literal.atom) if name not in bound}
        joined = [literal]
        rest = []
        for names, members in groups:
            if names & free:
                free = free | names
                joined = members + joined
            else:
                rest.append((names, members))
        groups = [*rest, (free, joined)]
    return [members for _, members in groups]
