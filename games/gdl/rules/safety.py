"""Makes rules safe: some positive literal of the body binds each variable, whatever the order of the literals.

Sheets are written for top-down provers, which call `(<= (free ?x) (not (occupied ?x)))` with `?x` known. Bottom-up such
a rule has no instances, so it is unfolded into its callers. The game asks `legal`, `goal` and `sees` for one role at a
time: a role that nothing binds is each role. A variable still open in a negation means `for no ...`; in a `distinct`,
that some value differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from games.gdl.rules.dependencies import dependency_components, dependency_graph
from games.gdl.rules.diagnostics import Diagnostic
from games.gdl.rules.normalise import resolve_distinct
from games.gdl.rules.terms import (
    Literal,
    Predicate,
    Rule,
    body_variables,
    fresh_names,
    is_variable,
    iterate_variables,
    predicate,
    resolve,
    substitute_atom,
    substitute_rule,
    term_text,
    unify,
    variables,
)

_GAME = frozenset({"init", "next", "legal", "goal", "terminal", "role"})

_OF_ROLES: frozenset[Predicate] = frozenset({("legal", 2), ("goal", 2), ("sees", 2)})
"""Relations that the game asks with their first argument, a role, bound."""

_MOST_RULES = 20_000
"""Most rules that unfolding adds; more are an error."""


def make_safe(rules: Sequence[Rule], diagnostics: list[Diagnostic]) -> list[Rule]:
    """Safe rules of the same meaning; adds warnings to `diagnostics`, and errors for rules that have no meaning."""
    if all(_is_safe(rule) for rule in rules):
        return list(rules)
    told = len(diagnostics)
    rules = _unfold_unsafe(_bind_roles(rules, diagnostics), diagnostics)
    if any(found.severity == "error" for found in diagnostics[told:]):
        return [rule for rule in rules if _is_safe(rule)]
    result: list[Rule] = []
    for rule in rules:
        unbound = _unbound_in_head(rule)
        if unbound:
            message = f"nothing binds {' '.join(unbound)} in {term_text(rule.head)}"
            diagnostics.append(Diagnostic("error", message, (rule.statement,)))
        elif _is_safe(rule):
            result.append(rule)
        else:
            result += _close(rule, f"any {len(result)}", diagnostics)
    return result


def _bound(body: Iterable[Literal]) -> set[str]:
    return set(body_variables([lit for lit in body if lit.positive and lit.atom[0] != "distinct"]))


def _is_safe(rule: Rule) -> bool:
    if not rule.body:
        return not any(True for _ in iterate_variables(rule.head))
    bound = _bound(rule.body)
    return bound.issuperset(iterate_variables(rule.head)) and all(
        bound.issuperset(iterate_variables(literal.atom)) for literal in rule.body
    )


def _unbound_in_head(rule: Rule) -> list[str]:
    bound = _bound(rule.body)
    return [name for name in variables(rule.head) if name not in bound]


def _close(rule: Rule, relation: str, diagnostics: list[Diagnostic]) -> list[Rule]:
    """A rule with a safe head, and auxiliary rules for its other open variables."""
    bound = _bound(rule.body)
    body: list[Literal] = []
    made: list[Rule] = []
    for literal in rule.body:
        free = [name for name in variables(literal.atom) if name not in bound]
        if not free:
            body.append(literal)
            continue
        # As they were written, before unfolding.
        plain = {name: name.split(" ")[0] for name in variables(literal.atom)}
        names, text = " ".join(plain[name] for name in free), term_text(substitute_atom(literal.atom, plain))
        if literal.atom[0] == "distinct":
            message = f"nothing binds {names} in {text}: always true"
        else:
            reading = f"read as `for no {names}`; ggp-base's prover leaves the literal out, as if it were true"
            message = f"nothing binds {names} in (not {text}): {reading}"
            kept = [name for name in variables(literal.atom) if name in bound]
            some = (f"{relation}.{len(made)}", *kept)
            made.append(Rule(some, (Literal(True, literal.atom),), rule.statement))
            body.append(Literal(False, some))
        diagnostics.append(Diagnostic("warning", message, (rule.statement,)))
    return [Rule(rule.head, tuple(body), rule.statement), *made]


def _bind_roles(rules: Sequence[Rule], diagnostics: list[Diagnostic]) -> list[Rule]:
    """The rules with roles that nothing binds bound to the game's roles."""
    # Rules of the game's own relations are not unfolded: what they leave open is an error of theirs.
    given = {relation: places for relation, places in _given_arguments(rules).items() if relation[0] not in _GAME}
    result = []
    for rule in rules:
        role = rule.head[1] if predicate(rule.head) in _OF_ROLES else ""
        if is_variable(role) and role not in _bound_for(rule, given):
            message = f"nothing binds {role} in {term_text(rule.head)}: read as each role"
            diagnostics.append(Diagnostic("warning", message, (rule.statement,)))
            rule = rule._replace(body=(Literal(True, ("role", role)), *rule.body))
        result.append(rule)
    return result


