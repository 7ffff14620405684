"""Demand transformation: derives only those atoms of a relation that some rule can ask for.

Sheets written top-down (`(count_loop ?x ?y ?white ?black ...)`: counting with accumulators, following paths) define
relations that are huge when enumerated bottom-up, though few of their atoms are ever asked for. Magic sets (Beeri,
Ramakrishnan: On the Power of Magic, 1991) restrict each relation to the arguments bound by its callers, with *one*
adornment per relation, the weakest of its calls.

Demand depends on the state, and as part of the rules it would be wired into the circuit. So it is computed for all
states at once, on a positive copy of the rules where `true` and `does` hold for everything possible: a static relation,
which grounding simplifies away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import NamedTuple, TypeAlias

from games.gdl.grounding.estimate import Estimates
from games.gdl.rules.dependencies import dependency_graph, reachable
from games.gdl.rules.terms import Atom, Literal, Predicate, Rule, body_variables, predicate, variables

_LARGE = 500.0
"""Least estimated size of a relation on demand; for smaller ones demand costs more than it saves."""

_STATE_INPUTS = {("true", 1): (("init", 1), ("next", 1)), ("does", 2): (("legal", 2),)}
"""The relations given from outside, and the relations that bound them."""

_GAME = frozenset({("init", 1), ("next", 1), ("legal", 2), ("goal", 2), ("terminal", 0), *_STATE_INPUTS})

Adornments: TypeAlias = Mapping[Predicate, tuple[int, ...]]
"""The argument positions (from 1) of relations on demand that every caller binds."""


def demand(rules: Sequence[Rule], estimates: Estimates) -> list[Rule]:
    """Rules in which large relations with bound arguments are derived on demand; the same rules if there are none."""
    adornments = _weakest_adornments(rules, estimates)
    if not adornments:
        return list(rules)
    copied = _copied_relations(rules, adornments)
    guarded: list[Rule] = []
    asking: list[Rule] = []
    for rule in rules:
        guard = _guard(rule.head, adornments)
        guarded.append(Rule(rule.head, (*guard, *rule.body), rule.statement))
        if predicate(rule.head) in copied:
            body = (*guard, *_possible(rule.body, copied))
            asking.append(Rule(_renamed(rule.head, copied), body, rule.statement))
        for call in _calls(rule, adornments, estimates):
            asking.append(_demanding_rule(rule, call, guard, adornments, copied))
    for relation, sources in _STATE_INPUTS.items():
        arguments = [f"?{i}" for i in range(relation[1])]
        for name, _ in sources:
            source = Literal(True, _renamed((name, *arguments), copied))
            asking.append(Rule(_renamed((relation[0], *arguments), copied), (source,), 0))
    graph = dependency_graph(asking)
    needed = reachable(graph, [p for p in graph if p[0].startswith("demand ")])
    return guarded + [rule for rule in dict.fromkeys(asking) if predicate(rule.head) in needed]


class _Call(NamedTuple):
    """A call of a relation on demand."""

    literal: Literal
    bound: frozenset[str]
    """Variables with values at the time of the call."""
    before: tuple[Literal, ...]
    """The positive literals that bind them."""


def _weakest_adornments(rules: Sequence[Rule], estimates: Estimates) -> Adornments:
    """Adornments of the large derived relations: a fixpoint, from the strongest down; empty ones are left out."""
    derived = {predicate(rule.head) for rule in rules if rule.body} - _GAME
    adornments = {p: tuple(range(1, p[1] + 1)) for p in derived if p[1] and estimates.size(p) >= _LARGE}
    while True:
        weaker = dict(adornments)
        for rule in rules:
            for call in _calls(rule, adornments, estimates):
                atom = call.literal.atom
                bound = [i for i in weaker[predicate(atom)] if variables(atom[i]).keys() <= call.bound]
                weaker[predicate(atom)] = tuple(bound)
        weaker = {relation: adornment for relation, adornment in weaker.items() if adornment}
        if weaker == adornments:
            return adornments
        adornments = weaker


def _calls(rule: Rule, adornments: Adornments, estimates: Estimates) -> list[_Call]:
    """The calls of a body in a greedy join: the literal with the fewest matches next, negative ones last."""
    if not any(predicate(literal.atom) in adornments for literal in rule.body):
        return []
    domains = estimates.domains(rule.body)
    bound = frozenset(body_variables(_guard(rule.head, adornments)))
    waiting = [literal for literal in rule.body if literal.positive and literal.atom[0] != "distinct"]
    negative = [literal for literal in rule.body if not literal.positive]
    before: list[Literal] = []
    calls: list[_Call] = []

    def matches(literal: Literal) -> float:
        known = [domains.get(name, 1.0) for name in variables(literal.atom) if name in bound]
        return estimates.join([literal], domains) / max(1.0, prod(known))

    while waiting or negative:
        chosen = min(waiting, key=matches) if waiting else negative.pop()
        if predicate(chosen.atom) in adornments:
            calls.append(_Call(chosen, bound, tuple(before)))
        if chosen.positive:
            waiting.remove(chosen)
            before.append(chosen)
            bound |= variables(chosen.atom).keys()
    return calls


def _guard(head: Atom, adornments: Adornments) -> tuple[Literal, ...]:
    """The literal that restricts a rule to what is asked for; none if its relation is not on demand."""
    adornment = adornments.get(predicate(head))
    if adornment is None:
        return ()
    return (Literal(True, (f"demand {head[0]}/{len(head) - 1}", *[head[i] for i in adornment])),)


def _demanding_rule(
    rule: Rule, call: _Call, guard: tuple[Literal, ...], adornments: Adornments, copied: set[Predicate]
) -> Rule:
    """The rule for what a call asks for: by the literals before it that are connected with its arguments."""
    (asked,) = _guard(call.literal.atom, adornments)
    connected = set(variables(asked.atom))
    body: dict[Literal, None] = {}
    waiting = [*guard, *call.before]
    while joined := [literal for literal in waiting if connected & variables(literal.atom).keys()]:
        for literal in joined:
            waiting.remove(literal)
            body[literal] = None
            connected |= variables(literal.atom).keys()
    for literal in rule.body:
        if (not literal.positive or literal.atom[0] == "distinct") and variables(literal.atom).keys() <= connected:
            body[literal] = None
    return Rule(asked.atom, _possible(body, copied), rule.statement)


# ------------------------------------------------------------------------------------------------ the positive copy


def _copied_relations(rules: Iterable[Rule], adornments: Adornments) -> set[Predicate]:
    """The relations that are on demand or not static, and all that depend on them."""
    users: dict[Predicate, list[Predicate]] = {}
    for rule in rules:
        for literal in rule.body:
            users.setdefault(predicate(literal.atom), []).append(predicate(rule.head))
    return reachable(users, [*_STATE_INPUTS, *adornments])


def _renamed(atom: Atom, copied: set[Predicate]) -> Atom:
    return (f"possible {atom[0]}", *atom[1:]) if predicate(atom) in copied else atom


def _possible(body: Iterable[Literal], copied: set[Predicate]) -> tuple[Literal, ...]:
    """The body over the copied relations, without their negations: holds at least where the body can."""
    return tuple(
        Literal(literal.positive, _renamed(literal.atom, copied))
        for literal in body
        if literal.positive or predicate(literal.atom) not in copied
    )
