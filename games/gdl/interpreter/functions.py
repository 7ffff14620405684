"""Python source for a predicate with a binding pattern: one function for all its rules."""

from __future__ import annotations

from collections.abc import Sequence

from games.gdl.interpreter.codegen import BodyWriter, shared_variables
from games.gdl.interpreter.naming import Linker, Names, value_source
from games.gdl.interpreter.planning import Sizes
from games.gdl.interpreter.unfolding import UnfoldedRules
from games.gdl.rules.terms import Literal, Rule, is_variable, predicate
from games.machine import Term


class TableWriter:
    """Writes the function that evaluates the calls of a table."""

    def __init__(self, program: UnfoldedRules, sizes: Sizes, linker: Linker, suffix: str) -> None:
        self._prefix = f"h{suffix}"
        self._count = 0
        self.program = program
        self.sizes = sizes
        self.linker = linker
        self.in_recursion = False
        """Whether the rules are part of a recursion: a call with free arguments may well be the present one."""
        self._suffix = suffix
        self._helpers: list[str] = []

    @property
    def may_be_endless(self) -> bool:
        """Whether the rules are part of a recursion that builds terms."""
        return self.in_recursion and self.program.builds_terms

    def direct(self, rules: Sequence[Rule], pattern: str) -> str:
        """The source of `E<suffix>(key)`: evaluates a call, enters the answers into `T<suffix>`, and returns them."""
        suffix = self._suffix
        self.in_recursion = predicate(rules[0].head) in self.program.recursive
        collects = "f" in pattern
        done = f"A{suffix}.discard(key); " if self.in_recursion else ""
        lines = [f"def E{suffix}(key):", "    R.steps -= 1", "    if R.steps < 0: R.check()"]
        if self.in_recursion:
            lines.append(f"    if key in A{suffix}: P{suffix}.cyclic()")
            lines.append(f"    A{suffix}.add(key)")
        if collects:
            lines.append("    out = {}")
        lines += self._blocks(rules, pattern, None if collects else f"{done}T{suffix}[key] = True; return True")
        result = "out" if collects else "False"
        lines.append(f"    {done}T{suffix}[key] = {result}; return {result}")
        return "\n".join([*self._helpers, *lines, ""])

    def tabled(self, rules: Sequence[Rule], pattern: str) -> str:
        """The source of `D<suffix>(key, out)`, the function of `CallTable.run`."""
        self.in_recursion = True
        self._prefix = f"d{self._suffix}"
        lines = [f"def D{self._suffix}(key, out):"]
        lines += self._blocks(rules, pattern, None if "f" in pattern else "return True")
        lines.append("    return False")
        return "\n".join([*self._helpers, *lines, ""])

    def helper(self, literals: list[Literal], names: Names, wanted: list[Term] | None) -> str:
        """A call of a new function for the rest of a body; with `wanted` None it says whether that holds."""
        inner = Names()
        shared = shared_variables(literals, names, wanted or ())
        parameters = [inner.bind(name) for name in shared]
        arguments = [names.bound[name] for name in shared]
        if wanted is not None:
            parameters.append("out")
            arguments.append("out")
        self._count += 1
        name = f"{self._prefix}_{self._count}"
        writer = BodyWriter(self, inner, wanted or [], None if wanted is not None else "return True")
        writer.body(literals)
        lines = [f"def {name}({', '.join(parameters)}):", "    R.steps -= 1", "    if R.steps < 0: R.check()"]
        lines += ["    " + line for line in writer.block()]
        self._helpers += [*lines, "    return False"]
        return f"{name}({', '.join(arguments)})"

    def _blocks(self, rules: Sequence[Rule], pattern: str, success: str | None) -> list[str]:
        arguments = [f"a{i}" if letter == "b" else "" for i, letter in enumerate(pattern)]
        bound = [name for name in arguments if name]
        lines = [f"    {value_source(bound)} = key"] if bound else []
        for rule in rules:
            names = Names()
            matches: list[tuple[Term, str]] = []
            for argument, name in zip(rule.head[1:], arguments, strict=True):
                if name and is_variable(argument) and argument not in names.bound:
                    names.bound[str(argument)] = name
                elif name:
                    matches.append((argument, name))
            wanted = [argument for argument, letter in zip(rule.head[1:], pattern, strict=True) if letter == "f"]
            writer = BodyWriter(self, names, wanted, success)
            for term, name in matches:
                writer.match(term, name)
            writer.body(list(rule.body))
            lines += ["    " + line for line in writer.block()]
        return lines
