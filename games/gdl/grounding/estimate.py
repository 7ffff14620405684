"""Estimated sizes of relations and joins, which guide rewriting.

The possible terms of each argument come from `games.gdl.rules.domains`. Sizes follow as in a database's query
optimiser: exact for relations given by facts, joined as if independent for others (Selinger et al.: Access Path
Selection in a Relational Database Management System, 1979).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from games.gdl.rules.dependencies import dependency_components
from games.gdl.rules.domains import Domains, dependents, fed
from games.gdl.rules.terms import Atom, Literal, Predicate, Rule, predicate, variables


class Estimates:
    """Domains of variables, sizes of relations and joins of some rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        rules = list(rules)
        self._domains = Domains(rules)
        self._sizes: dict[Predicate, float] = {}
        self._dynamic = dependents(rules, [("true", 1), ("does", 2)])
        self._find_sizes(rules)

    def domains(self, body: Iterable[Literal]) -> dict[str, float]:
        """The number of possible values of each variable of a body; empty if the body can never hold."""
        return self._domains.sizes(body)

    def constants(self, body: Iterable[Literal], name: str) -> frozenset[str] | None:
        """The possible values of a variable of a body; None if unknown, or if functions build some of them."""
        return self._domains.constants(body, name)

    def size(self, relation: Predicate) -> float:
        """The number of possible atoms of a relation."""
        return self._sizes.get(fed(relation), 0.0)

    def add(self, rule: Rule, size: float) -> None:
        """Adds a new relation: its only rule, and its number of atoms."""
        relation = predicate(rule.head)
        self._domains.add(rule)
        self._sizes[relation] = size
        if any(not self.is_static(literal) for literal in rule.body):
            self._dynamic.add(relation)

    def is_static(self, literal: Literal) -> bool:
        """Whether a literal is the same in all states, so that grounding decides it."""
        return predicate(literal.atom) not in self._dynamic

    def join(self, body: Iterable[Literal], domains: Mapping[str, float]) -> float:
        """The number of ways to satisfy the positive literals of a body, given the domains of its variables."""
        return Joins(self, domains).size(body)

    def density(self, atom: Atom, product: float, domains: Mapping[str, float]) -> float:
        """The share of `product` combinations of the atom's variables for which it can hold."""
        relation = predicate(atom)
        matching = self.size(relation)
        for i, part in enumerate(atom[1:], 1):
            if isinstance(part, str) and not part.startswith("?"):
                matching /= max(1, self._domains.symbols(relation, i))
        return min(1.0, matching / product) if product else 0.0

    def _find_sizes(self, rules: list[Rule]) -> None:
        facts: Counter[Predicate] = Counter(predicate(rule.head) for rule in rules if not rule.body)
        by_head: dict[Predicate, list[Rule]] = defaultdict(list)
        for rule in rules:
            if rule.body:
                by_head[predicate(rule.head)].append(rule)
        for relation in (("true", 1), ("does", 2)):
            self._sizes[relation] = self._domains.extent(relation)
        for members in dependency_components(rules):
            for relation in members:
                # Within a recursion sizes are not known yet: as large as the domains allow.
                self._sizes.setdefault(fed(relation), self._domains.extent(relation))
            for relation in members:
                if fed(relation) != relation or relation[0] in ("true", "does"):
                    continue
                total = float(facts[relation])
                for rule in by_head[relation]:
                    domains = self.domains(rule.body)
                    product = 1.0
                    for name in variables(rule.head):
                        product *= domains.get(name, 0.0)
                    total += min(product, self.join(rule.body, domains))
                self._sizes[relation] = min(total, self._domains.extent(relation))


class Joins:
    """Sizes of joins, given the domains of variables. Valid while the estimates stay the same."""

    def __init__(self, estimates: Estimates, domains: Mapping[str, float]) -> None:
        self._estimates = estimates
        self._domains = domains
        self._known: dict[Atom, tuple[list[tuple[str, float]], float]] = {}
        """The variables of each atom, with their numbers of values, and its density."""

    def size(self, body: Iterable[Literal]) -> float:
        """The number of ways to satisfy the positive literals of a body."""
        result = 1.0
        seen: set[str] = set()
        for literal in body:
            if literal.positive and literal.atom[0] != "distinct":
                known = self._known.get(literal.atom)
                if known is None:
                    known = self._known[literal.atom] = self._look(literal.atom)
                for name, values in known[0]:
                    if name not in seen:
                        result *= values
                        seen.add(name)
                result *= known[1]
        return result

    def _look(self, atom: Atom) -> tuple[list[tuple[str, float]], float]:
        names = [(name, self._domains.get(name, 1.0)) for name in variables(atom)]
        product = 1.0
        for _, values in names:
            product *= values
        return names, self._estimates.density(atom, product, self._domains)
