"""Which relations are computed as a whole in each state, rather than call by call.

A goal-directed call costs about as much as an answer. A relation that is called more often in one state than it has
rows (rays from all pieces, asked for square by square) is cheaper as a whole, bottom-up, and then looked up. Which ones
are is found by trying: a relation of which many calls were made in a state is computed in the next one, within a bound.
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
"""Calls with one binding pattern in one state from which on the whole relation is tried. Set by hand; not tuned."""

COST_OF_RULE = 0.5
"""Steps that a call takes per rule; the whole relation may take as many as its calls, and one for each row and index.

Set by hand; not tuned.
"""

TRIES = (1, 8, 64)
"""Of the states in which a relation is called often, those in which it is tried: what it depends on may have become
cheaper meanwhile. Set by hand; not tuned."""

MAX_GROWTH = 8
"""A relation that has become so many times larger in a later state is evaluated call by call again.

Set by hand; not tuned.
"""


class Extents:
    """Counts calls, decides, and redirects the tables of relations that are computed as a whole."""

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
        """The answers of a relation to a call that binds nothing."""
        self._redirect = redirect
        """Has all calls of a relation that bind something evaluated in another way than before."""
        self._limits: dict[Predicate, int] = {}
        """Of relations that are computed as a whole: how many rows they may have."""
        self._busy: dict[Predicate, int] = {}
        """Of the other relations: in how many states they were called often."""
        self._outgrown: set[Predicate] = set()
        self._calls: dict[Predicate, list[int]] = {}
        """For each binding pattern with many calls in the last state: how many."""

    def __contains__(self, relation: Predicate) -> bool:
        return relation in self._limits

    def count(self, relation: Predicate, calls: int) -> None:
        """Notes how many calls of a relation were made in a state with one binding pattern."""
        if relation not in self._limits:
            self._calls.setdefault(relation, []).append(calls)

    def decide(self) -> None:
        """Tries the relations that were called often in the last state, in the present one."""
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
        """What evaluates the call that binds nothing, and notices when the relation has become too large."""
        limit = self._limits[relation]

        def evaluate_whole(key: Key) -> Answers:
            answers = evaluate(key)
            if len(cast(Collection[Answer], answers)) > limit:
                self._outgrown.add(relation)
            return answers

        return evaluate_whole

    def lookup(self, table: CallTable, answers: Callable[[Key], Answers]) -> Callable[[Key], Answers]:
        """What evaluates a table's calls by looking them up; `answers` evaluates the call that binds nothing."""
        relation, pattern = table.relation
        update = make_update(pattern, relation[1] == 1)
        missing: Answers = False if table.boolean else ()

        def look_up(key: Key) -> Answers:
            # The first call in a state enters the answers of all calls that have any.
            if not table.complete:
                update(cast(Counted, table.complete), cast(Collection[Answer], answers(())), ())
            found = table.complete.get(key)
            if found is None:
                found = table.complete[key] = missing
            return found

        return look_up
