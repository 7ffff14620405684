"""Tables of calls with their answers, and the evaluation of recursive calls to a fixpoint.

Most recursion in rulesheets runs along something finite (a ray of squares, a counter) and never calls itself with a
call still being evaluated. So a recursive relation is evaluated like any other until that first happens. Then the query
restarts with that relation, as called there, and its call cycle tabled from there on.

Linear tabling (Zhou and Sato: Efficient fixpoint computation in linear tabling, 2003): a call repeated during its own
evaluation gets the answers known so far. The outermost call of such a cycle, its leader, is evaluated again until
nothing new is found in the cycle; then the whole cycle is complete. Leaders are found as in Tarjan's algorithm for
strongly connected components. Negation only calls lower strata, which are complete on return.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeAlias, cast

from games.gdl.interpreter.facts import Answer
from games.gdl.rules.terms import Predicate
from games.machine import Interrupted, LimitError, Term

MAX_CALL_DEPTH = 10_000
"""Deepest nesting of recursive calls."""

MAX_ROUNDS = 10_000
"""Most evaluations of one leader."""

MAX_TERM_DEPTH = 400
"""Deepest nesting of functions in a term built by recursion."""

DEPTH_CHECKED_EVERY = 8
"""Nesting levels of calls, or rounds, between checks of the depth of terms: each adds little to it."""

MAX_STEPS = 20_000_000
"""Most calls and loop iterations of one query, roughly."""

MAX_STEPS_BUILDING_TERMS = 5_000_000
"""`MAX_STEPS` where recursion builds terms: each step may be a new term, and memory has to last."""

CHECK_EVERY = 5_000
"""Steps between checks of the bounds: a few milliseconds."""

_FRESH, _ACTIVE, _WAITING, _STALE = range(4)

Key: TypeAlias = Term
"""Values of a call's bound arguments: the value itself if there is one, else a tuple."""

Answers: TypeAlias = Collection[Answer] | bool
"""Answers of a complete call; where no value is wanted, whether there is one."""


class CyclicCallError(Exception):
    """A directly evaluated call depends on itself; `table` is its table."""

    def __init__(self, table: CallTable) -> None:
        super().__init__()
        self.table = table


class UnfinishedTable:
    """Placeholder for the answers of calls under direct evaluation; reading it raises `CyclicCallError`."""

    __slots__ = ("_table",)

    def __init__(self, table: CallTable) -> None:
        self._table = table

    def __bool__(self) -> bool:
        raise CyclicCallError(self._table)

    def __iter__(self) -> Iterator[Answer]:
        raise CyclicCallError(self._table)


class Entry:
    """An incomplete recursive call."""

    __slots__ = ("answers", "low", "place", "status", "used")

    def __init__(self) -> None:
        self.answers: dict[Answer, None] = {}
        self.status = _FRESH
        self.place = 0
        """Place on the stack of incomplete calls."""
        self.low = 0
        """Lowest place of a call it depends on."""
        self.used = False
        """Whether its incomplete answers were used."""


class CallTable:
    """Calls of a predicate with one binding pattern: complete calls, and the evaluation of others."""

    __slots__ = ("boolean", "builds_terms", "complete", "pending", "relation", "run", "unfinished")

    def __init__(self, relation: tuple[Predicate, str], boolean: bool, builds_terms: bool) -> None:
        self.relation = relation
        """Predicate and binding pattern."""
        self.boolean = boolean
        """Whether no value is wanted, only whether there is an answer."""
        self.builds_terms = builds_terms
        """Whether the predicate belongs to a recursion that wraps functions around terms."""
        self.complete: dict[Key, Answers] = {}
        self.pending: dict[Key, Entry] = {}
        self.unfinished = cast(Answers, UnfinishedTable(self))
        """Placeholder for the answers of calls under direct evaluation."""
        self.run: Callable[[Key, dict[Answer, None] | None], bool]
        """Evaluates all rules for a call: adds its answers to the dict; if boolean, returns whether there is one."""


