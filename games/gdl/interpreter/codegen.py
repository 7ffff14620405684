"""Python source for the rules: one function per rule and binding pattern, a nest of loops over indexed relations.

A binding pattern has a letter per argument: `b` bound by the caller, `f` free and wanted, `e` free and not looked at.
`ordering` says which literal of a body comes next. Literals that only have to hold once become functions of their own
that return at the first success.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from games.gdl.interpreter.naming import Linker, Names, fact_source, tuple_source, value_source
from games.gdl.interpreter.ordering import JoinOrder
from games.gdl.interpreter.planning import Sizes
from games.gdl.interpreter.unfolding import DISTINCT, TRUE, UnfoldedRules
from games.gdl.rules.terms import Atom, Literal, Predicate, Rule, is_variable, predicate, variables
from games.machine import Term

MAX_LOOPS = 12
"""Loops inside one another in one function; Python allows 20 blocks."""

UNCOUNTED_LOOPS = 2
"""Only loops nested deeper than this count their iterations as steps; elsewhere the steps of calls are enough.

Set by hand; not tuned.
"""


class RuleWriter:
    """Writes the functions of one rule for one binding pattern."""

    def __init__(self, program: UnfoldedRules, sizes: Sizes, linker: Linker, prefix: str) -> None:
        self._program = program
        self._sizes = sizes
        self._linker = linker
        self._prefix = prefix
        self._functions = 0
        self.in_recursion = False
        """Whether the rule is part of a recursion: a call with free arguments may well be the present one."""
        self.source: list[str] = []
        """Lines of finished functions."""

    def write(self, rule: Rule, pattern: str) -> str:
        """Writes the rule's function and returns its name.

        Its parameters are the bound arguments and, where values are wanted, the dict to add answers to; else it returns
        whether the rule's body holds.
        """
        self.in_recursion = predicate(rule.head) in self._program.recursive
        names = Names()
        arguments = rule.head[1:]
        parameters = []
        matches: list[tuple[Term, str]] = []
        for argument, letter in zip(arguments, pattern, strict=True):
            if letter == "b":
                if is_variable(argument) and argument not in names.bound:
                    parameters.append(names.bind(str(argument)))
                else:
                    parameters.append(names.fresh())
                    matches.append((argument, parameters[-1]))
        wanted = [argument for argument, letter in zip(arguments, pattern, strict=True) if letter == "f"]
        unit = _Unit(self, names, "f" in pattern, wanted)
        for term, expression in matches:
            unit.match(term, expression)
        unit.body(list(rule.body))
        return self.finish(unit, parameters)

    def finish(self, unit: _Unit, parameters: list[str]) -> str:
        """Adds a unit's function to the source."""
        name = f"{self._prefix}_{self._functions}"
        self._functions += 1
        if unit.collects:
            parameters = [*parameters, "out"]
        self.source.append(f"def {name}({', '.join(parameters)}):")
        self.source.extend("    " + line for line in unit.lines)
        if not unit.collects:
            self.source.append("    return False")
        return name

    def exists(self, literals: list[Literal], names: Names) -> str:
        """A condition that some binding of the unbound variables satisfies all the literals."""
        inner = Names()
        shared = [name for literal in literals for name in variables(literal.atom) if name in names.bound]
        shared = list(dict.fromkeys(shared))
        parameters = [inner.bind(name) for name in shared]
        unit = _Unit(self, inner, False, [])
        unit.emit("R.steps -= 1")
        unit.emit("if R.steps < 0: R.check()")
        unit.body(literals)
        name = self.finish(unit, parameters)
        return f"{name}({', '.join(names.bound[variable] for variable in shared)})"

    @property
    def may_be_endless(self) -> bool:
        """Whether the rule is part of a recursion that builds terms."""
        return self.in_recursion and self._program.builds_terms

    @property
    def program(self) -> UnfoldedRules:
        """The program whose rules are written."""
        return self._program

    @property
    def sizes(self) -> Sizes:
        """The estimates that order literals."""
        return self._sizes

    @property
    def linker(self) -> Linker:
        """Where relations come from."""
        return self._linker


