"""Short definitions, inlined in place of calls."""

from __future__ import annotations

from typing import Protocol

from games.gdl.interpreter.naming import Linker
from games.gdl.interpreter.unfolding import DISTINCT, DOES, UnfoldedRules
from games.gdl.rules.terms import Atom, Literal, is_variable, predicate, substitute_atom, variables

MAX_INLINED = 3
"""Most literals of an inlined rule; longer ones are worth a call, whose answers are kept."""

MAX_INLINED_ONCE = 5
"""Most literals of an inlined rule whose relation is used once; 5 makes chess_200 a quarter faster than 3 (see
docs/experiments.md)."""


class Surroundings(Protocol):
    """The context of inlined definitions."""

    program: UnfoldedRules
    linker: Linker

    def rename(self, name: str) -> str:
        """A new name for a variable of an inlined rule."""


def in_place(context: Surroundings, literal: Literal) -> list[Literal]:
    """The literals to evaluate instead of a positive literal defined by a single short rule; otherwise the literal."""
    body = definition(context, literal.atom, True) if literal.positive else None
    return [literal] if body is None else body


def definition(context: Surroundings, atom: Atom, calls: bool) -> list[Literal] | None:
    """The body of the only rule for an atom, if it is short and needs facts alone.

    With `calls`, also a slightly longer one that needs other rules, if nothing else uses the relation.
    """
    relation = predicate(atom)
    program, linker = context.program, context.linker
    rules = program.rules.get(relation, ())
    if not linker.is_derived(relation) or len(rules) != 1 or relation in program.recursive:
        return None
    (rule,) = rules
    once = calls and program.uses_of(relation) == 1
    parameters = rule.head[1:]
    if len(set(parameters)) < len(parameters) or not all(is_variable(parameter) for parameter in parameters):
        return None
    binding = {str(parameter): value for parameter, value in zip(parameters, atom[1:], strict=True)}
    for name in variables(*[literal.atom for literal in rule.body]):
        if name not in binding:
            binding[name] = context.rename(name)
    parts: list[Literal] = []
    for literal in rule.body:
        tested = predicate(literal.atom)
        part = Literal(literal.positive, substitute_atom(literal.atom, binding))
        if tested == DISTINCT or not (linker.is_derived(tested) or program.base(tested) == DOES):
            parts.append(part)
            continue
        inner = definition(context, part.atom, calls) if part.positive else None
        if inner is not None:
            parts += inner
        elif program.base(tested) == DOES or not once:
            return None
        else:
            parts.append(part)
    return parts if len(parts) <= (MAX_INLINED_ONCE if once else MAX_INLINED) else None