class TabledEvaluation:
    """The running query: its stack of incomplete calls and its bounds."""

    def __init__(self, max_steps: int = MAX_STEPS) -> None:
        self._max_steps = max_steps
        self.steps = CHECK_EVERY
        """Countdown to the next check of the bounds."""
        self.depth = 0
        """Nesting depth of directly evaluated calls that may build terms."""
        self.stop: Callable[[], bool] | None = None
        """Asked now and then whether to give up."""
        self._left = max_steps
        """Steps left to the query at the last check."""
        self._portion = CHECK_EVERY
        """Steps handed out at the last check."""
        self._stack: list[tuple[CallTable, Key, Entry]] = []
        self._parents: list[Entry] = []
        self._changes = 0

    def begin(self, max_steps: int | None = None) -> None:
        """Starts counting the steps of a new query."""
        self.depth = 0
        self._left = self._max_steps if max_steps is None else max_steps
        self.steps = self._portion = min(CHECK_EVERY, self._left)

    @property
    def remaining(self) -> int:
        """Steps left to the query."""
        return self._left - self._portion + self.steps

    def abandon(self) -> None:
        """Forgets incomplete calls, after an exception."""
        for table, _, _ in self._stack:
            table.pending.clear()
        self._stack.clear()
        self._parents.clear()
        self.depth = 0

    def check(self) -> None:
        """Raises `LimitError` when a bound is reached, `Interrupted` when the query is to stop."""
        self._left -= self._portion
        self.steps = self._portion = min(CHECK_EVERY, self._left)
        if self._left <= 0:
            raise LimitError("a query of the rules took too many steps")
        if self.stop is not None and self.stop():
            raise Interrupted("a query of the rules was stopped")

    def look_deep(self, terms: Iterable[Term]) -> None:
        """Raises `LimitError` if recursion is nested too deep, or one of the terms is."""
        if self.depth > MAX_CALL_DEPTH:
            raise LimitError(f"calls of rules are nested more than {MAX_CALL_DEPTH} deep")
        for term in terms:
            _check_depth(term)

    def solve(self, table: CallTable, key: Key) -> Answers:
        """The answers of a recursive call; within an open cycle, those known so far."""
        entry = table.pending.get(key)
        if entry is None:
            if table.builds_terms and not len(self._parents) % DEPTH_CHECKED_EVERY:
                _check_depth(key)
            entry = table.pending[key] = Entry()
        elif entry.status == _ACTIVE or entry.status == _WAITING:
            entry.used = True
            parent = self._parents[-1]
            low = entry.place if entry.status == _ACTIVE else entry.low
            if low < parent.low:
                parent.low = low
            return False if table.boolean else dict(entry.answers)
        self.steps -= 1
        if self.steps < 0:
            self.check()
        return self._evaluate(table, key, entry)

    def _evaluate(self, table: CallTable, key: Key, entry: Entry) -> Answers:
        stack, parents, answers = self._stack, self._parents, entry.answers
        if len(parents) > MAX_CALL_DEPTH:
            raise LimitError(f"calls of rules are nested more than {MAX_CALL_DEPTH} deep")
        place = entry.place = len(stack)
        stack.append((table, key, entry))
        parents.append(entry)
        for number in range(MAX_ROUNDS):
            entry.status = _ACTIVE
            entry.low = place
            entry.used = False
            changes = self._changes
            if table.boolean:
                if table.run(key, None):
                    # The answer is final. Calls begun meanwhile are evaluated again on demand.
                    self._changes += 1
                    self._retract(place + 1)
                    stack.pop()
                    parents.pop()
                    del table.pending[key]
                    table.complete[key] = True
                    return True
            else:
                before = len(answers)
                table.run(key, answers)
                if len(answers) != before:
                    self._changes += len(answers) - before
                    if table.builds_terms and not (len(parents) + number) % DEPTH_CHECKED_EVERY:
                        for value in list(answers)[before:]:
                            _check_depth(value)
            if entry.low < place:
                entry.status = _WAITING
                parents.pop()
                parent = parents[-1]
                if entry.low < parent.low:
                    parent.low = entry.low
                return False if table.boolean else dict(answers)
            if not entry.used or self._changes == changes:
                parents.pop()
                for other, other_key, member in stack[place:]:
                    other.complete[other_key] = False if other.boolean else member.answers
                    del other.pending[other_key]
                del stack[place:]
                return table.complete[key]
            self._retract(place + 1)
        raise LimitError(f"recursion did not end after {MAX_ROUNDS} rounds")

    def _retract(self, place: int) -> None:
        """Removes the calls from `place` on from the stack; they keep their answers but need evaluation again."""
        for _, _, member in self._stack[place:]:
            member.status = _STALE
        del self._stack[place:]


def _check_depth(term: Term) -> None:
    level = [term] if isinstance(term, tuple) else []
    for _ in range(MAX_TERM_DEPTH):
        if not level:
            return
        level = [part for inner in level for part in inner if isinstance(part, tuple)]
    raise LimitError(f"recursion builds terms more than {MAX_TERM_DEPTH} deep")
