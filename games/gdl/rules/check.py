"""Checks a rulesheet: its meaning, or its errors.

`check` is lenient. Real rulesheets break the letter of the specification in many ways; if a meaning exists, the match
goes on with a warning. Errors are only: statements that are no rules, variables that nothing binds, recursion through
negation, roles or an initial state that depend on the state, no roles. `does` below `legal`, `goal` or `terminal` is an
error for authors alone: no move has been made there, so no `does` holds.

Reference: Love, Hinrichs, Haley, Schkufza, Genesereth: General Game Playing: Game Description Language Specification,
2008.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from games.gdl.rules.dependencies import components, dependency_components, dependency_graph, reachable, rule_calls
from games.gdl.rules.diagnostics import Diagnostic, InvalidRulesError
from games.gdl.rules.domains import Domains, fed
from games.gdl.rules.evaluate import static_atoms
from games.gdl.rules.moveless import without_moves
from games.gdl.rules.normalise import normalise
from games.gdl.rules.oddities import KEYWORD_ARITIES, oddities
from games.gdl.rules.safety import make_safe
from games.gdl.rules.surface import has_imperfect_information, head_of
from games.gdl.rules.terms import (
    Atom,
    Literal,
    Rule,
    Substitution,
    body_variables,
    goal_value,
    is_variable,
    predicate,
    substitute_atom,
    term_text,
    unify,
    variables,
)
from games.machine import LimitError, Term

_MOST_IMPOSSIBLE = 50
"""Most literals told to be never true: a check takes no longer for sheets with thousands."""

_MOST_SUSPECTS = 1000
"""Most different rules compared in pairs for recursion through negation, so that a check takes seconds at most. More
are an error."""


@dataclass(frozen=True, slots=True)
class CheckedRules:
    """A rulesheet with a meaning."""

    rules: tuple[Rule, ...]
    """Safe and stratified, in the order of the statements."""
    roles: tuple[Term, ...]
    """In the order of joint moves."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings, and errors that leave the sheet playable: `does` where no move has been made."""


def check(rulesheet: Sequence[Term]) -> CheckedRules:
    """Normalises and checks a rulesheet. Raises `InvalidRulesError`, with all diagnostics, if it has no meaning."""
    diagnostics: list[Diagnostic] = []
    written = normalise(rulesheet, diagnostics)
    atoms = [index for index, statement in enumerate(rulesheet) if isinstance(statement, str)]
    if atoms:
        diagnostics.append(_warning(f"a bare atom, {rulesheet[atoms[0]]}, as a statement: taken for a fact", atoms[0]))
    rules = make_safe(written, diagnostics)
    _check_arities(rules, diagnostics)
    _check_stratification(rules, diagnostics)
    roles = _find_roles(rules, diagnostics)
    diagnostics += oddities(rulesheet, roles)
    if any(found.severity == "error" for found in diagnostics):
        # What is missing may be what the errors are about, so nothing is said of that.
        raise InvalidRulesError(_in_order(diagnostics))
    domains = Domains(rules)
    _check_recursion(rules, domains, diagnostics)
    _check_required(rulesheet, rules, diagnostics)
    _check_possible(rulesheet, written, rules, domains, diagnostics)
    rules = without_moves(rules, diagnostics)
    return CheckedRules(tuple(rules), roles, _in_order(diagnostics))


def _in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(dict.fromkeys(diagnostics), key=lambda found: found.path))


def _error(message: str, *path: int) -> Diagnostic:
    return Diagnostic("error", message, path)


def _warning(message: str, *path: int) -> Diagnostic:
    return Diagnostic("warning", message, path)


# ------------------------------------------------------------------------------------------------------ predicates


def _check_arities(rules: Iterable[Rule], diagnostics: list[Diagnostic]) -> None:
    """Warns of relations with several arities."""
    arities: dict[str, dict[int, int]] = defaultdict(dict)
    for rule in rules:
        for atom in (rule.head, *[literal.atom for literal in rule.body]):
            name, arity = predicate(atom)
            arities[name].setdefault(arity, rule.statement)
    for name, found in arities.items():
        if name in KEYWORD_ARITIES:
            for arity, statement in found.items():
                if arity != KEYWORD_ARITIES[name]:
                    message = f"`{name}` takes {KEYWORD_ARITIES[name]} arguments, not {arity}"
                    diagnostics.append(_warning(message, statement))
        elif len(found) > 1:
            counts = " and ".join(map(str, found))
            diagnostics.append(_warning(f"`{name}` is used with {counts} arguments", max(found.values())))


