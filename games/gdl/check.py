"""What a rulesheet means, and what is wrong with it.

`check` is lenient: real rulesheets break the letter of the specification in many ways, and whenever a meaning exists
the match goes on with a warning. Only what has no meaning is an error: statements that are no rules, variables that
nothing binds, recursion through negation, no roles.

Reference: Love, Hinrichs, Haley, Schkufza, Genesereth: General Game Playing: Game Description Language Specification,
2008.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from games.gdl.dependencies import components, dependency_components
from games.gdl.rules import (
    Atom,
    Diagnostic,
    InvalidRulesError,
    Literal,
    Predicate,
    Rule,
    iterate_variables,
    normalise,
    predicate,
    substitute_atom,
    term_text,
    unify,
    variables,
)
from games.machine import Term

KEYWORD_ARITIES = {"role": 1, "init": 1, "true": 1, "next": 1, "legal": 2, "does": 2, "goal": 2, "terminal": 0}
"""Arguments that the relations of the game itself take."""


@dataclass(frozen=True, slots=True)
class CheckedRules:
    """A rulesheet that has a meaning."""

    rules: tuple[Rule, ...]
    """Safe and stratified, in the order of the statements."""
    roles: tuple[Term, ...]
    """In the order in which joint moves list them."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings only."""


def check(rulesheet: Sequence[Term]) -> CheckedRules:
    """Normalises and checks a rulesheet. Raises `InvalidRulesError` (with all diagnostics) where it has no meaning."""
    diagnostics: list[Diagnostic] = []
    rules = normalise(rulesheet, diagnostics)
    rules = _bind_all_variables(rules, diagnostics)
    _check_arities(rules, diagnostics)
    _check_stratification(rules, diagnostics)
    roles = _find_roles(rules, diagnostics)
    _check_required(rules, diagnostics)
    if any(found.severity == "error" for found in diagnostics):
        raise InvalidRulesError(diagnostics)
    return CheckedRules(tuple(rules), roles, tuple(diagnostics))


def _error(message: str, *path: int) -> Diagnostic:
    return Diagnostic("error", message, path)


def _warning(message: str, *path: int) -> Diagnostic:
    return Diagnostic("warning", message, path)


# -------------------------------------------------------------------------------------------------------------- safety


def _bound_variables(body: Iterable[Literal]) -> set[str]:
    return {
        name
        for literal in body
        if literal.positive and literal.atom[0] != "distinct"
        for name in iterate_variables(literal.atom)
    }


def _bind_all_variables(rules: list[Rule], diagnostics: list[Diagnostic]) -> list[Rule]:
    """Rules in which some positive literal binds each variable; warnings and errors for those that were not so."""
    safe: list[Rule] = []
    for rule in rules:
        bound = _bound_variables(rule.body)
        unbound = [name for name in variables(rule.head) if name not in bound]
        if unbound:
            diagnostics.append(_error(f"nothing binds {' '.join(unbound)} in {term_text(rule.head)}", rule.statement))
            continue
        if all(name in bound for literal in rule.body for name in iterate_variables(literal.atom)):
            safe.append(rule)
            continue
        body: list[Literal] = []
        for literal in rule.body:
            free = [name for name in variables(literal.atom) if name not in bound]
            if not free:
                body.append(literal)
                continue
            names, text = " ".join(free), term_text(literal.atom)
            if literal.atom[0] == "distinct":
                # An unbound variable differs from every term: some value of it does.
                diagnostics.append(_warning(f"nothing binds {names} in {text}: always true", rule.statement))
                continue
            diagnostics.append(
                _warning(f"nothing binds {names} in (not {text}): read as `for no {names}`", rule.statement)
            )
            kept = [name for name in variables(literal.atom) if name in bound]
            some: Atom = (f"some {len(safe)}", *kept)
            safe.append(Rule(some, (Literal(True, literal.atom),), rule.statement))
            body.append(Literal(False, some))
        safe.append(Rule(rule.head, tuple(body), rule.statement))
    return safe


# ------------------------------------------------------------------------------------------------------ predicates


