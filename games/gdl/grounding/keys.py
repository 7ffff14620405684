"""Keys of static relations, as a database has them: arguments that determine the others.

Sheets define arithmetic by recursion: `(plus ?x ?y ?z)` over `(succ ?x ?x1)`. Each argument may be any of a hundred
numbers, but two determine the third: ten thousand atoms, not a million. The estimates need to know. Functional
dependencies of the bodies give the keys of the heads (Armstrong: Dependency Structures of Data Base Relationships,
1974). Recursion is taken by its greatest fixpoint if its rules seem to exclude each other. Other rules are looked at
one by one: they need not agree, as sizes are added up over rules.

These keys are good for sizes only: whether rules exclude each other is a guess.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

from games.gdl.rules.domains import Domains
from games.gdl.rules.terms import Atom, Literal, Predicate, Rule, predicate, substitute_atom, variables
from games.machine import Term

Key: TypeAlias = tuple[int, ...]
"""Argument positions, from 1, ascending."""

_MOST_ARGUMENTS = 5
"""Most arguments of a relation with keys: the possible keys double with each."""

_MOST_RULES = 8
"""Most rules and facts of a recursive relation with keys."""

_MOST_FACTS = 5000
"""Most facts of a table with keys."""


class Keys:
    """The keys of some rules' relations; those of facts are found on first use."""

    def __init__(self, rules: Iterable[Rule], static: Iterable[Predicate], domains: Domains) -> None:
        """`static` are derived relations that do not depend on the state; `domains` are those of the rules."""
        self._domains = domains
        self._facts: dict[Predicate, list[Atom]] = defaultdict(list)
        self._found: dict[Predicate, list[Key]] = {}
        self._multiplicity: dict[Predicate, int] = {}
        by_head: dict[Predicate, list[Rule]] = {relation: [] for relation in static if relation[1] <= _MOST_ARGUMENTS}
        for rule in rules:
            relation = predicate(rule.head)
            if not rule.body:
                self._facts[relation].append(rule.head)
            elif relation in by_head:
                by_head[relation].append(rule)
        self._find(by_head)

    def of(self, relation: Predicate) -> Sequence[Key]:
        """The smallest sets of arguments that determine the others; empty if that takes all of them."""
        keys = self._found.get(relation)
        if keys is None:
            keys = self._found[relation] = self._of_facts(relation)
        return keys

    def multiplicity(self, relation: Predicate) -> int:
        """The most atoms of a derived relation that share the values of a key."""
        return self._multiplicity.get(relation, 1)

    def _of_facts(self, relation: Predicate) -> list[Key]:
        facts = self._facts.get(relation, ())
        if not facts or len(facts) > _MOST_FACTS or not 1 < relation[1] <= _MOST_ARGUMENTS:
            return []
        keys: list[Key] = []
        for key in _candidates(relation[1]):
            if any(set(smaller) <= set(key) for smaller in keys):
                continue
            if len({tuple([fact[i] for i in key]) for fact in facts}) == len(facts):
                keys.append(key)
        return keys

    def _find(self, by_head: Mapping[Predicate, Sequence[Rule]]) -> None:
        """Begins with all possible keys, and drops those that some rule refutes, until nothing changes."""
        supposed = {relation: self._supposed(relation, rules) for relation, rules in by_head.items() if rules}
        for relation, keys in supposed.items():
            self._found[relation] = keys
        changed = True
        while changed:
            changed = False
            for relation, keys in supposed.items():
                kept = [key for key in keys if all(self._determines(key, rule) for rule in by_head[relation])]
                if len(kept) < len(keys):
                    supposed[relation] = self._found[relation] = kept
                    changed = True
        for relation, keys in supposed.items():
            self._found[relation] = [key for key in keys if not any(set(k) < set(key) for k in keys)]

    def _supposed(self, relation: Predicate, rules: Sequence[Rule]) -> list[Key]:
        """The possible keys of a relation with these rules."""
        keys = _candidates(relation[1])
        if not any(predicate(literal.atom) == relation for rule in rules for literal in rule.body):
            self._multiplicity[relation] = len(rules) + len(self._facts.get(relation, ()))
            return keys
        concluding = [*rules, *[Rule(fact, (), 0) for fact in self._facts.get(relation, ())]]
        if len(concluding) > _MOST_RULES:
            return []
        pairs = list(combinations(concluding, 2))
        return [key for key in keys if all(self._exclude(key, one, other) for one, other in pairs)]

    def _exclude(self, key: Key, one: Rule, other: Rule) -> bool:
        """Whether two rules seem never to conclude different atoms with the same values of the key.

        Either some values cannot be the same; or one rule compares them in a way that the other does not; or both make
        the other arguments of them in the same way.
        """
        for i in key:
            values = [self._values(rule, rule.head[i]) for rule in (one, other)]
            if values[0] is not None and values[1] is not None and values[0].isdisjoint(values[1]):
                return True
        if self._compared(key, one) != self._compared(key, other):
            return True
        named = [substitute_atom(rule.head, _places(key, rule)) for rule in (one, other)]
        return named[0] == named[1] and variables(named[0]).keys() <= {f"?{i}" for i in key}

    def _values(self, rule: Rule, term: Term) -> frozenset[str] | None:
        if not isinstance(term, str):
            return None
        return self._domains.constants(rule.body, term) if term.startswith("?") else frozenset((term,))

    def _compared(self, key: Key, rule: Rule) -> frozenset[Literal]:
        """The literals that compare variables of the key alone; these are named by their positions."""
        places = _places(key, rule)
        return frozenset(
            Literal(literal.positive, substitute_atom(literal.atom, places))
            for literal in rule.body
            if len(literal.atom) > 2 and (names := variables(literal.atom)) and names.keys() <= places.keys()
        )

    def _determines(self, key: Key, rule: Rule) -> bool:
        known = set(variables(*[rule.head[i] for i in key]))
        wanted = variables(rule.head).keys() - known
        waiting = [literal for literal in rule.body if literal.positive and literal.atom[0] != "distinct"]
        while wanted:
            new = [literal for literal in waiting if self._determined(literal, known)]
            if not new:
                return False
            for literal in new:
                waiting.remove(literal)
                known |= variables(literal.atom).keys()
            wanted -= known
        return True

    def _determined(self, literal: Literal, known: set[str]) -> bool:
        atom = literal.atom
        bound = {i for i in range(1, len(atom)) if variables(atom[i]).keys() <= known}
        return len(bound) == len(atom) - 1 or any(bound.issuperset(key) for key in self.of(predicate(atom)))


def _candidates(arguments: int) -> list[Key]:
    """The proper, non-empty subsets of the argument positions, small ones first."""
    return [key for size in range(1, arguments) for key in combinations(range(1, arguments + 1), size)]


def _places(key: Key, rule: Rule) -> dict[str, Term]:
    """Names for the variables of the key: their positions in the head."""
    return {name: f"?{i}" for i in key for name in variables(rule.head[i])}
