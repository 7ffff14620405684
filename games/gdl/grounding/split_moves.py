"""Takes rules about moves apart: a role makes exactly one move, so conditions on its parts can be separate.

    next(cell(X2, Y2, P)) :- does(R, move(X1, Y1, X2, Y2)), true(cell(X1, Y1, P))

has one instance for each move and piece. But the move is the same wherever `does(R, ...)` stands, so the rule means

    moved(R, P)           :- does(R, move(X1, Y1, _, _)), true(cell(X1, Y1, P))
    next(cell(X2, Y2, P)) :- does(R, move(_, _, X2, Y2)), moved(R, P)

with a few instances for each square. In plain logic programs this would be wrong; it rests on `does` being a function.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from games.gdl.grounding.estimate import Estimates
from games.gdl.grounding.rewrite import Auxiliaries, RuleDomains
from games.gdl.rules.terms import (
    Literal,
    Predicate,
    Rule,
    body_variables,
    predicate,
    unfold_call,
    variables,
)


def separate_moves(rules: Iterable[Rule], estimates: Estimates) -> list[Rule]:
    """Rules in which literals that depend on different parts of a move are joined with those parts only.

    Makes the auxiliary relations known to `estimates`.
    """
    rules = _unfold_aliases(list(rules))
    auxiliaries = Auxiliaries("part")
    domains = RuleDomains("domain", estimates)
    result = [_separate(rule, auxiliaries, domains) for rule in rules]
    made = domains.rules + auxiliaries.rules
    for rule in auxiliaries.rules:
        estimates.add(rule, estimates.join(rule.body, estimates.domains(rule.body)))
    return result + made


def _unfold_aliases(rules: list[Rule]) -> list[Rule]:
    """Replaces positive literals of relations that only rename `does`."""
    by_head: dict[Predicate, list[Rule]] = {}
    for rule in rules:
        by_head.setdefault(predicate(rule.head), []).append(rule)
    aliases = {
        relation: members[0]
        for relation, members in by_head.items()
        if len(members) == 1
        and relation[0] not in ("next", "legal", "goal", "terminal", "init", "sees")
        and len(members[0].body) == 1
        and members[0].body[0].positive
        and members[0].body[0].atom[0] == "does"
    }
    if not aliases:
        return rules
    return [_unfold(rule, aliases) for rule in rules]


def _unfold(rule: Rule, aliases: dict[Predicate, Rule]) -> Rule:
    for number in range(len(rule.body)):
        # The current literal: an earlier alias may have bound its arguments.
        literal = rule.body[number]
        alias = aliases.get(predicate(literal.atom))
        if alias is None or not literal.positive:
            continue
        # A literal that cannot hold stays: it fails when grounded.
        rule = unfold_call(rule, number, alias) or rule
    return rule


def _separate(rule: Rule, auxiliaries: Auxiliaries, domains: RuleDomains) -> Rule:
    # Values of variables come from the original body: estimates do not know the relations made here.
    known = rule.body
    for does in known:
        if does in rule.body and does.positive and does.atom[0] == "does" and isinstance(does.atom[2], tuple):
            rule = _separate_move(rule, does, auxiliaries, domains, known)
    return rule


def _separate_move(
    rule: Rule, does: Literal, auxiliaries: Auxiliaries, domains: RuleDomains, known: Sequence[Literal]
) -> Rule:
    """The rule with the literals that depend on the move `does` in groups, connected by more than the move.

    `known` is the rule's original body: it bounds the values of variables.
    """
    role = variables(does.atom[1])
    parts = [name for name in variables(does.atom[2]) if name not in role]
    head = variables(rule.head)
    others = [literal for literal in rule.body if literal != does]
    groups = [
        group
        for group in _connected(others, {*parts, *head, *role})
        if any(name in parts and name not in head for name in body_variables(group))
    ]
    grouped = {literal for group in groups for literal in group}
    rest = [literal for literal in others if literal not in grouped]
    shown = [name for name in parts if name in head or name in body_variables(rest)]
    used = [[name for name in parts if name in body_variables(group)] for group in groups]
    if not groups:
        return rule
    if len(groups) == 1 and set(shown) <= set(used[0]) and set(head) & set(body_variables(rest)) <= set(used[0]):
        return rule
    if any(len(names) == len(parts) for names in (shown, *used)):
        return rule
    body = list(rest)
    if shown:
        body.append(_part(does, [*role, *shown], auxiliaries, rule.statement))
    for group, names in zip(groups, used, strict=True):
        inner = [_part(does, [*role, *names], auxiliaries, rule.statement), *group]
        positive = [literal for literal in inner if literal.positive and literal.atom[0] != "distinct"]
        for name in body_variables(group):
            if name not in body_variables(positive):
                binder = domains.literal(known, name, rule.statement)
                if binder is None:
                    return rule
                inner.append(binder)
        kept = [name for name in body_variables(inner) if name in head or name in role]
        body.append(auxiliaries.literal(kept, inner, rule.statement))
    return Rule(rule.head, tuple(dict.fromkeys(body)), rule.statement)


def _part(does: Literal, names: Sequence[str], auxiliaries: Auxiliaries, statement: int) -> Literal:
    """The move projected to some of its variables."""
    if len(names) == len(variables(*does.atom[1:])):
        return does
    return auxiliaries.literal(names, (does,), statement)


def _connected(literals: Iterable[Literal], given: set[str]) -> list[list[Literal]]:
    """Groups of literals that share variables other than those in `given`, in order."""
    groups: list[tuple[list[Literal], set[str]]] = []
    for literal in literals:
        names = set(variables(literal.atom)) - given
        members = [literal]
        apart = []
        for group, shared in groups:
            if shared & names:
                members = group + members
                names |= shared
            else:
                apart.append((group, shared))
        groups = [*apart, (members, names)]
    return [group for group, _ in groups]