def _check_possible(
    rulesheet: Sequence[Term],
    written: Sequence[Rule],
    rules: Sequence[Rule],
    domains: Domains,
    diagnostics: list[Diagnostic],
) -> None:
    """Warns of literals that are true in no state, but for those whose rules ask for others.

    `written` are the rules before they were made safe; relations that this unfolded have no domains.
    """
    unfolded = {predicate(rule.head) for rule in written} - {predicate(rule.head) for rule in rules}
    impossible: dict[Atom, tuple[Rule, Atom]] = {}
    for rule in written:
        for literal in rule.body:
            # Names with a space are auxiliary.
            known = literal.atom[0] == "distinct" or " " in str(literal.atom[0])
            if known or len(impossible) == _MOST_IMPOSSIBLE or predicate(literal.atom) in unfolded:
                continue
            if not domains.is_possible(literal.atom):
                impossible.setdefault(_form(literal.atom), (rule, literal.atom))
    reasons = {
        form: {
            _form(literal.atom)
            for rule in written
            if _may_conclude(rule.head, atom)
            for literal in rule.body
            if literal.positive and _form(literal.atom) in impossible
        }
        for form, (_, atom) in impossible.items()
    }
    stated = [(head,) if isinstance(head, str) else head for head in map(head_of, rulesheet)]
    for members in components(reasons):
        if set().union(*[reasons[form] for form in members]) <= set(members):
            rule, atom = next(found for form, found in impossible.items() if form in members)
            name, arity = predicate(atom)
            text = term_text(atom) if arity else f"`{name}`"
            if name == "true":
                reason = "nothing makes it so, at the start or later"
            elif name == "does":
                reason = "no such move is ever legal"
            elif any(_may_conclude(head, atom) for head in stated):
                reason = "its rules can never fire"
            else:
                reason = "no rule concludes it"
                if all(head[:1] != (name,) or len(head) != arity + 1 for head in stated):
                    text = f"`{name}` with {arity} arguments"
            path = _path_to(atom, rulesheet[rule.statement])
            diagnostics.append(_warning(f"{text} is never true: {reason}", rule.statement, *path))


def _form(atom: Atom) -> Atom:
    return substitute_atom(atom, dict.fromkeys(variables(atom), "?"))


def _may_conclude(head: Atom, atom: Atom) -> bool:
    """Whether a rule with this head may conclude an instance of the atom, or make it true in a state."""
    if not head or fed(predicate(head)) != fed(predicate(atom)):
        return False
    apart = {name: f"{name}'" for name in variables(head)}
    return unify(substitute_atom(head, apart)[1:], atom[1:]) is not None


def _path_to(atom: Atom, statement: Term) -> tuple[int, ...]:
    """The place of a literal in the body of its statement; empty where it was rewritten."""
    pending: list[tuple[Term, tuple[int, ...]]] = [(part, (i,)) for i, part in enumerate(statement) if i > 1]
    while pending:
        term, path = pending.pop(0)
        if term == atom or (term,) == atom:
            return path
        if isinstance(term, tuple):
            pending += [(part, (*path, i)) for i, part in enumerate(term) if i]
    return ()


