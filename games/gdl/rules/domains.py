"""Possible values of each argument of each relation: an over-approximation, found without deriving a single atom.

Abstract interpretation: each argument position gets the set of constants and functions that can stand there, regardless
of its neighbours. A set is an `int`, a bit per symbol. The arguments of functions are positions, too, down to a fixed
depth; so the sets reach a fixpoint for any rules.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from games.gdl.rules.dependencies import dependency_components, reachable
from games.gdl.rules.terms import Atom, Literal, Predicate, Rule, predicate
from games.machine import Term

Place: TypeAlias = tuple[object, ...]
"""Position of a term: relation, arity, argument number; the same of each term around it, function for relation."""

_DEEPEST = 12
"""Longest place followed (three functions deep); recursion that builds terms ends there."""

_FEEDS = {("init", 1): ("true", 1), ("next", 1): ("true", 1), ("legal", 2): ("does", 2)}


def fed(relation: Predicate) -> Predicate:
    """The relation that gets this one's atoms: `true` for `init` and `next`, `does` for `legal`, any other itself."""
    return _FEEDS.get(relation, relation)


def dependents(rules: Iterable[Rule], roots: Iterable[Predicate], *, later: bool = True) -> set[Predicate]:
    """The relations that depend on `roots`, in `later` states too, with the roots."""
    users: dict[Predicate, list[Predicate]] = defaultdict(list)
    for source, relation in _FEEDS.items() if later else ():
        users[source].append(relation)
    for rule in rules:
        for literal in rule.body:
            users[predicate(literal.atom)].append(predicate(rule.head))
    return reachable(users, roots)


