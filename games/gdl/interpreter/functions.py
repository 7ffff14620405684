"""Python source for a predicate with a binding pattern: one function for all rules."""

from __future__ import annotations

from collections.abc import Sequence

from games.gdl.interpreter.codegen import NEW, OUT, BodyWriter, shared_variables
from games.gdl.interpreter.merging import merged
from games.gdl.interpreter.naming import Linker, Names, value_source
from games.gdl.interpreter.planning import Sizes
from games.gdl.interpreter.tables import DEPTH_CHECKED_EVERY
from games.gdl.interpreter.unfolding import UnfoldedRules
from games.gdl.rules.terms import Literal, Predicate, Rule, is_variable, predicate
from games.machine import Term

_SINK_NAMES = {OUT: ["out"], NEW: ["out", "todo"]}
"""Variables used in the code of each sink."""


class TableWriter:
    """Writes the function that evaluates a table's calls."""

    def __init__(self, program: UnfoldedRules, sizes: Sizes, linker: Linker, suffix: str) -> None:
        self._prefix = f"h{suffix}"
        self._count = 0
        self._iterates = False
        """Whether the answers of a recursive literal are given."""
        self.program = program
        self.sizes = sizes
        self.linker = linker
        self.in_recursion = False
        """Whether the rules are part of a recursion: a call with free arguments may be the present one."""
        self._renamed = 0
        self._suffix = suffix
        self._helpers: list[str] = []

    @property
    def may_be_endless(self) -> bool:
        """Whether the rules belong to a recursion that builds terms."""
        return self.in_recursion and self.program.builds_terms

    def direct(self, rules: Sequence[Rule], pattern: str) -> str:
        """The source of `E<suffix>(key)`: evaluates a call, stores its answers in `T<suffix>`, and returns them."""
        suffix = self._suffix
        self.in_recursion = predicate(rules[0].head) in self.program.recursive
        collects = "f" in pattern
        lines = [f"def E{suffix}(key):", "    s = R.steps = R.steps - 1", "    if s < 0: R.check()"]
        if self.in_recursion:
            lines.append(f"    T{suffix}[key] = P{suffix}")
        leaving = looks = ""
        if self.may_be_endless:
            looks = f"not depth % {DEPTH_CHECKED_EVERY}"
            lines += ["    depth = R.depth = R.depth + 1", f"    if {looks}: R.look_deep((key,))"]
            leaving = "R.depth = depth - 1; "
        if collects:
            lines.append("    out = {}")
        success = None if collects else f"{leaving}T{suffix}[key] = True; return True"
        lines += self._blocks(rules, pattern, success, unpack=True)
        if self.may_be_endless and collects:
            lines.append(f"    if {looks}: R.look_deep(out)")
        result = "out" if collects else "False"
        lines.append(f"    {leaving}T{suffix}[key] = {result}; return {result}")
        return "\n".join([*self._helpers, *lines, ""])

    def iterated(self, rules: Sequence[Rule], pattern: str) -> str:
        """The source of `E<suffix>(key)` by semi-naive evaluation, for calls accepted by `is_iterable`."""
        suffix = self._suffix
        self._iterates = True
        free = [f"f{i}" for i, letter in enumerate(pattern) if letter == "f"]
        given = [rule for rule in rules if recursive_literal(rule) is None]
        steps = [rule for rule in rules if recursive_literal(rule) is not None]
        lines = [f"def E{suffix}(key):", "    s = R.steps = R.steps - 1", "    if s < 0: R.check()", "    out = {}"]
        lines += self._blocks(given, pattern, None, unpack=True)
        # Grows while it is iterated.
        lines += ["    todo = list(out)", f"    for {', '.join(free)} in todo:", "        s = R.steps = R.steps - 1"]
        lines += ["        if s < 0: R.check()"]
        lines += ["    " + line for line in self._blocks(steps, pattern, None, sink=NEW)]
        lines += [f"    T{suffix}[key] = out; return out"]
        return "\n".join([*self._helpers, *lines, ""])

    def tabled(self, rules: Sequence[Rule], pattern: str) -> str:
        """The source of `D<suffix>(key, out)`, the function of `CallTable.run`."""
        self.in_recursion = True
        self._prefix = f"d{self._suffix}"
        lines = [f"def D{self._suffix}(key, out):"]
        lines += self._blocks(rules, pattern, None if "f" in pattern else "return True", unpack=True)
        lines.append("    return False")
        return "\n".join([*self._helpers, *lines, ""])

    def rename(self, name: str) -> str:
        """A new name for a variable of an inlined rule."""
        self._renamed += 1
        return f"{name} @{self._renamed}"

    def helper(self, literals: list[Literal], names: Names, wanted: list[Term] | None, sink: str = OUT) -> str:
        """A call of a new function for the rest of a body; with `wanted` None, it tells whether the rest holds."""
        inner = Names()
        shared = shared_variables(literals, names, wanted or ())
        parameters = [inner.bind(name) for name in shared]
        arguments = [names.bound[name] for name in shared]
        if wanted is not None:
            parameters += _SINK_NAMES[sink]
            arguments += _SINK_NAMES[sink]
        self._count += 1
        name = f"{self._prefix}_{self._count}"
        writer = BodyWriter(self, inner, wanted or [], None if wanted is not None else "return True", sink)
        writer.body(literals)
        lines = [f"def {name}({', '.join(parameters)}):", "    s = R.steps = R.steps - 1", "    if s < 0: R.check()"]
        lines += ["    " + line for line in writer.block()]
        self._helpers += [*lines, "    return False"]
        return f"{name}({', '.join(arguments)})"

    def _blocks(
        self, rules: Sequence[Rule], pattern: str, success: str | None, unpack: bool = False, sink: str = OUT
    ) -> list[str]:
        arguments = [f"a{i}" if letter == "b" else "" for i, letter in enumerate(pattern)]
        bound = [name for name in arguments if name]
        lines = [f"    {value_source(bound)} = key"] if bound and unpack else []
        blocks = []
        for rule in rules:
            names = Names()
            body = list(rule.body)
            given = list(zip(rule.head[1:], arguments, strict=True))
            place = recursive_literal(rule) if self._iterates else None
            if place is not None:
                called = body.pop(place).atom[1:]
                given += [(part, f"f{i}") for i, part in enumerate(called) if pattern[i] == "f"]
            matches: list[tuple[Term, str]] = []
            for argument, name in given:
                if name and is_variable(argument) and argument not in names.bound:
                    names.bound[str(argument)] = name
                elif name:
                    matches.append((argument, name))
            wanted = [argument for argument, letter in zip(rule.head[1:], pattern, strict=True) if letter == "f"]
            writer = BodyWriter(self, names, wanted, success, sink)
            for term, name in matches:
                writer.match(term, name)
            writer.body(body)
            blocks.append(writer.block())
        return lines + ["    " + line for line in merged(blocks)]


