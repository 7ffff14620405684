"""Python source for the body of a rule: nested loops over indexed relations, for one binding pattern of its head.

A binding pattern has a letter per argument: `b` bound by the caller, `f` free and wanted, `e` free and ignored.
`ordering` chooses the next literal. A loop over literals that need to hold only once ends at the first success.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from games.gdl.interpreter.facts import ITSELF
from games.gdl.interpreter.inlining import Surroundings, definition, in_place
from games.gdl.interpreter.naming import Names, fact_of, tuple_source, value_source
from games.gdl.interpreter.ordering import JoinOrder
from games.gdl.interpreter.planning import Sizes
from games.gdl.interpreter.unfolding import DISTINCT, DOES, TRUE
from games.gdl.rules.terms import Atom, Literal, Predicate, is_variable, predicate, variables
from games.machine import Term

OUT = "out[{}] = None"
"""Code that adds an answer."""

NEW = "answer = {}\nif answer not in out: out[answer] = None; todo.append(answer)"
"""Code that adds an answer and queues it for semi-naive evaluation."""

MAX_LOOPS = 12
"""Deepest nesting of loops in one function; Python allows 20 blocks."""

UNCOUNTED_LOOPS = 2
"""Nesting depth up to which loops do not count their iterations as steps: the steps of calls are enough there."""

FEW_ANSWERS, UNCOUNTED_SHORT_LOOPS = 4.0, 6
"""Most expected answers of a short loop, and the nesting depth up to which such loops are uncounted."""

MAX_INDENTATION = 40
"""Indentation from which conditions no longer indent; Python allows 100 levels."""


class Context(Surroundings, Protocol):
    """Shared context of the bodies of a predicate's rules."""

    sizes: Sizes
    in_recursion: bool

    @property
    def may_be_endless(self) -> bool:
        """Whether the rules belong to a recursion that builds terms."""

    def helper(self, literals: list[Literal], names: Names, wanted: list[Term] | None, sink: str = OUT) -> str:
        """A call of a new function for the rest of a body; with `wanted` None, it tells whether the rest holds."""