class Domains:
    """The possible symbols of each place in the relations of some rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._bits: dict[str | Predicate, int] = {}
        self._functions: dict[int, Predicate] = {}
        self._domains: dict[Place, int] = {}
        """Set of symbols per place; relations that can hold have an entry `(name, arity)`."""
        self.deep_relations: dict[Predicate, None] = {}
        """Relations with terms nested deeper than followed here, perhaps without end (an ordered set)."""
        rules = list(rules)
        self._find(rules)
        self._cut = dependents(rules, self.deep_relations)
        """Relations whose domains may be incomplete because of such terms."""

    def sizes(self, body: Iterable[Literal]) -> dict[str, float]:
        """The number of possible terms of each variable of a body; empty if the body can never hold."""
        masks = self._masks(body) or {}
        return {name: self._count(mask, place) for name, (mask, place) in masks.items()}

    def constants(self, body: Iterable[Literal], name: str) -> frozenset[str] | None:
        """The possible values of a variable of a body; None if unknown, or if functions build some of them.

        Rules are rewritten by this answer: unlike the others, it is never too small.
        """
        body = list(body)
        masks = self._masks(body)
        if masks is None or name not in masks or any(predicate(literal.atom) in self._cut for literal in body):
            # Without masks the body can never hold, unless domains are incomplete.
            return None
        mask = masks[name][0]
        found = [symbol for symbol, bit in self._bits.items() if mask & bit]
        constants = frozenset(symbol for symbol in found if isinstance(symbol, str))
        return constants if len(constants) == len(found) else None

    def is_possible(self, atom: Atom) -> bool:
        """Whether the atom, or an instance of it, may hold in some state: False is certain."""
        return predicate(atom) in self._cut or self._masks([Literal(True, atom)]) is not None

    def symbols(self, relation: Predicate, argument: int) -> int:
        """The number of different constants and functions that an argument (from 1) of a relation can be."""
        return self._domains.get((*fed(relation), argument), 0).bit_count()

    def extent(self, relation: Predicate) -> float:
        """The number of atoms of a relation if every combination of arguments is one."""
        relation = fed(relation)
        product = 1.0 if relation in self._domains else 0.0
        for i in range(1, relation[1] + 1):
            place = (*relation, i)
            product *= self._count(self._domains.get(place, 0), place)
        return product

    def mask(self, place: Place) -> int:
        """The set of the possible symbols of a place."""
        return self._domains.get(place, 0)

    def split(self, mask: int) -> tuple[list[str], list[Predicate]]:
        """The constants and the functions of a set."""
        found = [symbol for symbol, bit in self._bits.items() if mask & bit]
        constants = [symbol for symbol in found if isinstance(symbol, str)]
        return constants, [symbol for symbol in found if not isinstance(symbol, str)]

    def add(self, rule: Rule) -> None:
        """Adds a new relation that only this rule concludes."""
        masks = self._masks(rule.body)
        if masks is not None:
            self._put_head(rule.head, predicate(rule.head), masks)
        if any(predicate(literal.atom) in self._cut for literal in rule.body):
            self._cut.add(predicate(rule.head))

    def _bit(self, symbol: str | Predicate) -> int:
        bit = self._bits.get(symbol)
        if bit is None:
            bit = self._bits[symbol] = 1 << len(self._bits)
            if isinstance(symbol, tuple):
                self._functions[bit] = symbol
        return bit

    def _find(self, rules: list[Rule]) -> None:
        derived = []
        for rule in rules:
            if rule.body:
                derived.append(rule)
            else:
                self._put_head(rule.head, fed(predicate(rule.head)), {})
        # In the order of dependencies most rules are evaluated once.
        place = {relation: i for i, members in enumerate(dependency_components(derived)) for relation in members}
        derived.sort(key=lambda rule: place[predicate(rule.head)])
        users: dict[Predicate, list[int]] = defaultdict(list)
        for number, rule in enumerate(derived):
            for relation in {fed(predicate(literal.atom)) for literal in rule.body if literal.positive}:
                users[relation].append(number)
        pending = deque(range(len(derived)))
        waiting = [True] * len(derived)
        while pending:
            number = pending.popleft()
            waiting[number] = False
            rule = derived[number]
            masks = self._masks(rule.body)
            if masks is None:
                continue
            relation = fed(predicate(rule.head))
            if self._put_head(rule.head, relation, masks):
                for user in users[relation]:
                    if not waiting[user]:
                        waiting[user] = True
                        pending.append(user)

    def _masks(self, body: Iterable[Literal]) -> dict[str, tuple[int, Place]] | None:
        """Possible values of each variable of a body, and a place with their arguments; None if it can never hold."""
        masks: dict[str, tuple[int, Place]] = {}
        for literal in body:
            if literal.positive and literal.atom[0] != "distinct":
                relation = fed(predicate(literal.atom))
                if relation not in self._domains:
                    return None
                for i, part in enumerate(literal.atom[1:], 1):
                    if not self._match(part, (*relation, i), masks):
                        return None
        return masks

    def _match(self, term: Term, place: Place, masks: dict[str, tuple[int, Place]]) -> bool:
        domain = self._domains.get(place, 0)
        if isinstance(term, str):
            if not term.startswith("?"):
                return bool(domain & self._bit(term))
            if term in masks:
                mask, first = masks[term]
                domain, place = domain & mask, first
            masks[term] = (domain, place)
            return bool(domain)
        symbol = (str(term[0]), len(term) - 1)
        if not domain & self._bit(symbol):
            return False
        return all(self._match(part, (*place, *symbol, i), masks) for i, part in enumerate(term[1:], 1))

    def _put_head(self, head: Atom, relation: Predicate, masks: Mapping[str, tuple[int, Place]]) -> bool:
        """Adds the possible values of a rule's head to the domains of `relation`; returns whether any was new."""
        changed = self._add(1, relation)
        for i, part in enumerate(head[1:], 1):
            place = (*relation, i)
            bit = self._bits.get(part) if isinstance(part, str) else None
            if bit is None or not bit & self._domains.get(place, 0):
                # Nearly all constants in large tables of facts are known at their place already.
                changed |= self._put(part, place, masks)
        return changed

    def _put(self, term: Term, place: Place, masks: Mapping[str, tuple[int, Place]]) -> bool:
        if len(place) > _DEEPEST:
            self.deep_relations[_relation(place)] = None
            return False
        if isinstance(term, str):
            if term.startswith("?"):
                return self._copy(*masks[term], place)
            return self._add(self._bit(term), place)
        symbol = (str(term[0]), len(term) - 1)
        changed = self._add(self._bit(symbol), place)
        for i, part in enumerate(term[1:], 1):
            changed |= self._put(part, (*place, *symbol, i), masks)
        return changed

    def _add(self, mask: int, place: Place) -> bool:
        known = self._domains.get(place, 0)
        self._domains[place] = known | mask
        return bool(mask & ~known)

    def _copy(self, mask: int, source: Place, place: Place) -> bool:
        changed = self._add(mask, place)
        if len(place) > _DEEPEST:
            self.deep_relations[_relation(place)] = None
        elif source != place:
            for bit, symbol in list(self._functions.items()):
                if mask & bit:
                    for i in range(1, symbol[1] + 1):
                        inner = (*source, *symbol, i)
                        changed |= self._copy(self._domains.get(inner, 0), inner, (*place, *symbol, i))
        return changed

    def _count(self, mask: int, place: Place) -> float:
        """The number of terms at a place that are built of the constants and functions in the mask."""
        count = float(mask.bit_count())
        if len(place) <= _DEEPEST:
            for bit, (name, arity) in self._functions.items():
                if mask & bit:
                    product = 1.0
                    for i in range(1, arity + 1):
                        inner = (*place, name, arity, i)
                        product *= self._count(self._domains.get(inner, 0), inner)
                    count += product - 1
        return count


def _relation(place: Place) -> Predicate:
    name, arity = place[:2]
    assert isinstance(name, str)
    assert isinstance(arity, int)
    return name, arity
