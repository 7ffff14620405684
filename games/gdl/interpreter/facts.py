"""The present state and joint move, and indices of facts that follow from state to state.

A move changes few of a state's facts. So a used index is updated by the differences between states, when it is next
queried, instead of being rebuilt (lazy incremental view maintenance, for selections of a relation by key).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import Any, TypeAlias, cast

from games.gdl.interpreter.naming import tuple_source, value_source
from games.gdl.interpreter.unfolding import Unfolding
from games.machine import Term

Shape: TypeAlias = tuple[str, int]
"""Name and arity of the function of a fact or of a move."""

Answer: TypeAlias = Term
"""Values of the wanted arguments: the value itself if there is one, else a tuple."""

Grouped: TypeAlias = dict[Term, dict[Answer, None]]
"""Answers by key, for the rows of a relation that never change."""

Counted: TypeAlias = dict[Term, dict[Answer, int]]
"""Answers by key, with the number of facts behind each; kept up to date."""

Changes: TypeAlias = tuple[list[Any], list[Any]]
"""Facts that became true, and facts that became false."""

Update: TypeAlias = Callable[[Counted, Iterable[Term], Iterable[Term]], None]
"""Adds facts to an index, and removes others."""

FEW_CHANGES = 8
"""Changes applied singly, beyond as many as there are facts; an index with more is rebuilt."""

ITSELF = "!"
"""Suffix of a binding pattern: the answers are the facts themselves."""

NO_ROWS: Counted = {("no row",): {}}
"""Index of a relation without rows. Rules cannot query its key: a name has no space."""


class FactIndex:
    """The facts of one shape, or of all, grouped by some of their arguments."""

    __slots__ = ("_built", "_facts", "_pending", "_size", "_update", "_waiting", "table")

    def __init__(self, facts: Callable[[], Collection[Term]], update: Update) -> None:
        self._facts = facts
        self._update = update
        self._built: Counted | None = None
        self._pending: list[Changes] = []
        self._waiting = 0
        self._size = 0
        self.table: Counted | None = None
        """The index of the present facts; None if it needs `build`."""

    def build(self) -> Counted:
        """Brings the index up to date. The result is never empty: an empty one would count as not yet built."""
        if self._built is None:
            facts = self._facts()
            self._size = len(facts)
            self._built = {}
            self._update(self._built, facts, ())
        else:
            for added, removed in self._pending:
                self._update(self._built, added, removed)
            self._pending = []
            self._waiting = 0
        self.table = self._built or NO_ROWS
        return self.table

    def change(self, changes: Changes) -> None:
        """Notes changes of facts."""
        if self._built is None:
            return
        self.table = None
        self._pending.append(changes)
        self._waiting += len(changes[0]) + len(changes[1])
        if self._waiting > self._size + FEW_CHANGES:
            # As different as another state: rebuild it on demand.
            self._built = None
            self._pending = []
            self._waiting = 0


class Snapshot:
    """The present state and joint move."""

    def __init__(self) -> None:
        self.facts: frozenset[Term] = frozenset()
        self.moves: tuple[tuple[Term, Term], ...] = ()
        """Pairs of role and move."""
        self._by_shape: dict[Shape, list[Term]] | None = None
        self._indices: dict[Shape | None, list[FactIndex]] = defaultdict(list)
        self._move_rows: dict[Shape | None, list[tuple[Unfolding | None, list[tuple[Term, ...]]]]] = defaultdict(list)
        """Rows by the shape of their move; None for all moves."""

    def set_facts(self, facts: frozenset[Term]) -> Collection[Shape]:
        """Sets the state; returns the shapes of the facts that changed."""
        changes: dict[Shape, Changes] = {}
        before, self.facts = self.facts, facts
        self._by_shape = None
        both: Changes = (list(facts - before), list(before - facts))
        for which in (0, 1):
            for fact in both[which]:
                if fact.__class__ is tuple:
                    shape = (fact[0], len(fact) - 1)
                    if shape not in changes:
                        changes[shape] = ([], [])
                    changes[shape][which].append(fact)
        for shape, change in changes.items():
            if shape in self._indices:
                for index in self._indices[shape]:
                    index.change(change)
        for index in self._indices.get(None, ()):
            index.change(both)
        return changes.keys()

    def facts_of(self, shape: Shape | None) -> Collection[Any]:
        """The facts of one shape; None for all."""
        if shape is None:
            return self.facts
        if self._by_shape is None:
            groups: dict[Shape, list[Term]] = defaultdict(list)
            for fact in self.facts:
                if isinstance(fact, tuple):
                    groups[str(fact[0]), len(fact) - 1].append(fact)
            self._by_shape = dict(groups)
        return self._by_shape.get(shape, [])

    def index(self, shape: Shape | None, pattern: str) -> FactIndex:
        """A new index of the facts of one shape (None: all facts), by a binding pattern of their arguments."""
        index = FactIndex(lambda: self.facts_of(shape), make_update(pattern, shape is None, facts=True))
        self._indices[shape].append(index)
        return index

    def move_rows(self, unfolding: Unfolding | None) -> list[tuple[Term, ...]]:
        """A list that always holds the rows of `does`, or of a predicate unfolded from it."""
        shapes = {position: (name, arity) for position, name, arity in unfolding.functions} if unfolding else {}
        rows: list[tuple[Term, ...]] = []
        self._move_rows[shapes.get(1)].append((unfolding, rows))
        for row in self.moves:
            _enter(row, unfolding, rows)
        return rows

    def set_moves(self, moves: tuple[tuple[Term, Term], ...]) -> None:
        """Sets the joint move."""
        self.moves = moves
        for lists in self._move_rows.values():
            for _, rows in lists:
                if rows:
                    rows.clear()
        for row in moves:
            move = row[1]
            shapes = (None, (str(move[0]), len(move) - 1)) if isinstance(move, tuple) else (None,)
            for shape in shapes:
                for unfolding, rows in self._move_rows.get(shape, ()):
                    if shape is not None and unfolding is not None and len(unfolding.functions) == 1:
                        # By far the most frequent case, known to have the shape.
                        rows.append((row[0], *move[1:]))
                    else:
                        _enter(row, unfolding, rows)


def _enter(row: tuple[Term, Term], unfolding: Unfolding | None, rows: list[tuple[Term, ...]]) -> None:
    flat = row if unfolding is None else unfolding.flatten(row)
    if flat is not None:
        rows.append(flat)


@cache
def make_update(pattern: str, whole: bool, facts: bool = False) -> Update:
    """The function that keeps an index for a binding pattern up to date.

    Rows are tuples, or facts with such tuples as arguments (`facts`), or plain values (`whole`).
    """
    scope: dict[str, Any] = {}
    exec(compile(_write_update(pattern, whole, facts), f"<facts {pattern}>", "exec"), scope)
    return cast(Update, scope["update"])


def _write_update(pattern: str, whole: bool, facts: bool) -> str:
    itself = pattern.endswith(ITSELF)
    pattern = pattern.removesuffix(ITSELF)
    columns = [f"c{i}" for i in range(len(pattern))]
    key = value_source([column for column, letter in zip(columns, pattern, strict=True) if letter == "b"])
    value = value_source([column for column, letter in zip(columns, pattern, strict=True) if letter == "f"])
    target = columns[0] if whole else tuple_source(["_", *columns] if facts else columns)
    if itself:
        value = "row"
    unpack = f"        {target} = row"
    # Where every column is used, facts differ in key or value.
    adding, removing = f"g[{value}] = 1", "n = 1"
    if not itself and ("e" in pattern or "f" not in pattern):
        adding, removing = f"g[{value}] = g.get({value}, 0) + 1", f"n = g[{value}]"
    return "\n".join(
        [
            "def update(table, added, removed):",
            "    for row in added:",
            unpack,
            f"        k = {key}",
            "        g = table.get(k)",
            f"        if g is None: table[k] = {{{value}: 1}}",
            f"        else: {adding}",
            "    for row in removed:",
            unpack,
            f"        k = {key}",
            "        g = table[k]",
            f"        {removing}",
            f"        if n > 1: g[{value}] = n - 1",
            f"        elif len(g) > 1: del g[{value}]",
            "        else: del table[k]",
        ]
    )


def group(rows: Iterable[Sequence[Term]], pattern: str) -> Grouped:
    """Groups constant rows by a binding pattern."""
    keys = [i for i, letter in enumerate(pattern) if letter == "b"]
    values = [i for i, letter in enumerate(pattern) if letter == "f"]
    key_of, value_of = _picker(keys), _picker(values)
    found: dict[Term, dict[Answer, None]] = defaultdict(dict)
    for row in rows:
        found[key_of(row)][value_of(row)] = None
    return dict(found)


def _picker(columns: Sequence[int]) -> Callable[[Sequence[Term]], Term]:
    if len(columns) == 1:
        (column,) = columns
        return lambda row: row[column]
    return lambda row: tuple([row[column] for column in columns])