class _Unit:
    """One function: a nest of loops that ends in adding an answer, or in returning true."""

    def __init__(self, writer: RuleWriter, names: Names, collects: bool, wanted: list[Term]) -> None:
        self._writer = writer
        self._linker = writer.linker
        self.names = names
        self.collects = collects
        self._wanted = wanted
        self._order = JoinOrder(writer.program, writer.sizes, writer.linker, writer.in_recursion, names, wanted)
        self._loops = 0
        self.lines: list[str] = []

    def emit(self, line: str) -> None:
        """Adds a line inside the present loops."""
        self.lines.append("    " * self._loops + line)

    def require(self, condition: str) -> None:
        """Goes on only where a condition holds."""
        failure = "continue" if self._loops else "return" if self.collects else "return False"
        self.emit(f"if not {condition}: {failure}")

    def match(self, term: Term, expression: str) -> None:
        """Makes a value match a term, binding the variables that are not bound yet."""
        if isinstance(term, str):
            if term.startswith("?") and term not in self.names.bound:
                self.emit(f"{self.names.bind(term)} = {expression}")
            else:
                self.require(f"{expression} == {self.names.expression(term)}")
            return
        if self.names.is_bound(term):
            self.require(f"{expression} == {self.names.expression(term)}")
            return
        self.require(f"({expression}.__class__ is tuple and len({expression}) == {len(term)})")
        for i, part in enumerate(term):
            self.match(part, f"{expression}[{i}]")

    def body(self, literals: list[Literal]) -> None:
        """Writes the code for all the literals and what follows them."""
        remaining = literals
        while True:
            remaining = self._simple_tests(remaining)
            if not remaining:
                self._act()
                return
            if self._loops >= MAX_LOOPS:
                self._continue_elsewhere(remaining)
                return
            literals, binds = self._order.next(remaining, self.collects)
            remaining = [literal for literal in remaining if literal not in literals]
            if binds:
                self._enumerate(literals[0], remaining)
            else:
                self._check(literals)

    def _simple_tests(self, literals: list[Literal]) -> list[Literal]:
        """Tests whatever can be looked up, and returns the other literals."""
        remaining = []
        for literal in literals:
            relation = predicate(literal.atom)
            if not self.names.is_bound(literal.atom[1:]) or (
                relation != DISTINCT and self._linker.is_derived(relation)
            ):
                remaining.append(literal)
            else:
                condition = self._ground_condition(literal.atom)
                self.require(condition if literal.positive else f"(not {condition})")
        return remaining

    def _ground_condition(self, atom: Atom) -> str:
        relation = predicate(atom)
        parts = [self.names.expression(part) for part in atom[1:]]
        if relation == DISTINCT:
            return f"({parts[0]} != {parts[1]})"
        if self._writer.program.base(relation) == TRUE:
            return f"({fact_source(self._writer.program.unfoldings.get(relation), parts)} in S.facts)"
        return f"({value_source(parts)} in {self._index(relation, 'b' * len(parts))})"

    def _index(self, relation: Predicate, pattern: str) -> str:
        name = self._linker.index(relation, pattern)
        return f"({name}.table or {name}.build())" if self._linker.is_varying(relation) else name

    # -------------------------------------------------------------------------------------------------------- writing

    def _act(self) -> None:
        if not self.collects:
            self.emit("return True")
        else:
            self.emit(f"out[{value_source([self.names.expression(term) for term in self._wanted])}] = None")

    def _check(self, part: list[Literal]) -> None:
        if len(part) > 1:
            self.require(self._writer.exists(part, self.names))
            return
        literal = part[0]
        pattern = self._order.pattern(literal, ())
        if "f" in pattern:
            self.require(self._writer.exists(part, self.names))
            return
        rows = self._rows(literal.atom, pattern)
        self.require(rows if literal.positive else f"(not {rows})")

    def _rows(self, atom: Atom, pattern: str) -> str:
        """An expression for the answers of a literal, or whether there are any if none is wanted."""
        relation = predicate(atom)
        bound = [self.names.expression(term) for term, letter in zip(atom[1:], pattern, strict=True) if letter == "b"]
        key = value_source(bound)
        if not self._linker.is_derived(relation):
            index = self._index(relation, pattern)
            return f"{index}.get({key}, ())" if "f" in pattern else f"({key} in {index})"
        suffix = self._linker.table(relation, pattern)
        self.emit(f"k = {key}")
        self.emit(f"r = T{suffix}.get(k)")
        self.emit(f"if r is None: r = C{suffix}(k)")
        return "r"

    def _enumerate(self, literal: Literal, others: list[Literal]) -> None:
        pattern = self._order.pattern(literal, others)
        rows = self._rows(literal.atom, pattern)
        if "f" not in pattern:
            self.require(rows)
            return
        targets = []
        matches: list[tuple[Term, str]] = []
        for argument, letter in zip(literal.atom[1:], pattern, strict=True):
            if letter != "f":
                continue
            if is_variable(argument) and argument not in self.names.bound:
                targets.append(self.names.bind(str(argument)))
            else:
                targets.append(self.names.fresh())
                matches.append((argument, targets[-1]))
        self.emit(f"for {', '.join(targets)} in {rows}:")
        self._loops += 1
        if self._loops > UNCOUNTED_LOOPS or self._writer.may_be_endless:
            self.emit("R.steps -= 1")
            self.emit("if R.steps < 0: R.check()")
        for term, expression in matches:
            self.match(term, expression)

    def _continue_elsewhere(self, remaining: list[Literal]) -> None:
        """Goes on in a function of its own, for bodies with more loops than Python nests."""
        inner = Names()
        shared = list(self.names.bound)
        parameters = [inner.bind(name) for name in shared]
        unit = _Unit(self._writer, inner, self.collects, self._wanted)
        unit.body(remaining)
        name = self._writer.finish(unit, parameters)
        arguments = [self.names.bound[variable] for variable in shared]
        if self.collects:
            self.emit(f"{name}({', '.join([*arguments, 'out'])})")
        else:
            self.emit(f"if {name}({', '.join(arguments)}): return True")