def _check_arities(rules: Iterable[Rule], diagnostics: list[Diagnostic]) -> None:
    """Warns of names with several arities and of relations that no rule concludes."""
    arities: dict[str, dict[int, int]] = defaultdict(dict)
    concluded: set[Predicate] = {("true", 1), ("does", 2), ("distinct", 2)}
    for rule in rules:
        concluded.add(predicate(rule.head))
        arities[str(rule.head[0])].setdefault(len(rule.head) - 1, rule.statement)
    missing: dict[Predicate, int] = {}
    for rule in rules:
        for literal in rule.body:
            name, arity = predicate(literal.atom)
            arities[name].setdefault(arity, rule.statement)
            if (name, arity) not in concluded:
                missing.setdefault((name, arity), rule.statement)
    for name, found in arities.items():
        if name in KEYWORD_ARITIES:
            for arity, statement in found.items():
                if arity != KEYWORD_ARITIES[name]:
                    message = f"`{name}` takes {KEYWORD_ARITIES[name]} arguments, not {arity}"
                    diagnostics.append(_warning(message, statement))
        elif len(found) > 1:
            counts = " and ".join(map(str, found))
            diagnostics.append(_warning(f"`{name}` is used with {counts} arguments", max(found.values())))
    for (name, arity), statement in missing.items():
        diagnostics.append(_warning(f"`{name}` with {arity} arguments is never true: no rule concludes it", statement))


def _check_stratification(rules: Iterable[Rule], diagnostics: list[Diagnostic]) -> None:
    """Errors for recursion through negation, naming the relations of the cycle.

    Sheets write `(<= (goal ?p 0) (not (goal ?p 100)))`. So where a predicate depends on its own negation, it is the
    single rules that decide: one depends on another if a literal of its body unifies with the other's head.
    """
    rules = list(rules)
    component = {p: i for i, members in enumerate(dependency_components(rules)) for p in members}
    suspects = {
        component[predicate(rule.head)]
        for rule in rules
        for literal in rule.body
        if not literal.positive and component.get(predicate(literal.atom)) == component[predicate(rule.head)]
    }
    for number in sorted(suspects):
        members = [rule for rule in rules if component[predicate(rule.head)] == number]
        heads = [substitute_atom(rule.head, {name: f"{name}'" for name in variables(rule.head)}) for rule in members]
        graph: dict[int, list[int]] = {}
        negative: list[tuple[int, int]] = []
        for i, rule in enumerate(members):
            graph[i] = []
            for literal in rule.body:
                for j, head in enumerate(heads):
                    if unify(literal.atom, head) is not None:
                        graph[i].append(j)
                        if not literal.positive:
                            negative.append((i, j))
        place = {i: n for n, cycle in enumerate(components(graph)) for i in cycle}
        for i, j in negative:
            if place[i] == place[j]:
                names = sorted({f"{name}/{arity}" for name, arity in (predicate(rule.head) for rule in members)})
                message = f"`{members[i].head[0]}` depends on its own negation through {' '.join(names)}"
                diagnostics.append(_error(message, members[i].statement))
                break


def _find_roles(rules: Iterable[Rule], diagnostics: list[Diagnostic]) -> tuple[Term, ...]:
    roles: dict[Term, None] = {}
    for rule in rules:
        if predicate(rule.head) != ("role", 1):
            continue
        if rule.body:
            diagnostics.append(_error("a role that depends on conditions", rule.statement))
        else:
            roles.setdefault(rule.head[1])
    if not roles:
        diagnostics.append(_error("no roles"))
    return tuple(roles)


def _check_required(rules: Iterable[Rule], diagnostics: list[Diagnostic]) -> None:
    heads = {predicate(rule.head) for rule in rules}
    consequences = {
        ("init", 1): "the game starts with nothing true",
        ("next", 1): "nothing is true after the first move",
        ("legal", 2): "nobody ever has a move",
        ("goal", 2): "nothing is ever won",
        ("terminal", 0): "the game never ends",
    }
    for required, consequence in consequences.items():
        if required not in heads:
            diagnostics.append(_warning(f"no rule concludes `{required[0]}`: {consequence}"))
