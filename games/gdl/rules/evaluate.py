"""The atoms of relations that are the same in every state, derived bottom-up within a bound.

Naive evaluation, stratum by stratum (Ullman: Principles of Database and Knowledge-Base Systems, 1988). For the few
atoms that a check needs, such as roles concluded by rules; gringo grounds whole games.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from games.gdl.rules.dependencies import components, dependency_components, dependency_graph, reachable, rule_calls
from games.gdl.rules.terms import Atom, Literal, Predicate, Rule, predicate, substitute_atom, unify
from games.machine import LimitError, Term

_MOST_STEPS = 300_000
"""Most literals matched: about a second. No sheet of the corpus needs any."""

_LARGEST_ATOM = 500
"""Most names in a derived atom. Rules may build terms without end, and deep ones would exhaust the stack."""


def static_atoms(rules: Iterable[Rule], relation: Predicate) -> list[Atom]:
    """The atoms of a relation that does not depend on the state: facts first, then others as derived.

    The rules must be safe and stratified. Raises `LimitError` beyond the bounds of this module.
    """
    rules = list(rules)
    needed = reachable(dependency_graph(rules), [relation])
    known: dict[Predicate, dict[Atom, None]] = defaultdict(dict)
    steps = count(1)
    for stratum in _strata([rule for rule in rules if predicate(rule.head) in needed]):
        stratum.sort(key=lambda rule: bool(rule.body))
        news = True
        while news:
            news = False
            for rule in stratum:
                # Negations and `distinct` come last: by then their variables are bound.
                body = sorted(rule.body, key=lambda literal: not literal.positive or literal.atom[0] == "distinct")
                for binding in list(_bindings(body, known, {}, steps)):
                    atom = substitute_atom(rule.head, binding)
                    if _is_larger(atom, _LARGEST_ATOM):
                        raise LimitError(f"terms of `{atom[0]}` grow beyond {_LARGEST_ATOM} names")
                    news |= atom not in known[predicate(atom)]
                    known[predicate(atom)][atom] = None
    return list(known[relation])


def _bindings(
    body: Sequence[Literal], known: dict[Predicate, dict[Atom, None]], binding: dict[str, Term], steps: Iterator[int]
) -> Iterator[dict[str, Term]]:
    """The extensions of `binding` for which a body holds, by the atoms known."""
    if not body:
        yield binding
        return
    (positive, pattern), *rest = body
    atom = substitute_atom(pattern, binding)
    if atom[0] == "distinct" or not positive:
        holds = atom[1] != atom[2] if atom[0] == "distinct" else atom in known[predicate(atom)]
        among: Iterable[Atom] = (atom,) if holds == positive else ()
    else:
        among = known[predicate(atom)]
    for candidate in among:
        if next(steps) > _MOST_STEPS:
            raise LimitError(f"more than {_MOST_STEPS} steps")
        extended = unify(atom, candidate, binding)
        if extended is not None:
            yield from _bindings(rest, known, extended, steps)


def _strata(rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    """Groups of rules that depend on each other without negation, each group after its dependencies."""
    concluding: dict[Predicate, list[int]] = defaultdict(list)
    for number, rule in enumerate(rules):
        concluding[predicate(rule.head)].append(number)
    for component in dependency_components(rules):
        members = set(component)
        group = [rules[number] for number in sorted(n for relation in members for n in concluding[relation])]
        if all(literal.positive or predicate(literal.atom) not in members for rule in group for literal in rule.body):
            yield group
            continue
        # The relation depends on its own negation, but single rules do not.
        graph: dict[int, list[int]] = {i: [] for i in range(len(group))}
        for caller, callee, _ in rule_calls(group):
            graph[caller].append(callee)
        for cycle in components(graph):
            yield [group[i] for i in sorted(cycle)]


def _is_larger(atom: Atom, limit: int) -> bool:
    """Whether an atom has more names than `limit`."""
    pending: list[Term] = [*atom]
    for _ in range(limit):
        if not pending:
            return False
        part = pending.pop()
        if isinstance(part, tuple):
            pending.extend(part)
    return bool(pending)
