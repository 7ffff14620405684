"""Relations computed as a whole in each state, rather than call by call.

A goal-directed call costs about as much as an answer. A relation with more calls in a state than rows (rays from all
pieces, queried square by square) is cheaper computed as a whole, bottom-up, and then looked up. Trial finds these
relations: one with many calls in a state is computed as a whole in the next, within a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import cast

from games.gdl.interpreter.facts import Answer, Counted, make_update
from games.gdl.interpreter.functions import is_iterable
from games.gdl.interpreter.tables import Answers, CallTable, Key, TabledEvaluation
from games.gdl.interpreter.unfolding import UnfoldedRules
from games.gdl.rules.terms import Predicate
from games.machine import Interrupted, LimitError

MIN_CALLS = 24
"""Calls with one binding pattern in one state that cause a trial."""

COST_OF_RULE = 0.5
"""Steps of a call, per rule. The whole relation may take as many steps as its calls, and one per row and index."""

TRIES = (1, 8, 64)
"""Trials: the first, eighth and 64th state in which a relation is called often. What it depends on may have become
cheaper meanwhile."""

MAX_GROWTH = 8
"""Growth of a relation, in later states, that returns it to evaluation call by call."""


class Extents:
    """Counts calls, decides on relations, and redirects the tables of whole ones."""

    def __init__(
        self,
        program: UnfoldedRules,
        evaluation: TabledEvaluation,
        answers: Callable[[Predicate], Collection[Answer]],
        redirect: Callable[[Predicate], None],
    ) -> None:
        self._program = program
        self._evaluation = evaluation
        self._answers = answers
        """Computes a relation's answers to the call that binds nothing."""
        self._redirect = redirect
        """Changes the evaluation of all calls of a relation that bind something."""
        self._limits: dict[Predicate, int] = {}
        """Largest number of rows of each whole relation."""
        self._busy: dict[Predicate, int] = {}
        """Number of states with many calls, for each other relation."""
        self._outgrown: set[Predicate] = set()
        self._calls: dict[Predicate, list[int]] = {}
        """Number of calls per binding pattern with many calls in the last state."""

    def __contains__(self, relation: Predicate) -> bool:
        return relation in self._limits

    def count(self, relation: Predicate, calls: int) -> None:
        """Notes the number of calls of a relation with one binding pattern in a state."""
        if relation not in self._limits:
            self._calls.setdefault(relation, []).append(calls)

    def decide(self) -> None:
        """Tries, in the present state, the relations called often in the last one."""
        for relation in self._outgrown:
            del self._limits[relation]
            self._busy[relation] = max(TRIES)
            self._redirect(relation)
        self._outgrown.clear()
        while self._calls:
            relation, numbers = self._calls.popitem()
            calls = sum(numbers)
            self._busy[relation] = self._busy.get(relation, 0) + 1
            if self._busy[relation] in TRIES and self._is_cheap(relation, calls, len(numbers)):
                self._limits[relation] = MAX_GROWTH * calls
                self._redirect(relation)

    def _is_cheap(self, relation: Predicate, calls: int, patterns: int) -> bool:
        program = self._program
        if relation in program.recursive and not is_iterable(program, relation, "f" * relation[1]):
            return False
        budget = int(calls * COST_OF_RULE * len(program.rules[relation]))
        evaluation = self._evaluation
        evaluation.begin(budget)
        try:
            rows = self._answers(relation)
            return len(rows) * (1 + patterns) <= evaluation.remaining
        except Interrupted:
            self._busy[relation] -= 1
            raise
        except LimitError:
            return False
        finally:
            evaluation.begin()

    def watched(self, relation: Predicate, evaluate: Callable[[Key], Answers]) -> Callable[[Key], Answers]:
        """Wraps the evaluation of the call that binds nothing, to notice when the relation is too large."""
        limit = self._limits[relation]

        def evaluate_whole(key: Key) -> Answers:
            answers = evaluate(key)
            if len(cast(Collection[Answer], answers)) > limit:
                self._outgrown.add(relation)
            return answers

        return evaluate_whole

    def lookup(self, table: CallTable, answers: Callable[[Key], Answers]) -> Callable[[Key], Answers]:
        """Evaluates a table's calls by lookup; `answers` evaluates the call that binds nothing."""
        relation, pattern = table.relation
        update = make_update(pattern, relation[1] == 1)
        missing: Answers = False if table.boolean else ()

        def look_up(key: Key) -> Answers:
            # The first call in a state enters all calls that have answers.
            if not table.complete:
                update(cast(Counted, table.complete), cast(Collection[Answer], answers(())), ())
            found = table.complete.get(key)
            if found is None:
                found = table.complete[key] = missing
            return found

        return look_up
