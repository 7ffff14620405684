"""Breaks up the bodies of rules: the meaning stays, the grounding gets smaller.

A rule has as many ground instances as its body's join. `split` eliminates one variable after the other: the literals
that mention it move to an auxiliary rule over their remaining variables (bucket elimination: Dechter, 1999), as long as
that pays by the estimates. Bodies that need the same auxiliary predicate share it. Its name has a space, unlike any
token.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count
from math import prod
from typing import NamedTuple

from games.gdl.grounding.estimate import Estimates, Joins
from games.gdl.rules.terms import Literal, Rule, body_variables, substitute_atom, variables


class Auxiliaries:
    """The auxiliary rules made so far: one predicate for all bodies that are equal up to names of variables."""

    def __init__(self, prefix: str) -> None:
        self._relations: dict[object, str] = {}
        self._names = (f"{prefix} {number}" for number in count())
        self.rules: list[Rule] = []

    def count(self) -> int:
        """The number of rules."""
        return len(self.rules)

    def forget(self, number: int) -> None:
        """Drops all but the first `number` rules; their names are not used again."""
        while len(self.rules) > number:
            self.rules.pop()
            self._relations.popitem()

    def _canonical(self, kept: Sequence[str], body: Iterable[Literal]) -> tuple[list[str], tuple[Literal, ...]]:
        body = tuple(body)
        renaming = {name: f"?{i}" for i, name in enumerate(dict.fromkeys((*kept, *body_variables(body))))}
        renamed = tuple([Literal(lit.positive, substitute_atom(lit.atom, renaming)) for lit in body])
        return [renaming[name] for name in kept], renamed

    def knows(self, kept: Sequence[str], body: Iterable[Literal]) -> bool:
        """Whether a predicate exists for what the body says of the variables `kept`."""
        return (len(kept), frozenset(self._canonical(kept, body)[1])) in self._relations

    def literal(self, kept: Sequence[str], body: Iterable[Literal], statement: int) -> Literal:
        """A literal that says what the body says of the variables `kept`."""
        arguments, renamed = self._canonical(kept, body)
        key = (len(kept), frozenset(renamed))
        relation = self._relations.get(key)
        if relation is None:
            relation = self._relations[key] = next(self._names)
            self.rules.append(Rule((relation, *arguments), renamed, statement))
        return Literal(True, (relation, *kept))


class RuleDomains:
    """Static relations of the constants that a variable can be; makes them known to the estimates."""

    def __init__(self, prefix: str, estimates: Estimates) -> None:
        self._prefix = prefix
        self._estimates = estimates
        self._relations: dict[frozenset[str], str] = {}
        self.rules: list[Rule] = []

    def literal(self, body: Sequence[Literal], name: str, statement: int = 0) -> Literal | None:
        """A literal that binds the variable to all its possible values; None if they are no known set of constants."""
        constants = self._estimates.constants(body, name)
        if constants is None:
            return None
        relation = self._relations.get(constants)
        if relation is None:
            relation = self._relations[constants] = f"{self._prefix} {len(self._relations)}"
            rules = [Rule((relation, constant), (), statement) for constant in sorted(constants)]
            for rule in rules:
                self._estimates.add(rule, len(rules))
            self.rules += rules
        return Literal(True, (relation, name))


def split(rules: Iterable[Rule], estimates: Estimates) -> list[Rule]:
    """Rules with bodies broken up wherever that saves ground instances by the estimates.

    Makes the auxiliary relations known to `estimates`.
    """
    auxiliaries = Auxiliaries("join")
    domains = RuleDomains("value", estimates)
    result = [_split_rule(rule, auxiliaries, domains, estimates) for rule in rules]
    done = 0
    while done < len(auxiliaries.rules):
        auxiliaries.rules[done] = _split_rule(auxiliaries.rules[done], auxiliaries, domains, estimates)
        done += 1
    result += auxiliaries.rules
    used = {literal.atom[0] for rule in result for literal in rule.body}
    return [rule for rule in domains.rules if rule.head[0] in used] + result


_GAIN = 0.9
"""Share of the estimated cost that a split must reach: estimates are rough, and each auxiliary atom costs a gate."""

_WORTH_PREPARING = 1e4
"""Least estimated cost for trying steps that only pay with the next ones: in a chain of sums, the first variable to go
leaves as many combinations as before."""

_MOST_PREPARING = 2
"""Most such steps in a row."""

_INSTANCE = 0.3
"""Cost of a ground instance in addition to its remaining literals: gringo's time."""


def _cost(body: Iterable[Literal], instances: float, dynamic: Collection[Literal]) -> float:
    return instances * (_INSTANCE + sum(literal in dynamic for literal in body))


def _combinations(names: Iterable[str], domains: Mapping[str, float]) -> float:
    return prod([domains.get(name, 1.0) for name in names])


