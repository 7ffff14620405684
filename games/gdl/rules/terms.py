"""Rules as data, and the operations on terms that all later stages share.

Atoms are tuples `(relation, argument, ...)`; a proposition is a tuple of length one. The built-in `distinct` is an
ordinary positive literal. Predicates differ by name *and* arity.

Functions on terms are recursive; `normalise` bounds the depth (`MAX_DEPTH`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import count
from typing import NamedTuple, TypeAlias

from games.machine import Term

Atom: TypeAlias = tuple[Term, ...]
"""`(relation, argument, ...)`; the relation is always a `str`."""

Predicate: TypeAlias = tuple[str, int]
"""Relation name and arity."""

Substitution: TypeAlias = Mapping[str, Term]
"""From variables to terms."""


class Literal(NamedTuple):
    """An atom, or its negation."""

    positive: bool
    atom: Atom


class Rule(NamedTuple):
    """`head` holds if every literal of `body` does; a fact has an empty body."""

    head: Atom
    body: tuple[Literal, ...]
    statement: int
    """Index of the rule's statement in the rulesheet."""

    def __str__(self) -> str:
        literals = [term_text(lit.atom) if lit.positive else f"(not {term_text(lit.atom)})" for lit in self.body]
        return " ".join(["(<=", term_text(self.head), *literals]) + ")" if literals else term_text(self.head)


def is_variable(term: Term) -> bool:
    """Whether the term is a variable (`?x`)."""
    return isinstance(term, str) and term.startswith("?")


_GOAL = re.compile("-?[0-9]{1,15}")


def goal_value(term: Term) -> int | None:
    """The number of a goal value; None for what is no integer, or one that floats do not hold exactly."""
    return int(term) if isinstance(term, str) and _GOAL.fullmatch(term) else None


def term_text(term: Term) -> str:
    """The term as prefix text, for messages."""
    return term if isinstance(term, str) else "(" + " ".join(map(term_text, term)) + ")"


def iterate_variables(term: Term) -> Iterator[str]:
    """The variables of a term or atom from left to right, with repeats."""
    if isinstance(term, str):
        if term.startswith("?"):
            yield term
    else:
        for part in term:
            if isinstance(part, str):
                if part.startswith("?"):
                    yield part
            else:
                yield from iterate_variables(part)


def variables(*terms: Term) -> dict[str, None]:
    """The variables of terms or atoms, in order of appearance (a `dict` used as an ordered set)."""
    if len(terms) == 1:
        return _distinct_variables(terms[0]).copy()
    return {name: None for term in terms for name in _distinct_variables(term)}


def body_variables(body: Iterable[Literal]) -> dict[str, None]:
    """The variables of a body, in order of appearance."""
    found: dict[str, None] = {}
    for literal in body:
        found.update(_distinct_variables(literal.atom))
    return found


@lru_cache(maxsize=1 << 14)
def _distinct_variables(term: Term) -> dict[str, None]:
    """The variables of a term, in order of appearance. Cached: rewriting asks for the same few atoms all the time."""
    return dict.fromkeys(iterate_variables(term))


def substitute(term: Term, binding: Substitution) -> Term:
    """The term with its variables replaced by their values in `binding`, once."""
    if isinstance(term, str):
        return binding.get(term, term) if term.startswith("?") else term
    return tuple([substitute(part, binding) for part in term])


def substitute_atom(atom: Atom, binding: Substitution) -> Atom:
    """`substitute` for atoms."""
    return tuple([substitute(part, binding) for part in atom])


def substitute_rule(rule: Rule, binding: Substitution) -> Rule:
    """`substitute` for rules."""
    body = tuple([Literal(lit.positive, substitute_atom(lit.atom, binding)) for lit in rule.body])
    return Rule(substitute_atom(rule.head, binding), body, rule.statement)


def _walk(term: Term, binding: Substitution) -> Term:
    while isinstance(term, str) and term in binding:
        term = binding[term]
    return term


def _occurs(name: str, term: Term, binding: Substitution) -> bool:
    term = _walk(term, binding)
    return term == name if isinstance(term, str) else any(_occurs(name, part, binding) for part in term)


def resolve(term: Term, binding: Substitution) -> Term:
    """The term with its variables replaced, through chains of bindings as `unify` makes them."""
    term = _walk(term, binding)
    return term if isinstance(term, str) else tuple([resolve(part, binding) for part in term])


def fresh_names(callee: Rule, caller: Rule) -> dict[str, str]:
    """New names for the variables of `callee`, to put it into `caller` without clashes.

    They contain a space, so no sheet has them; a caller may have them from an earlier unfolding.
    """
    own = (*variables(callee.head), *body_variables(callee.body))
    taken = {*variables(caller.head), *body_variables(caller.body)}
    number = next(n for n in count() if not any(f"{name} {n}" in taken for name in own))
    return {name: f"{name} {number}" for name in own}


def unfold_call(caller: Rule, place: int, callee: Rule) -> Rule | None:
    """The caller with its positive literal at `place` replaced by the callee's body; None if the heads do not unify.

    SLD resolution (Kowalski: Predicate logic as programming language, 1974).
    """
    fresh = fresh_names(callee, caller)
    binding = unify(substitute_atom(callee.head, fresh), caller.body[place].atom)
    if binding is None:
        return None

    def resolved(atom: Atom) -> Atom:
        return (atom[0], *[resolve(part, binding) for part in atom[1:]])

    inner = [Literal(part.positive, substitute_atom(part.atom, fresh)) for part in callee.body]
    body = (*caller.body[:place], *inner, *caller.body[place + 1 :])
    return Rule(
        resolved(caller.head), tuple([Literal(part.positive, resolved(part.atom)) for part in body]), caller.statement
    )


def unify(left: Term, right: Term, binding: Substitution | None = None) -> dict[str, Term] | None:
    """The most general unifier of two terms, extending `binding`; None if there is none. With occurs check.

    Bindings are triangular: apply them with `resolve`.
    """
    result = dict(binding or {})
    pending = [(left, right)]
    while pending:
        one, two = pending.pop()
        one, two = _walk(one, result), _walk(two, result)
        if one == two:
            continue
        if is_variable(one) or is_variable(two):
            name, value = (one, two) if is_variable(one) else (two, one)
            assert isinstance(name, str)
            if _occurs(name, value, result):
                return None
            result[name] = value
        elif isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two):
            pending.extend(zip(one, two, strict=True))
        else:
            return None
    return result


def predicate(atom: Atom) -> Predicate:
    """Name and arity of an atom's relation."""
    # A relation is always a name; converting it to `str` would take longer than all the rest.
    return atom[0], len(atom) - 1  # type: ignore[return-value]