def write_grouping(name: str, pattern: str) -> str:
    """The source of a function from rows to a dict: by the values of the columns `b`, those of the columns `f`."""
    columns = [f"c{i}" for i in range(len(pattern))]
    key = value_source([column for column, letter in zip(columns, pattern, strict=True) if letter == "b"])
    values = [column for column, letter in zip(columns, pattern, strict=True) if letter == "f"]
    # Rows differ, so what is left of them does if no column is left out.
    repeats = "e" in pattern
    lines = [f"def {name}(rows):", "    found = {}", f"    for {tuple_source(columns) if columns else '_'} in rows:"]
    if repeats or not values:
        lines.append(f"        found.setdefault({key}, {{}})[{value_source(values)}] = None")
        lines.append("    return {k: list(v) for k, v in found.items()}")
    else:
        lines.append(f"        k = {key}")
        lines.append("        if k in found:")
        lines.append(f"            found[k].append({value_source(values)})")
        lines.append("        else:")
        lines.append(f"            found[k] = [{value_source(values)}]")
        lines.append("    return found")
    return "\n".join(lines) + "\n"


def write_table(
    writer_of: Callable[[str], RuleWriter], rules: Sequence[Rule], pattern: str, suffix: str, recursive: bool
) -> str:
    """The source of a predicate with a binding pattern.

    It defines `E<suffix>(k)`, which evaluates a call, enters the answers into the table's complete ones, `T<suffix>`,
    and returns them; for recursive predicates also `D<suffix>(k, out)`, the function of `CallTable.run`.
    """
    lines: list[str] = []
    functions = []
    for number, rule in enumerate(rules):
        writer = writer_of(f"r{suffix}_{number}")
        functions.append(writer.write(rule, pattern))
        lines.extend(writer.source)
    parameters = [f"a{i}" for i in range(pattern.count("b"))]
    unpack = [f"    {', '.join(parameters)} = k"] if parameters else []
    collects = "f" in pattern
    if collects:
        calls = [f"    {function}({', '.join([*parameters, 'out'])})" for function in functions]
    else:
        alternatives = [f"{function}({', '.join(parameters)})" for function in functions]
        calls = [f"    holds = {' or '.join(alternatives) or 'False'}"]
    if recursive:
        lines.append(f"def D{suffix}(k, out):")
        lines.extend(unpack + calls)
        lines.append(f"    return {'False' if collects else 'holds'}")
    lines.append(f"def E{suffix}(k):")
    lines.append("    R.steps -= 1")
    lines.append("    if R.steps < 0: R.check()")
    if recursive:
        lines.append(f"    if k in A{suffix}: P{suffix}.cyclic()")
        lines.append(f"    A{suffix}.add(k)")
    lines.extend(unpack)
    if collects:
        lines.append("    out = {}")
    lines.extend(calls)
    if recursive:
        lines.append(f"    A{suffix}.discard(k)")
    if collects:
        lines.append("    holds = list(out)")
    lines.append(f"    T{suffix}[k] = holds")
    lines.append("    return holds")
    return "\n".join(lines) + "\n"