class _Step(NamedTuple):
    """The elimination of one variable: the bucket becomes an auxiliary rule that keeps some variables."""

    bucket: tuple[Literal, ...]
    kept: list[str]
    size: float
    """Atoms derived by the auxiliary rule."""
    bucket_cost: float
    """0 if the auxiliary rule exists."""
    rest_cost: float


def _split_rule(rule: Rule, auxiliaries: Auxiliaries, values: RuleDomains, estimates: Estimates) -> Rule:
    """The rule, split as long as that pays. Preparing steps that no paying step follows are undone."""
    settled, made = rule, auxiliaries.count()
    preparing, spent, limit = 0, 0.0, 0.0
    while len(rule.body) > 1:
        domains = estimates.domains(rule.body)
        dynamic = {literal for literal in rule.body if not estimates.is_static(literal)}
        if not preparing:
            limit = _GAIN * _cost(rule.body, estimates.join(rule.body, domains), dynamic)
        step = _best_step(rule, domains, dynamic, auxiliaries, values, estimates)
        if step is None:
            break
        pays = spent + step.bucket_cost + step.rest_cost < limit
        if not pays and (limit < _WORTH_PREPARING or preparing == _MOST_PREPARING):
            break
        known = auxiliaries.count()
        literal = auxiliaries.literal(step.kept, step.bucket, rule.statement)
        if auxiliaries.count() > known:
            estimates.add(auxiliaries.rules[-1], step.size)
        body = (*[lit for lit in rule.body if lit not in step.bucket], literal)
        rule = Rule(rule.head, body, rule.statement)
        if pays:
            settled, made, preparing, spent = rule, auxiliaries.count(), 0, 0.0
        else:
            preparing += 1
            spent += step.bucket_cost
    auxiliaries.forget(made)
    return settled


def _best_step(
    rule: Rule,
    domains: Mapping[str, float],
    dynamic: Collection[Literal],
    auxiliaries: Auxiliaries,
    values: RuleDomains,
    estimates: Estimates,
) -> _Step | None:
    """The step with the least estimated total cost; None if there is no step.

    `domains` are those of the body's variables; `dynamic` are its literals that depend on the state.
    """
    head = variables(rule.head)
    join = Joins(estimates, domains).size
    parts = [(literal, variables(literal.atom)) for literal in rule.body]
    best: _Step | None = None
    names = [name for name in body_variables(rule.body) if name not in head]
    for bucket in dict.fromkeys(_bucket(parts, name, values, dynamic) for name in names):
        inside = body_variables(bucket)
        rest = tuple([literal for literal in rule.body if literal not in bucket])
        bound = body_variables(rest)
        kept = [name for name in inside if name in head or name in bound]
        if not rest or len(kept) == len(inside):
            continue
        # The rest of the body does not narrow the auxiliary rule's join.
        own = estimates.domains(bucket)
        instances = estimates.join(bucket, own)
        cost = 0.0 if auxiliaries.knows(kept, bucket) else _cost(bucket, instances, dynamic)
        # The auxiliary literal joins with the rest as a relation that holds for `share` of its arguments.
        share = min(1.0, instances / max(1.0, _combinations(kept, domains)))
        new = [name for name in kept if name not in bound]
        shorter = join(rest) * _combinations(new, domains) * share
        rest_cost = _cost(rest, shorter, dynamic) + shorter
        if best is None or cost + rest_cost < best.bucket_cost + best.rest_cost:
            best = _Step(bucket, kept, min(instances, _combinations(kept, own)), cost, rest_cost)
    return best


def _bucket(
    parts: Sequence[tuple[Literal, Mapping[str, None]]], name: str, domains: RuleDomains, dynamic: Collection[Literal]
) -> tuple[Literal, ...]:
    """The literals to join in order to eliminate a variable; empty if some literal prevents it.

    These are the literals with the variable, and those that narrow the join at no cost. Negations of static relations
    get their other variables bound to all possible values.

    `parts` is the body, each literal with its variables; `dynamic` are its literals that depend on the state.
    """
    bucket: list[Literal] = []
    bound: dict[str, None] = {}
    for literal, names in parts:
        if name in names and literal.positive and literal.atom[0] != "distinct":
            bucket.append(literal)
            bound.update(names)
    for literal, names in parts:
        if literal in bucket:
            continue
        if name in names:
            for other in names:
                if other not in bound:
                    relation = not literal.positive and literal not in dynamic
                    binder = domains.literal([part for part, _ in parts], other) if relation else None
                    if binder is None:
                        return ()
                    bucket.append(binder)
                    bound[other] = None
            bucket.append(literal)
        elif literal not in dynamic and bound.keys() >= names.keys():
            bucket.append(literal)
    return tuple(bucket)