class BodyWriter:
    """Writes nested loops that end in adding an answer, or in the action on success."""

    def __init__(
        self, context: Context, names: Names, wanted: list[Term], success: str | None, sink: str = OUT
    ) -> None:
        self._context = context
        self._linker = context.linker
        self.names = names
        self._wanted = wanted
        self._success = success
        """Code to run when the body holds; None if its answers are wanted."""
        self._sink = sink
        """Code to add an answer."""
        self._order = self._order_for(wanted)
        self._loops = 0
        self._indent = 0
        self._outer: list[int] = []
        """Indentation of each open loop."""
        self._outside = -1
        """Number of loops around literals that need to hold only once."""
        self._fails_outside = False
        self._lines: list[str] = []

    def block(self) -> list[str]:
        """The written code; control reaches its end unless a success has left the function."""
        if not self._fails_outside:
            return self._lines
        return ["for _ in ONCE:", *["    " + line for line in self._lines]]

    def match(self, term: Term, expression: str) -> None:
        """Matches a value with a term, binding unbound variables."""
        if isinstance(term, str):
            if term.startswith("?") and term not in self.names.bound:
                self._emit(f"{self.names.bind(term)} = {expression}")
            else:
                self._require(f"{expression} == {self.names.expression(term)}")
            return
        if self.names.is_bound(term):
            self._require(f"{expression} == {self.names.expression(term)}")
            return
        self._require(f"({expression}.__class__ is tuple and len({expression}) == {len(term)})")
        for i, part in enumerate(term):
            self.match(part, f"{expression}[{i}]")

    def body(self, literals: list[Literal]) -> None:
        """Writes the code for all literals and the action after them."""
        remaining = [part for literal in literals for part in in_place(self._context, literal)]
        while True:
            remaining = self._simple_tests(remaining)
            if not remaining:
                self._act()
                return
            if self._loops >= MAX_LOOPS:
                self._continue_elsewhere(remaining)
                return
            literals, binds = self._order.next(remaining, self._success is None)
            remaining = [literal for literal in remaining if literal not in literals]
            if not binds:
                self._check(literals)
            elif remaining or not self._copy(literals[0]):
                self._enumerate(literals[0], remaining)
            else:
                return

    def _order_for(self, wanted: list[Term]) -> JoinOrder:
        context = self._context
        return JoinOrder(context.program, context.sizes, context.linker, context.in_recursion, self.names, wanted)

    def _emit(self, line: str) -> None:
        self._lines.append("    " * self._indent + line)

    def _open(self, loop: str) -> None:
        self._emit(loop)
        self._outer.append(self._indent)
        self._loops += 1
        self._indent += 1

    def _close(self) -> None:
        self._loops -= 1
        self._indent = self._outer.pop()

    def _fail(self) -> str:
        """Code that goes on with the next binding, or behind the block."""
        if not self._loops:
            self._fails_outside = True
        return "continue"

    def _require(self, condition: str) -> None:
        if self._indent < MAX_INDENTATION:
            self._emit(f"if {condition}:")
            self._indent += 1
        else:
            self._emit(f"if not {condition}: {self._fail()}")

    def _simple_tests(self, literals: list[Literal]) -> list[Literal]:
        """Tests all literals that can be looked up, and returns the others."""
        remaining = []
        for literal in literals:
            relation = predicate(literal.atom)
            if not self.names.is_bound(literal.atom[1:]) or (
                relation != DISTINCT and self._linker.is_derived(relation)
            ):
                remaining.append(literal)
            else:
                self._require(f"({self._test(literal, True)})")
        return remaining

    def _test(self, literal: Literal, value: bool) -> str:
        """A condition that a literal with bound arguments has the given truth value."""
        holds = literal.positive == value
        if predicate(literal.atom) == DISTINCT:
            left, right = [self.names.expression(part) for part in literal.atom[1:]]
            return f"{left} {'!=' if holds else '=='} {right}"
        member, among = self._membership(literal.atom)
        return f"{member} {'in' if holds else 'not in'} {among}"

    def _membership(self, atom: Atom) -> tuple[str, str]:
        """A member and a collection: an atom with bound arguments holds if the one is in the other."""
        relation = predicate(atom)
        parts = [self.names.expression(part) for part in atom[1:]]
        program = self._context.program
        if program.base(relation) == TRUE:
            return self.names.expression(fact_of(program.unfoldings.get(relation), atom[1:])), "F"
        if program.base(relation) == DOES:
            return tuple_source(parts), self._linker.moves(relation)
        return value_source(parts), self._index(relation, "b" * len(parts))

    def _index(self, relation: Predicate, pattern: str) -> str:
        name = self._linker.index(relation, pattern)
        return f"({name}.table or {name}.build())" if self._linker.is_varying(relation) else name

    # -------------------------------------------------------------------------------------------------------- writing

    def _act(self) -> None:
        if self._success is None:
            value = value_source([self.names.expression(term) for term in self._wanted])
            for line in self._sink.format(value).split("\n"):
                self._emit(line)
        elif self._loops > self._outside:
            self._emit(self._success)

    def _check(self, part: list[Literal]) -> None:
        literal = part[0]
        pattern = self._order.pattern(literal, ())
        if len(part) > 1 or "f" in pattern or self._context.program.base(predicate(literal.atom)) == DOES:
            self._exists(part)
            return
        body = None if literal.positive else definition(self._context, literal.atom, False)
        if body is not None and all(self.names.is_bound(part.atom[1:]) for part in body):
            self._require(f"(not ({' and '.join([self._test(part, True) for part in body]) or 'True'}))")
            return
        if body is not None and self._is_one_loop(body) and self._loops + 2 < MAX_LOOPS:
            if len(body) == 1 and "f" not in self._order.pattern(body[0], ()):
                self._require(f"(not {self._rows(body[0].atom, self._order.pattern(body[0], ()))})")
            else:
                self._absent(body)
            return
        rows = self._rows(literal.atom, pattern)
        self._require(rows if literal.positive else f"(not {rows})")

    def _exists(self, literals: list[Literal]) -> None:
        """Goes on if some binding of the free variables satisfies all literals."""
        if self._loops + 2 >= MAX_LOOPS:
            self._require(self._context.helper(literals, self.names, None))
            return
        outside = self._loops
        self._find(literals)
        while self._loops > outside:
            self._close()
            self._emit(f"else: {self._fail()}")
            if self._loops > outside:
                self._emit("break")

    def _is_one_loop(self, literals: list[Literal]) -> bool:
        """Whether the literals are one to enumerate, and otherwise only tests of its values."""
        rows = [literal for literal in literals if predicate(literal.atom) != DISTINCT]
        return (
            len(rows) == 1
            and rows[0].positive
            and all(is_variable(argument) or self.names.is_bound(argument) for argument in rows[0].atom[1:])
            and not any(self.names.is_bound(literal.atom[1:]) for literal in literals)
        )

    def _absent(self, literals: list[Literal]) -> None:
        """Goes on if nothing satisfies the literals, which are one loop."""
        self._find(literals)
        self._close()
        self._emit("else:")
        self._indent += 1

    def _find(self, literals: list[Literal]) -> None:
        """Writes loops over all solutions of the literals, left with `break` at the first."""
        kept = self.names.bound, self._order, self._success, self._outside
        self.names.bound = dict(self.names.bound)
        self._order, self._success, self._outside = self._order_for([]), "break", self._loops
        self.body(literals)
        self.names.bound, self._order, self._success, self._outside = kept

    def _rows(self, atom: Atom, pattern: str) -> str:
        """An expression for the answers of a literal; if none is wanted, for whether there are any."""
        relation = predicate(atom)
        letters = pattern.removesuffix(ITSELF)
        bound = [self.names.expression(term) for term, letter in zip(atom[1:], letters, strict=True) if letter == "b"]
        key = value_source(bound)
        if not self._linker.is_derived(relation):
            index = self._index(relation, pattern)
            return f"{index}.get({key}, ())" if "f" in letters or pattern != letters else f"({key} in {index})"
        suffix = self._linker.table(relation, pattern)
        self._emit(f"k = {key}")
        self._emit(f"r = T{suffix}.get(k)")
        self._emit(f"if r is None: r = C{suffix}(k)")
        return "r"

    def _copy(self, literal: Literal) -> bool:
        """Adds all answers of the last literal at once, if they are the body's answers unchanged."""
        relation = predicate(literal.atom)
        program = self._context.program
        if self._success is not None or self._sink != OUT or program.base(relation) == DOES:
            return False
        free = [argument for argument in literal.atom[1:] if not self.names.is_bound(argument)]
        if not all(is_variable(argument) for argument in free) or len(set(free)) < len(free):
            return False
        pattern = self._order.pattern(literal, ())
        wanted = [argument for argument, letter in zip(literal.atom[1:], pattern, strict=True) if letter == "f"]
        if program.base(relation) == TRUE and self._wanted == [
            fact_of(program.unfoldings.get(relation), literal.atom[1:])
        ]:
            pattern += ITSELF
        elif self._wanted != wanted:
            return False
        self._emit(f"out.update({self._rows(literal.atom, pattern)})")
        return True

    def _enumerate(self, literal: Literal, others: list[Literal]) -> None:
        relation = predicate(literal.atom)
        pattern = self._order.pattern(literal, others)
        few = self._order.fanout(literal, others) <= FEW_ANSWERS
        is_move = self._context.program.base(relation) == DOES
        rows = self._linker.moves(relation) if is_move else self._rows(literal.atom, pattern)
        if not is_move and "f" not in pattern:
            self._require(rows)
            return
        targets = []
        matches: list[tuple[Term, str]] = []
        for argument, letter in zip(literal.atom[1:], pattern, strict=True):
            if letter == "e" and is_move:
                targets.append("_")
            elif letter == "f" and is_variable(argument) and argument not in self.names.bound:
                targets.append(self.names.bind(str(argument)))
            elif letter == "f" or is_move:
                targets.append(self.names.fresh())
                matches.append((argument, targets[-1]))
        self._open(f"for {tuple_source(targets) if is_move else ', '.join(targets)} in {rows}:")
        uncounted = UNCOUNTED_SHORT_LOOPS if few else UNCOUNTED_LOOPS
        if self._loops > uncounted or self._context.may_be_endless:
            self._emit("s = R.steps = R.steps - 1")
            self._emit("if s < 0: R.check()")
        for term, expression in matches:
            self.match(term, expression)

    def _continue_elsewhere(self, remaining: list[Literal]) -> None:
        """Goes on in a new function: the body has too many loops for one."""
        if self._success is None:
            self._emit(self._context.helper(remaining, self.names, self._wanted, self._sink))
        else:
            self._emit(f"if {self._context.helper(remaining, self.names, None)}: {self._success}")


def shared_variables(literals: list[Literal], names: Names, wanted: Sequence[Term]) -> list[str]:
    """The bound variables that the literals or the wanted terms use."""
    needed = [name for literal in literals for name in variables(literal.atom)] + list(variables(*wanted))
    return [name for name in dict.fromkeys(needed) if name in names.bound]
