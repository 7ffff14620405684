"""Which arguments of a static relation determine the others: its keys, as a database has them.

Sheets define arithmetic by recursion: `(plus ?x ?y ?z)` over `(succ ?x ?x1)`. Its arguments may each be any of a
hundred numbers, but two of them determine the third, so it has ten thousand atoms and not a million. The estimates
need to know. Functional dependencies of the bodies give the keys of the heads (Armstrong: Dependency Structures of Data
Base Relationships, 1974); recursion is taken by its greatest fixpoint, where its rules seem to exclude each other.
Otherwise each rule is looked at alone: that several of them agree is not required, as sizes are added up over rules.

Nothing but sizes may be concluded from these keys: whether rules exclude each other is guessed.
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
"""Relations with more arguments are not looked at: the possible keys double with each. Set by hand; not tuned."""

_MOST_RULES = 8
"""Recursive relations with more rules and facts are taken to have no key. Set by hand; not tuned."""

_MOST_FACTS = 5000
"""Tables of facts longer than this are taken to have no key. Set by hand; not tuned."""


class Keys:
    """The keys of some rules' relations; what is asked of facts is found when it is first asked."""

    def __init__(self, rules: Iterable[Rule], static: Iterable[Predicate], domains: Domains) -> None:
        """`static` are relations concluded by rules that do not depend on the state; `domains` those of the rules."""
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
        """The smallest sets of arguments that determine the others; none where that takes all of them."""
        keys = self._found.get(relation)
        if keys is None:
            keys = self._found[relation] = self._of_facts(relation)
        return keys

    def multiplicity(self, relation: Predicate) -> int:
        """How many atoms with the same values of a key there may be, of a relation that rules conclude."""
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
        """Begins with all that may be keys, and leaves out what some rule refutes until nothing changes."""
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
        """What may be a key of a relation with these rules."""
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

        Some of the values cannot be the same, or one rule compares them in a way that the other does not, or the rest
        is made of them in the same way.
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
        """The literals that compare variables, all of the key; these are named by their positions."""
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
    """The proper, non-empty subsets of so many argument positions, small ones first."""
    return [key for size in range(1, arguments) for key in combinations(range(1, arguments + 1), size)]


def _places(key: Key, rule: Rule) -> dict[str, Term]:
    """Names for the variables of the key: the positions at which the head has them."""
    return {name: f"?{i}" for i in key for name in variables(rule.head[i])}
