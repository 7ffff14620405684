"""Relations at run time: their rows and tables, compiled when first called, and how long they stay valid."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, cast

from games.gdl.interpreter.extents import MIN_CALLS, Extents
from games.gdl.interpreter.facts import Answer, Shape, Snapshot, group
from games.gdl.interpreter.functions import TableWriter, is_iterable
from games.gdl.interpreter.planning import Sizes
from games.gdl.interpreter.tables import (
    MAX_STEPS,
    MAX_STEPS_BUILDING_TERMS,
    Answers,
    CallTable,
    CyclicCallError,
    Key,
    TabledEvaluation,
)
from games.gdl.interpreter.unfolding import TRUE, Scope, UnfoldedRules
from games.gdl.rules.dependencies import components
from games.gdl.rules.terms import Predicate, Rule
from games.machine import LimitError, Term

MAX_STATIC_ROWS = 20_000
"""Most expected rows of a static derived relation that is computed at once."""

STATIC_STEPS = 100_000
"""Most steps for one static relation; one that needs more is evaluated on demand."""

STATIC_SECONDS = 1.0
"""Most time for all static relations."""


MAX_KINDS_OF_CHANGE = 256
"""Most combinations of changed shapes whose tables are remembered."""


class Linked:
    """The linked relations of a program."""

    def __init__(self, program: UnfoldedRules) -> None:
        self.program = program
        self.sizes = Sizes(program)
        self.snapshot = Snapshot()
        self.evaluation = TabledEvaluation(MAX_STEPS_BUILDING_TERMS if program.builds_terms else MAX_STEPS)
        self._rows: dict[Predicate, list[tuple[Term, ...]]] = dict(program.facts)
        self._scope: dict[str, Any] = {"R": self.evaluation, "F": self.snapshot.facts, "ONCE": (None,)}
        """Global variables of the generated code."""
        self._tables: dict[tuple[Predicate, str], tuple[str, CallTable]] = {}
        self._static_tables: list[CallTable] = []
        self._move_tables: list[CallTable] = []
        self._state_tables: dict[frozenset[Shape] | None, list[CallTable]] = {}
        """Tables by the shapes of the facts they depend on; None for facts of any shape."""
        self._affected: dict[frozenset[Shape], tuple[list[CallTable], list[CallTable]]] = {}
        """Tables to clear, and those among them with incomplete calls, by the shapes of changed facts."""
        self._calls: dict[tuple[Predicate, str], dict[tuple[Predicate, str], None]] = {}
        """Calls made by each compiled relation and binding pattern."""
        self._writing: tuple[Predicate, str] | None = None
        self._tabled: set[tuple[Predicate, str]] = set()
        """Recursive relations, with binding pattern, that are evaluated by tables."""
        self._indices: dict[tuple[Predicate, str], str] = {}
        self._move_rows: dict[Predicate, str] = {}
        self.extents = Extents(program, self.evaluation, self._whole, self._redirect)
        end = time.monotonic() + STATIC_SECONDS
        for relation in program.statics():
            if time.monotonic() < end:
                self._compute_static(relation)
        self.sizes.forget_guesses([relation for relation in program.rules if relation not in self._rows])

    # ---------------------------------------------------------------------------------------- for generated code

    def is_recursive(self, relation: Predicate) -> bool:
        """Whether the relation is recursive."""
        return relation in self.program.recursive

    def is_derived(self, relation: Predicate) -> bool:
        """Whether the relation is evaluated by rules, call by call."""
        return relation in self.program.rules and relation not in self._rows

    def is_whole(self, relation: Predicate) -> bool:
        """Whether the relation is derived and computed as a whole in each state."""
        return relation in self.extents

    def is_varying(self, relation: Predicate) -> bool:
        """Whether the relation's rows are facts of the state."""
        return self.program.base(relation) == TRUE

    def index(self, relation: Predicate, pattern: str) -> str:
        """The name of the index of a relation with rows, for a binding pattern."""
        name = self._indices.get((relation, pattern))
        if name is None:
            name = self._indices[relation, pattern] = f"I{len(self._indices)}"
            if self.is_varying(relation):
                self._scope[name] = self.snapshot.index(self.program.shape(relation), pattern)
            else:
                self._scope[name] = group(self._rows.get(relation, ()), pattern)
        return name

    def moves(self, relation: Predicate) -> str:
        """The name of the list of rows of `does`, or of a predicate unfolded from it."""
        name = self._move_rows.get(relation)
        if name is None:
            name = self._move_rows[relation] = f"M{len(self._move_rows)}"
            self._scope[name] = self.snapshot.move_rows(self.program.unfoldings.get(relation))
        return name

    def table(self, relation: Predicate, pattern: str) -> str:
        """The suffix of the global names of a derived relation's table: `T<suffix>`, `P<suffix>`, `C<suffix>`."""
        if self._writing is not None:
            self._calls[self._writing][relation, pattern] = None
        return self._table(relation, pattern)[0]

    def _table(self, relation: Predicate, pattern: str) -> tuple[str, CallTable]:
        found = self._tables.get((relation, pattern))
        if found is None:
            suffix = str(len(self._tables))
            recursive = self.is_recursive(relation)
            builds_terms = recursive and self.program.builds_terms
            table = CallTable((relation, pattern), "f" not in pattern, builds_terms)
            found = self._tables[relation, pattern] = (suffix, table)
            self._enter(table)
            self._scope[f"T{suffix}"] = table.complete
            self._scope[f"P{suffix}"] = table.unfinished
            self._link(table, suffix)
        return found

    def _link(self, table: CallTable, suffix: str) -> None:
        """Binds `C<suffix>` to the evaluation of the table's calls."""
        relation, pattern = table.relation

        def compile_first(key: Key) -> Answers:
            self._compile(relation, pattern, suffix, table)
            return cast(Answers, self._scope[f"C{suffix}"](key))

        evaluate: Callable[[Key], Answers] = compile_first
        if relation in self.extents and "f" * len(pattern) != pattern:
            whole, everything = self._table(relation, "f" * len(pattern))
            scope = self._scope

            def all_answers(key: Key) -> Answers:
                answers = everything.complete.get(key)
                return cast(Answers, scope[f"C{whole}"](key)) if answers is None else answers

            evaluate = self.extents.lookup(table, all_answers)
        self._scope[f"C{suffix}"] = evaluate

    def _redirect(self, relation: Predicate) -> None:
        """Changes the evaluation of a relation's calls, and plans joins with it anew."""
        if self.is_whole(relation):
            self.sizes.learn(relation, self._as_rows(relation, self._whole(relation)))
        for (other, _), (suffix, table) in list(self._tables.items()):
            if other == relation:
                table.complete.clear()
                self._relink(table, suffix)
            elif self.program.uses(other, relation):
                self._relink(table, suffix)

    def _relink(self, table: CallTable, suffix: str) -> None:
        table.pending.clear()
        self._tabled.discard(table.relation)
        self._affected.clear()
        self._calls.pop(table.relation, None)
        self._link(table, suffix)

    def _whole(self, relation: Predicate) -> Collection[Answer]:
        return self.answers(relation, "f" * relation[1], ())

    @staticmethod
    def _as_rows(relation: Predicate, answers: Collection[Answer]) -> list[tuple[Term, ...]]:
        return [(answer,) for answer in answers] if relation[1] == 1 else [tuple(answer) for answer in answers]

    def _enter(self, table: CallTable) -> None:
        """Registers the table with the changes that clear it."""
        relation = table.relation[0]
        self._affected.clear()
        scope = self.program.scope(relation)
        if scope == Scope.STATIC:
            self._static_tables.append(table)
        elif scope == Scope.JOINT_MOVE:
            self._move_tables.append(table)
        else:
            self._state_tables.setdefault(self.program.shapes_below(relation), []).append(table)

    def _compile(self, relation: Predicate, pattern: str, suffix: str, table: CallTable) -> None:
        if is_iterable(self.program, relation, pattern):
            self._run(table, suffix, TableWriter.iterated)
            self._finish(relation, pattern, suffix)
            return
        self._run(table, suffix, TableWriter.direct)
        self._finish(relation, pattern, suffix)
        if self.is_recursive(relation):
            circle = self._circle(table)
            if not self._tabled.isdisjoint(circle):
                self._solve_by_table(table)
                if not self._tabled.issuperset(circle):
                    # Directly evaluated calls would take incomplete answers for complete ones.
                    raise CyclicCallError(table)

    def _finish(self, relation: Predicate, pattern: str, suffix: str) -> None:
        evaluate = self._scope[f"E{suffix}"]
        if relation in self.extents and pattern == "f" * len(pattern):
            evaluate = self.extents.watched(relation, evaluate)
        self._scope[f"C{suffix}"] = evaluate

    def _run(self, table: CallTable, suffix: str, write: Callable[[TableWriter, Sequence[Rule], str], str]) -> None:
        relation, pattern = table.relation
        self._writing = table.relation
        self._calls.setdefault(self._writing, {})
        writer = TableWriter(self.program, self.sizes, self, suffix)
        source = write(writer, self.program.rules[relation], pattern)
        self._writing = None
        exec(compile(source, f"<rules of {relation[0]!a} {pattern}>", "exec"), self._scope)

    def _solve_by_table(self, table: CallTable) -> None:
        self._tabled.add(table.relation)
        self._affected.clear()
        suffix, _ = self._tables[table.relation]
        self._run(table, suffix, TableWriter.tabled)
        table.run = self._scope[f"D{suffix}"]
        solve = self.evaluation.solve
        # No `functools.partial`: it would take C stack for each call.
        self._scope[f"C{suffix}"] = lambda key: solve(table, key)

    def _circle(self, table: CallTable) -> list[tuple[Predicate, str]]:
        """The relations, with binding patterns, that call a table's and are called by it, among those compiled."""
        return next(members for members in components(self._calls) if table.relation in members)

    def _table_circle(self, table: CallTable) -> None:
        """Evaluates a relation, and those in a call cycle with it, by tables from now on."""
        for relation in self._circle(table):
            if relation in self._calls and relation not in self._tabled:
                self._solve_by_table(self._tables[relation][1])

    # ------------------------------------------------------------------------------------------------- for queries

    def answers(self, relation: Predicate, pattern: str, key: Key) -> Collection[Answer]:
        """The answers of a call that wants values: single values, or tuples of several."""
        if relation in self._rows:
            found: Collection[Answer] = self._scope[self.index(relation, pattern)].get(key, ())
            return found
        return cast(Collection[Answer], self._call(relation, pattern, key))

    def holds(self, relation: Predicate, pattern: str, key: Key) -> bool:
        """Whether a call without wanted values has an answer."""
        if relation in self._rows:
            return key in self._scope[self.index(relation, pattern)]
        return cast(bool, self._call(relation, pattern, key))

    def _call(self, relation: Predicate, pattern: str, key: Key) -> Answers:
        suffix, table = self._table(relation, pattern)
        answers = table.complete.get(key)
        while answers is None:
            try:
                answers = self._scope[f"C{suffix}"](key)
            except CyclicCallError as error:
                self._abandon()
                self._table_circle(error.table)
            except RecursionError:
                self._abandon()
                raise LimitError("rules call one another too deeply") from None
            except BaseException:
                self._abandon()
                raise
        return answers

    def _abandon(self) -> None:
        """Forgets incomplete calls, after an exception."""
        self.evaluation.abandon()
        for _, table in self._tables.values():
            if self.is_recursive(table.relation[0]):
                for key in [key for key, found in table.complete.items() if found is table.unfinished]:
                    del table.complete[key]

    def set_state(self, facts: frozenset[Term]) -> None:
        """Sets the state, and forgets what depended on changed facts."""
        self._scope["F"] = facts
        tables, tabled = self._affected_by(frozenset(self.snapshot.set_facts(facts)))
        for table in tables:
            # Most are empty, and testing is cheaper than a call.
            if table.complete:
                if len(table.complete) >= MIN_CALLS:
                    self.extents.count(table.relation[0], len(table.complete))
                table.complete.clear()
        for table in tabled:
            table.pending.clear()
        _clear(self._move_tables)
        self.extents.decide()

    def _affected_by(self, changed: frozenset[Shape]) -> tuple[list[CallTable], list[CallTable]]:
        """The tables that depend on facts of these shapes, and those among them that may hold incomplete calls."""
        found = self._affected.get(changed)
        if found is None:
            if len(self._affected) >= MAX_KINDS_OF_CHANGE:
                self._affected.clear()
            tables = [
                table
                for shapes, tables in self._state_tables.items()
                if shapes is None or not shapes.isdisjoint(changed)
                for table in tables
            ]
            tabled = [table for table in tables if table.relation in self._tabled]
            found = self._affected[changed] = (tables, tabled)
        return found

    def set_moves(self, moves: tuple[tuple[Term, Term], ...]) -> None:
        """Sets the joint move, as pairs of role and move."""
        self.snapshot.set_moves(moves)
        _clear(self._move_tables)

    def clear_static(self, limit: int) -> None:
        """Frees the tables that are valid for ever, if they hold more than `limit` calls."""
        if sum([len(table.complete) for table in self._static_tables]) > limit:
            _clear(self._static_tables)

    def learn_state(self) -> None:
        """Takes the present state's numbers of facts as typical."""
        unfolded = [relation for relation in self.program.unfoldings if self.program.base(relation) == TRUE]
        for relation in unfolded:
            rows = [fact[1:] for fact in self.snapshot.facts_of(self.program.shape(relation))]
            if rows:
                self.sizes.learn(relation, rows)
        self.sizes.learn(TRUE, [(fact,) for fact in self.snapshot.facts])
        self.sizes.forget_guesses([relation for relation in self.program.rules if relation not in self._rows])

    def _compute_static(self, relation: Predicate) -> None:
        if relation[0] == "init" or self.sizes.size(relation).rows > MAX_STATIC_ROWS:
            return
        self.evaluation.begin(STATIC_STEPS)
        try:
            if relation[1] == 0:
                rows: list[tuple[Term, ...]] = [()] if self.holds(relation, "", ()) else []
            else:
                answers = self.answers(relation, "f" * relation[1], ())
                rows = self._as_rows(relation, answers)
        except LimitError:
            return
        finally:
            self.evaluation.begin()
        self._rows[relation] = rows
        self.sizes.learn(relation, rows)


def _clear(tables: Iterable[CallTable]) -> None:
    for table in tables:
        if table.complete:
            table.complete.clear()
        if table.pending:
            table.pending.clear()
