"""The interpreter's form of the rules: predicates with their rules, function arguments unfolded, classified.

A literal such as `(true (cell ?x ?y b))` or `(legal2 ?p (move ?m ?x ?y))` gets a predicate of its own for that function
at that argument: `true 0:cell/3`, with three columns instead of one. Bindings of the inner arguments then pass into the
call, and facts are indexed by them. One level is unfolded, so the number of predicates stays finite.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from games.gdl.rules.dependencies import components, reachable
from games.gdl.rules.terms import Atom, Literal, Predicate, Rule, predicate, substitute_rule
from games.machine import Term

TRUE: Predicate = ("true", 1)
DOES: Predicate = ("does", 2)
DISTINCT: Predicate = ("distinct", 2)

MIN_INDEXED_FACTS = 4
"""Least number of facts, of a predicate that also has rules, for an index; fewer are tried in turn."""


class Scope(IntEnum):
    """Dependence of a predicate, and so the lifetime of its tables."""

    STATIC = 0
    STATE = 1
    JOINT_MOVE = 2


@dataclass(frozen=True, slots=True)
class Unfolding:
    """Origin of a predicate made by unfolding functions at some arguments of another."""

    original: Predicate
    functions: tuple[tuple[int, str, int], ...]
    """Argument number, function name, function arity."""

    def flatten(self, arguments: Sequence[Term]) -> tuple[Term, ...] | None:
        """The arguments with these functions unwrapped; None if one has another function or none."""
        flat: list[Term] = []
        functions = {position: (name, arity) for position, name, arity in self.functions}
        for position, argument in enumerate(arguments):
            if position not in functions:
                flat.append(argument)
                continue
            name, arity = functions[position]
            if not isinstance(argument, tuple) or argument[0] != name or len(argument) != arity + 1:
                return None
            flat.extend(argument[1:])
        return tuple(flat)


class UnfoldedRules:
    """All predicates that can be queried, from the game's own relations on."""

    def __init__(self, rules: Iterable[Rule], queries: Iterable[Predicate] = ()) -> None:
        """`queries` are relations that can be queried besides the game's own."""
        self._sources: dict[Predicate, list[Rule]] = defaultdict(list)
        for rule in rules:
            self._sources[predicate(rule.head)].append(rule)
        self.unfoldings: dict[Predicate, Unfolding] = {}
        self.rules: dict[Predicate, list[Rule]] = {}
        """Rules by predicate. A predicate without rules and facts is never true."""
        self.facts: dict[Predicate, list[tuple[Term, ...]]] = {}
        """Distinct rows of predicates defined by facts alone."""
        roots: list[Predicate] = [("init", 1), ("legal", 2), ("next", 1), ("terminal", 0), ("goal", 2), ("role", 1)]
        self._add_all([*roots, *queries])
        graph = {
            relation: {predicate(literal.atom): None for rule in rules for literal in rule.body}
            for relation, rules in self.rules.items()
        }
        self.recursive: set[Predicate] = set()
        self._in_company: set[Predicate] = set()
        for members in components(graph):
            if len(members) > 1:
                self._in_company.update(members)
            if len(members) > 1 or members[0] in graph.get(members[0], ()):
                self.recursive.update(members)
        self.builds_terms = any(
            isinstance(argument, tuple)
            for relation in self.recursive
            for rule in self.rules[relation]
            for atom in (rule.head, *[literal.atom for literal in rule.body])
            for argument in atom[1:]
        )
        """Whether any recursion wraps functions around terms: its relations may be infinite."""
        users: dict[Predicate, list[Predicate]] = defaultdict(list)
        for relation, used in graph.items():
            for other in used:
                users[other].append(relation)
        self._users = users
        self._counts: Counter[Predicate] | None = None
        self._shapes: dict[Predicate, set[tuple[str, int] | None]] | None = None
        self._on_state = reachable(users, [relation for relation in users if self.base(relation) == TRUE])
        self._on_moves = reachable(users, [relation for relation in users if self.base(relation) == DOES])

    def base(self, relation: Predicate) -> Predicate:
        """The rulesheet's predicate from which this one was unfolded."""
        while relation in self.unfoldings:
            relation = self.unfoldings[relation].original
        return relation

    def uses(self, relation: Predicate, used: Predicate) -> bool:
        """Whether a predicate's own rules use another one."""
        return relation in self._users.get(used, ())

    def uses_of(self, relation: Predicate) -> int:
        """Number of uses of a predicate in all rules."""
        if self._counts is None:
            self._counts = Counter(
                predicate(literal.atom) for rules in self.rules.values() for rule in rules for literal in rule.body
            )
        return self._counts[relation]

    def is_alone(self, relation: Predicate) -> bool:
        """Whether the predicate, if recursive, is so through itself alone."""
        return relation not in self._in_company

    def shape(self, relation: Predicate) -> tuple[str, int] | None:
        """Name and arity of the function of an unfolded `true`; None for `true` itself."""
        unfolding = self.unfoldings.get(relation)
        return None if unfolding is None else unfolding.functions[0][1:]

    def shapes_below(self, relation: Predicate) -> frozenset[tuple[str, int]] | None:
        """Shapes of the facts that a predicate depends on; None for any shape."""
        if self._shapes is None:
            self._shapes = defaultdict(set)
            for fact in [used for used in self._users if self.base(used) == TRUE]:
                for user in reachable(self._users, [fact]):
                    self._shapes[user].add(self.shape(fact))
        shapes = {shape for shape in self._shapes[relation] if shape is not None}
        return frozenset(shapes) if len(shapes) == len(self._shapes[relation]) else None

    def scope(self, relation: Predicate) -> Scope:
        """Dependence of a predicate."""
        if relation in self._on_moves or self.base(relation) == DOES:
            return Scope.JOINT_MOVE
        return Scope.STATE if relation in self._on_state or self.base(relation) == TRUE else Scope.STATIC

    def statics(self) -> list[Predicate]:
        """Derived predicates that are the same in all states, in order of dependence."""
        graph = {
            relation: [predicate(literal.atom) for rule in rules for literal in rule.body]
            for relation, rules in self.rules.items()
        }
        order = [relation for members in components(graph) for relation in members]
        return [relation for relation in order if relation in self.rules and self.scope(relation) == Scope.STATIC]

    def _add_all(self, roots: list[Predicate]) -> None:
        pending = list(roots)
        while pending:
            relation = pending.pop()
            if relation in self.rules or relation in self.facts or self.base(relation) in (TRUE, DOES, DISTINCT):
                continue
            rules = [self._unfold_body(rule) for rule in self._rules_of(relation)]
            facts = list(dict.fromkeys(rule.head[1:] for rule in rules if not rule.body))
            proper = [rule for rule in rules if rule.body]
            if not proper:
                self.facts[relation] = facts
                continue
            if len(facts) >= MIN_INDEXED_FACTS:
                given: Predicate = (f"{relation[0]} given", relation[1])
                self.facts[given] = facts
                names = tuple([f"?{i}" for i in range(relation[1])])
                proper.append(Rule((relation[0], *names), (Literal(True, (given[0], *names)),), -1))
            else:
                proper.extend(rule for rule in rules if not rule.body)
            self.rules[relation] = proper
            pending.extend(predicate(literal.atom) for rule in proper for literal in rule.body)

    def _rules_of(self, relation: Predicate) -> list[Rule]:
        unfolding = self.unfoldings.get(relation)
        if unfolding is None:
            return self._sources.get(relation, [])
        result = []
        for rule in self._rules_of(unfolding.original):
            binding: dict[str, Term] = {}
            for position, name, arity in unfolding.functions:
                argument = rule.head[1 + position]
                if isinstance(argument, str) and argument.startswith("?") and argument not in binding:
                    binding[argument] = (name, *[f"{argument} {position},{i}" for i in range(arity)])
            if binding:
                rule = substitute_rule(rule, binding)
            head = unfolding.flatten(rule.head[1:])
            if head is not None:
                result.append(Rule((relation[0], *head), rule.body, rule.statement))
        return result

    def _unfold_body(self, rule: Rule) -> Rule:
        body = tuple([Literal(literal.positive, self._unfold(literal.atom)) for literal in rule.body])
        return Rule(rule.head, body, rule.statement)

    def _unfold(self, atom: Atom) -> Atom:
        relation = predicate(atom)
        if relation == DISTINCT or relation in self.unfoldings:
            return atom
        functions = tuple(
            [(i, str(part[0]), len(part) - 1) for i, part in enumerate(atom[1:]) if isinstance(part, tuple)]
        )
        if not functions:
            return atom
        unfolding = Unfolding(relation, functions)
        arguments = unfolding.flatten(atom[1:])
        assert arguments is not None
        name = " ".join([str(atom[0]), *[f"{i}:{function}/{arity}" for i, function, arity in functions]])
        unfolded = (f"{name} of {len(atom) - 1}", len(arguments))
        self.unfoldings[unfolded] = unfolding
        return (unfolded[0], *arguments)
