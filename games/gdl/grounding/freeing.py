"""Rules in which every fact may hold at first: those of a game that may begin anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from math import prod

from games.gdl.rules.domains import Domains, Place, dependents, fed
from games.gdl.rules.terms import Rule, predicate
from games.machine import Term

MOST_FACTS = 4096
"""Most facts that may hold at first. The native families have a few hundred."""

_DEEPEST = 12
"""Longest place joined: `Domains` follows none that is longer, and terms that grow have no end of places."""

_FACTS: Place = ("true", 1, 1)


def freed(rules: Iterable[Rule]) -> list[Rule] | None:
    """The rules with all possible facts in `init`; None if there are too many, or terms within their arguments.

    An argument's possible values are those of all arguments that share a variable with it in rules about states. So
    moves show the values that the facts of the first position lack.
    """
    rules = list(rules)
    facts = _possible_facts(rules)
    if facts is None:
        return None
    kept = [rule for rule in rules if predicate(rule.head) != ("init", 1)]
    return kept + [Rule(("init", fact), (), -1) for fact in facts]


def _possible_facts(rules: list[Rule]) -> list[Term] | None:
    domains = Domains(rules)
    shared = _Shared(domains)
    about_states = dependents(rules, [("true", 1), ("does", 2)])
    for rule in rules:
        first: dict[str, Place] = {}
        for atom in (rule.head, *(literal.atom for literal in rule.body)):
            if fed(predicate(atom)) in about_states:
                for name, place in _variables(atom[1:], fed(predicate(atom))):
                    shared.join(first.setdefault(name, place), place)
    constants, functions = domains.split(domains.mask(_FACTS))
    facts: list[Term] = list(constants)
    for name, arity in functions:
        places = [(*_FACTS, name, arity, i) for i in range(1, arity + 1)]
        arguments = [domains.split(shared.mask(place)) for place in places]
        count = prod(len(some) for some, _ in arguments)
        if any(inner for _, inner in arguments) or len(facts) + count > MOST_FACTS:
            return None
        facts += [(name, *values) for values in product(*[some for some, _ in arguments])]
    return facts


def _variables(terms: tuple[Term, ...], prefix: Place) -> Iterator[tuple[str, Place]]:
    for i, term in enumerate(terms, 1):
        if isinstance(term, tuple):
            yield from _variables(term[1:], (*prefix, i, str(term[0]), len(term) - 1))
        elif term.startswith("?"):
            yield term, (*prefix, i)


class _Shared:
    """Places with the same possible values, as disjoint sets."""

    def __init__(self, domains: Domains) -> None:
        self._domains = domains
        self._parent: dict[Place, Place] = {}
        self._mask: dict[Place, int] = {}
        """Possible values, by a set's root."""

    def mask(self, place: Place) -> int:
        """The possible values of a place."""
        root = self._root(place)
        return self._mask.get(root, self._domains.mask(root))

    def join(self, one: Place, other: Place) -> None:
        """Unites the sets of two places, and of those inside of their functions."""
        one, other = self._root(one), self._root(other)
        if one == other or max(len(one), len(other)) > _DEEPEST:
            return
        mask = self._mask[other] = self.mask(one) | self.mask(other)
        self._parent[one] = other
        for name, arity in self._domains.split(mask)[1]:
            for i in range(1, arity + 1):
                self.join((*one, name, arity, i), (*other, name, arity, i))

    def _root(self, place: Place) -> Place:
        while place in self._parent:
            place = self._parent[place]
        return place