def _unfold_unsafe(rules: Sequence[Rule], diagnostics: list[Diagnostic]) -> list[Rule]:
    """Replaces calls of relations with unsafe heads by the bodies of their rules, callers first.

    Afterwards the variables of a negated literal are bound before it becomes a relation of its own. Recursive relations
    and the game's own stay.
    """
    recursive = _recursive_relations(rules)
    given = _given_arguments(rules)
    result = list(rules)
    limit = len(result) + _MOST_RULES
    for members in reversed(list(dependency_components(rules))):
        relation = members[0]
        if relation in recursive or relation[0] in _GAME or relation not in given:
            continue
        definition = [rule for rule in result if predicate(rule.head) == relation]
        for rule in definition:
            if unbound := _unbound_in_head(rule):
                message = f"nothing binds {' '.join(unbound)} in {term_text(rule.head)}: left to its callers"
                diagnostics.append(Diagnostic("warning", message, (rule.statement,)))
        unfolded: list[Rule] = []
        for rule in result:
            if predicate(rule.head) != relation:
                # Unique: each relation is unfolded once.
                name = f"such {relation[0]}/{relation[1]} {len(unfolded)}"
                unfolded += _unfold(rule, relation, definition, name)
            if len(unfolded) > limit:
                message = f"`{relation[0]}` has rules that bind too little, and too many callers"
                diagnostics.append(Diagnostic("error", message, (rule.statement,)))
                return list(rules)
        result = unfolded
    return result


def _given_arguments(rules: Sequence[Rule]) -> dict[Predicate, set[int]]:
    """The arguments (from 1) that callers of relations with unsafe heads have to bind, directly or for a callee."""
    given: dict[Predicate, set[int]] = {}
    before = -1
    while before != sum(map(len, given.values())):
        before = sum(map(len, given.values()))
        for rule in rules:
            bound = _bound_for(rule, given)
            found = {i for i, part in enumerate(rule.head[1:], 1) if not bound.issuperset(iterate_variables(part))}
            if found:
                given.setdefault(predicate(rule.head), set()).update(found)
    return given


def _bound_for(rule: Rule, given: Mapping[Predicate, AbstractSet[int]]) -> set[str]:
    """The variables of the body that a literal binds without being `given` them."""
    return {
        name
        for literal in rule.body
        if literal.positive and literal.atom[0] != "distinct"
        for i, part in enumerate(literal.atom[1:], 1)
        if i not in given.get(predicate(literal.atom), ())
        for name in iterate_variables(part)
    }


def _recursive_relations(rules: Iterable[Rule]) -> set[Predicate]:
    rules = list(rules)
    graph = dependency_graph(rules)
    return {
        relation
        for members in dependency_components(rules)
        for relation in members
        if len(members) > 1 or relation in graph.get(relation, ())
    }


def _unfold(rule: Rule, relation: Predicate, definition: Sequence[Rule], name: str) -> list[Rule]:
    """The same rules as `rule` without calls of `relation`; `name` is new, for auxiliary relations."""
    for literal in rule.body:
        if predicate(literal.atom) != relation:
            continue
        others = tuple([other for other in rule.body if other != literal])
        if not literal.positive:
            # An auxiliary relation over the variables bound so far takes the call, and is unfolded in turn.
            arguments = [variable for variable in variables(literal.atom) if variable in _bound(others)]
            auxiliary = (name, *arguments)
            context = tuple([other for other in others if other.positive])
            call = Rule(auxiliary, (*context, Literal(True, literal.atom)), rule.statement)
            rest = Rule(rule.head, (*others, Literal(False, auxiliary)), rule.statement)
            return _unfold(call, relation, definition, name + ".") + _unfold(rest, relation, definition, name + "'")
        unfolded: list[Rule] = []
        for i, callee in enumerate(definition):
            apart = substitute_rule(callee, fresh_names(callee, rule))
            binding = unify(literal.atom, apart.head)
            if binding is None:
                continue
            solved = {variable: resolve(variable, binding) for variable in binding}
            joined = resolve_distinct(substitute_rule(Rule(rule.head, (*others, *apart.body), rule.statement), solved))
            if joined is not None:
                unfolded += _unfold(joined, relation, definition, f"{name}.{i}")
        return unfolded
    return [rule]