def recursive_literal(rule: Rule) -> int | None:
    """The index in a rule's body of the only literal of the head's own predicate; None without one.

    Raises `ValueError` for several such literals, and for a negated one.
    """
    places = [i for i, literal in enumerate(rule.body) if predicate(literal.atom) == predicate(rule.head)]
    if len(places) > 1 or not all(rule.body[place].positive for place in places):
        raise ValueError("the rule is not linear")
    return places[0] if places else None


def is_iterable(program: UnfoldedRules, relation: Predicate, pattern: str) -> bool:
    """Whether calls can be evaluated semi-naively: from the latest answers to new ones.

    The predicate must be recursive through itself alone, at most once per rule, and call itself with the same bound
    arguments. See Bancilhon and Ramakrishnan: An amateur's introduction to recursive query processing strategies
    (1986).
    """
    rules = program.rules[relation]
    if relation not in program.recursive or program.builds_terms or "f" not in pattern or "e" in pattern:
        return False
    if not program.is_alone(relation):
        return False
    try:
        places = [(rule, recursive_literal(rule)) for rule in rules]
    except ValueError:
        return False
    for rule, place in places:
        if place is None:
            continue
        for own, called, letter in zip(rule.head[1:], rule.body[place].atom[1:], pattern, strict=True):
            if letter == "b" and not (own == called and is_variable(own)):
                return False
    return True
