"""`Firings`: which rules of a rulesheet's text have fired, in the positions that it is shown."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence

from games.gdl.interpreter.linking import Linked
from games.gdl.interpreter.machine import MAX_STATIC_CALLS, RECURSION_LIMIT, STATES_BETWEEN_LOOKS
from games.gdl.interpreter.unfolding import UnfoldedRules
from games.gdl.rules.check import CheckedRules
from games.gdl.rules.normalise import normalise
from games.gdl.rules.terms import Predicate, Rule
from games.machine import LimitError, Term


class Firings:
    """Watches positions of one game for rules whose bodies hold. Not thread-safe.

    Rules are told apart by their statement's index in the rulesheet. A disjunction fires with any of its parts. Facts
    do not count, nor rules that are evaluated only as part of others (see `games.gdl.rules.safety`).
    """

    def __init__(self, rulesheet: Sequence[Term], checked: CheckedRules) -> None:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_LIMIT))
        with_body = {index for index, term in enumerate(rulesheet) if term[0] == "<=" and len(term) > 2}
        self._bodies: dict[int, list[Predicate]] = defaultdict(list)
        bodies: list[Rule] = []
        for rule in checked.rules:
            # Names with a space are auxiliary.
            if rule.statement in with_body and " " not in str(rule.head[0]):
                name = f"body {len(bodies)}"
                bodies.append(Rule((name,), rule.body, rule.statement))
                self._bodies[rule.statement].append((name, 0))
        queries = [body for found in self._bodies.values() for body in found]
        self._linked = Linked(UnfoldedRules((*checked.rules, *bodies), queries))
        self._states = 0
        written = {rule.statement for rule in normalise(rulesheet, [])}
        self.unfired = {index for index in with_body if index in self._bodies or index not in written}
        """Statements whose rules have not fired yet."""
        self.unknown: set[int] = set()
        """Statements whose rules take too long to evaluate."""

    def see(self, facts: frozenset[Term], moves: Sequence[tuple[Term, Term]] = ()) -> None:
        """Takes in a position and the joint move made there, as pairs of role and move; none at the end of a match."""
        linked = self._linked
        linked.set_state(facts)
        linked.set_moves(tuple(moves))
        self._states += 1
        if not self._states % STATES_BETWEEN_LOOKS:
            linked.clear_static(MAX_STATIC_CALLS)
        for statement in sorted(self.unfired):
            linked.evaluation.begin()
            try:
                if any(linked.holds(body, "", ()) for body in self._bodies.get(statement, ())):
                    self.unfired.remove(statement)
            except LimitError:
                self.unfired.remove(statement)
                self.unknown.add(statement)
