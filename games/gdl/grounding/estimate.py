"""How large relations and joins may become: the estimates that rewriting decides by.

First the possible constants of each argument position are found by abstract interpretation (every position for itself,
relations between them forgotten). From these, sizes follow as in a database's query optimiser: exact for relations
given by facts, joined as if independent for the others (Selinger et al.: Access Path Selection in a Relational
Database Management System, 1979).
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from games.gdl.rules.dependencies import dependency_components, reachable
from games.gdl.rules.rules import Atom, Literal, Predicate, Rule, predicate, variables
from games.machine import Term

Position: TypeAlias = tuple[object, ...]
"""A place for terms: relation, arity, argument number; then function, arity, argument number of each term around it."""

_DEEPEST = 12
"""Longest position followed (three functions deep): recursion that builds terms ends there."""

_SAME = {("init", 1): ("true", 1), ("next", 1): ("true", 1), ("legal", 2): ("does", 2)}
"""Relations that feed another are one with it: what becomes true is true later."""


class Estimates:
    """Domains of variables, sizes of relations and joins of some rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        rules = list(rules)
        self._bits: dict[str | tuple[str, int], int] = {}
        self._functions: dict[int, tuple[str, int]] = {}
        self._domains: dict[Position, int] = {}
        self._sizes: dict[Predicate, float] = {}
        self.deep_relations: dict[Predicate, None] = {}
        """Relations with terms nested deeper than is followed here, perhaps without end (an ordered set)."""
        self._dynamic = _dependents(rules, [("true", 1), ("does", 2)])
        self._find_domains(rules)
        self._cut = _dependents(rules, self.deep_relations)
        """Relations whose domains may lack something, because terms nested too deep were not followed."""
        self._find_sizes(rules)

    def domains(self, body: Iterable[Literal]) -> dict[str, float]:
        """The number of values that each variable of a body can take; empty if the body can never hold."""
        masks = self._masks(body) or {}
        return {name: self._count(mask, place) for name, (mask, place) in masks.items()}

    def constants(self, body: Iterable[Literal], name: str) -> frozenset[str] | None:
        """All that a variable of a body can be; None where that includes terms built by functions, or is not known.

        Rules are rewritten by it, so unlike the other answers this one may not be too small.
        """
        body = list(body)
        masks = self._masks(body)
        if masks is None or name not in masks or any(predicate(literal.atom) in self._cut for literal in body):
            # Without masks the body can never hold, as far as is known here: perhaps its relations are not.
            return None
        mask = masks[name][0]
        found = [symbol for symbol, bit in self._bits.items() if mask & bit]
        constants = frozenset(symbol for symbol in found if isinstance(symbol, str))
        return constants if len(constants) == len(found) else None

    def size(self, relation: Predicate) -> float:
        """The number of possible atoms of a relation."""
        return self._sizes.get(_SAME.get(relation, relation), 0.0)

    def add(self, rule: Rule, size: float) -> None:
        """Makes a new relation known: its only rule, and how many atoms it has."""
        relation = predicate(rule.head)
        masks = self._masks(rule.body)
        if masks is not None:
            self._add(1, relation)
            for i, part in enumerate(rule.head[1:], 1):
                self._put(part, (*relation, i), masks)
        self._sizes[relation] = size
        if any(not self.is_static(literal) for literal in rule.body):
            self._dynamic.add(relation)
        if any(predicate(literal.atom) in self._cut for literal in rule.body):
            self._cut.add(relation)

    def is_static(self, literal: Literal) -> bool:
        """Whether a literal is the same in all states, so that grounding decides it."""
        return predicate(literal.atom) not in self._dynamic

    def join(self, body: Iterable[Literal], domains: Mapping[str, float]) -> float:
        """The number of ways to satisfy the positive literals of a body whose variables have these domains."""
        result = 1.0
        seen: dict[str, None] = {}
        for literal in body:
            if literal.positive and literal.atom[0] != "distinct":
                names = variables(literal.atom)
                product = 1.0
                for name in names:
                    product *= domains.get(name, 1.0)
                    if name not in seen:
                        result *= domains.get(name, 1.0)
                seen |= names
                result *= self._density(literal.atom, product)
        return result

    def _density(self, atom: Atom, product: float) -> float:
        """The share of `product` combinations of the atom's variables for which it can hold."""
        relation = predicate(atom)
        matching = self.size(relation)
        for i, part in enumerate(atom[1:], 1):
            if isinstance(part, str) and not part.startswith("?"):
                place = (*_SAME.get(relation, relation), i)
                matching /= max(1, self._domains.get(place, 0).bit_count())
        return min(1.0, matching / product) if product else 0.0

    # -------------------------------------------------------------------------------------------------- domains

    def _bit(self, symbol: str | tuple[str, int]) -> int:
        bit = self._bits.get(symbol)
        if bit is None:
            bit = self._bits[symbol] = 1 << len(self._bits)
            if isinstance(symbol, tuple):
                self._functions[bit] = symbol
        return bit

    def _find_domains(self, rules: list[Rule]) -> None:
        users: dict[Predicate, list[int]] = defaultdict(list)
        for number, rule in enumerate(rules):
            for literal in rule.body:
                if literal.positive:
                    relation = predicate(literal.atom)
                    users[_SAME.get(relation, relation)].append(number)
        pending = deque(range(len(rules)))
        waiting = [True] * len(rules)
        while pending:
            number = pending.popleft()
            waiting[number] = False
            rule = rules[number]
            masks = self._masks(rule.body) if rule.body else {}
            if masks is None:
                continue
            relation = predicate(rule.head)
            relation = _SAME.get(relation, relation)
            changed = self._add(1, relation)
            for i, part in enumerate(rule.head[1:], 1):
                changed |= self._put(part, (*relation, i), masks)
            if changed:
                for user in users[relation]:
                    if not waiting[user]:
                        waiting[user] = True
                        pending.append(user)

    def _masks(self, body: Iterable[Literal]) -> dict[str, tuple[int, Position]] | None:
        """What each variable of a body can be, and a position that holds its arguments; None if it can never hold."""
        masks: dict[str, tuple[int, Position]] = {}
        for literal in body:
            if literal.positive and literal.atom[0] != "distinct":
                relation = predicate(literal.atom)
                relation = _SAME.get(relation, relation)
                if relation not in self._domains:
                    return None
                for i, part in enumerate(literal.atom[1:], 1):
                    if not self._match(part, (*relation, i), masks):
                        return None
        return masks

    def _match(self, term: Term, place: Position, masks: dict[str, tuple[int, Position]]) -> bool:
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

    def _put(self, term: Term, place: Position, masks: Mapping[str, tuple[int, Position]]) -> bool:
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

    def _add(self, mask: int, place: Position) -> bool:
        known = self._domains.get(place, 0)
        self._domains[place] = known | mask
        return bool(mask & ~known)

    def _copy(self, mask: int, source: Position, place: Position) -> bool:
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

    def _count(self, mask: int, place: Position) -> float:
        """The number of terms at a position, of those constants and functions that the mask has."""
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

    # ---------------------------------------------------------------------------------------------------- sizes

    def _find_sizes(self, rules: list[Rule]) -> None:
        facts: Counter[Predicate] = Counter(predicate(rule.head) for rule in rules if not rule.body)
        by_head: dict[Predicate, list[Rule]] = defaultdict(list)
        for rule in rules:
            if rule.body:
                by_head[predicate(rule.head)].append(rule)
        for relation in (("true", 1), ("does", 2)):
            self._sizes[relation] = self._extent(relation)
        for members in dependency_components(rules):
            for relation in members:
                # Within a recursion the sizes of the others are not known yet: as large as their domains allow.
                self._sizes.setdefault(_SAME.get(relation, relation), self._extent(relation))
            for relation in members:
                if relation in _SAME or relation[0] in ("true", "does"):
                    continue
                total = float(facts[relation])
                for rule in by_head[relation]:
                    domains = self.domains(rule.body)
                    product = 1.0
                    for name in variables(rule.head):
                        product *= domains.get(name, 0.0)
                    total += min(product, self.join(rule.body, domains))
                self._sizes[relation] = min(total, self._extent(relation))

    def _extent(self, relation: Predicate) -> float:
        relation = _SAME.get(relation, relation)
        product = 1.0 if relation in self._domains else 0.0
        for i in range(1, relation[1] + 1):
            place = (*relation, i)
            product *= self._count(self._domains.get(place, 0), place)
        return product


def _relation(place: Position) -> Predicate:
    name, arity = place[:2]
    assert isinstance(name, str)
    assert isinstance(arity, int)
    return name, arity


def _dependents(rules: Iterable[Rule], roots: Iterable[Predicate]) -> set[Predicate]:
    """The relations that depend on `roots`, which are among them."""
    users: dict[Predicate, list[Predicate]] = defaultdict(list)
    for source, relation in _SAME.items():
        users[source].append(relation)
    for rule in rules:
        for literal in rule.body:
            users[predicate(literal.atom)].append(predicate(rule.head))
    return reachable(users, roots)