def _check_stratification(rules: Iterable[Rule], diagnostics: list[Diagnostic]) -> None:
    """Reports recursion through negation as an error, with the relations of the cycle.

    Sheets write `(<= (goal ?p 0) (not (goal ?p 100)))`. So if a predicate depends on its own negation, its single rules
    decide: one depends on another if a literal of its body unifies with the other's head.
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
        members = _calling([rule for rule in rules if component[predicate(rule.head)] == number])
        if len(members) > _MOST_SUSPECTS:
            name = members[0].head[0]
            diagnostics.append(_error(f"`{name}` may depend on its own negation", members[0].statement))
            continue
        graph: dict[int, list[int]] = {i: [] for i in range(len(members))}
        negative: list[tuple[int, int]] = []
        for caller, callee, positive in rule_calls(members):
            graph[caller].append(callee)
            if not positive:
                negative.append((caller, callee))
        place = {i: n for n, cycle in enumerate(components(graph)) for i in cycle}
        for i, j in negative:
            if place[i] == place[j]:
                names = sorted({f"{name}/{arity}" for name, arity in (predicate(rule.head) for rule in members)})
                message = f"`{members[i].head[0]}` depends on its own negation through {' '.join(names)}"
                diagnostics.append(_error(message, members[i].statement))
                break


def _calling(members: Sequence[Rule]) -> list[Rule]:
    """The rules with only the literals of their own predicates, one for each form up to names of variables."""
    predicates = {predicate(rule.head) for rule in members}
    found: dict[tuple[Atom, tuple[Literal, ...]], Rule] = {}
    for rule in members:
        body = [literal for literal in rule.body if predicate(literal.atom) in predicates]
        names = dict.fromkeys([*variables(rule.head), *body_variables(body)])
        alike: Substitution = {name: f"?{i}" for i, name in enumerate(names)}
        asked = dict.fromkeys(Literal(literal.positive, substitute_atom(literal.atom, alike)) for literal in body)
        key = substitute_atom(rule.head, alike), tuple(asked)
        found.setdefault(key, Rule(*key, rule.statement))
    return list(found.values())


def _check_recursion(rules: Sequence[Rule], domains: Domains, diagnostics: list[Diagnostic]) -> None:
    """Warns of recursion that nests terms ever deeper: there may be infinitely many."""
    for relation in domains.deep_relations:
        statement = next((rule.statement for rule in rules if predicate(rule.head) == relation), 0)
        diagnostics.append(_warning(f"`{relation[0]}` may build terms without end", statement))


def _find_roles(rules: Sequence[Rule], diagnostics: list[Diagnostic]) -> tuple[Term, ...]:
    graph = dependency_graph(rules)
    for relation in (("role", 1), ("init", 1)):
        if not reachable(graph, [relation]).isdisjoint([("true", 1), ("does", 2)]):
            statement = next(rule.statement for rule in rules if predicate(rule.head) == relation and rule.body)
            diagnostics.append(_error(f"`{relation[0]}` depends on the state", statement))
            return ()
    concluding = [rule for rule in rules if predicate(rule.head) == ("role", 1)]
    roles = dict.fromkeys(rule.head[1] for rule in concluding)
    if any(rule.body for rule in concluding) and all(found.severity == "warning" for found in diagnostics):
        try:
            roles = dict.fromkeys(atom[1] for atom in static_atoms(rules, ("role", 1)))
        except LimitError as error:
            statement = next(rule.statement for rule in concluding if rule.body)
            diagnostics.append(_error(f"`role` takes too long to work out: {error}", statement))
            return ()
    if not roles and all(found.severity == "warning" for found in diagnostics):
        diagnostics.append(_error("no roles"))
    return tuple(roles)


def _check_required(rulesheet: Iterable[Term], rules: Sequence[Rule], diagnostics: list[Diagnostic]) -> None:
    heads = {predicate(rule.head) for rule in rules}
    graph = dependency_graph(rules)
    for relation in (("base", 1), ("input", 2)):
        for rule in rules:
            asked = reachable(graph, [predicate(literal.atom) for literal in rule.body])
            if predicate(rule.head) == relation and not asked.isdisjoint([("true", 1), ("does", 2)]):
                message = f"`{relation[0]}` depends on the state, but speaks of all states"
                diagnostics.append(_warning(message, rule.statement))
                break
    seeing = next((i for i, statement in enumerate(rulesheet) if has_imperfect_information([statement])), None)
    if seeing is not None:
        message = "`sees` makes it a game of imperfect information (GDL-II): managers of plain GDL cannot run it"
        diagnostics.append(_warning(message, seeing))
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
    for rule in rules:
        if predicate(rule.head) != ("goal", 2) or is_variable(rule.head[2]):
            continue
        value = goal_value(rule.head[2])
        if value is None:
            diagnostics.append(_warning(f"no integer, so no goal: {term_text(rule.head)}", rule.statement))
        elif not 0 <= value <= 100:
            message = f"{value} is not from 0 to 100, as goals should be: {term_text(rule.head)}"
            diagnostics.append(_warning(message, rule.statement))
