"""Replaces literals of large relations by the bodies of their rules.

    between(C, M, K) :- true(piece(M, X, Y)), left(K, X, Y), right(C, X, Y)
    pinned(M)        :- between(C, M, K), owner(P, M), owner(P, K)

Alone, `between` has an instance for each combination of `C`, `M`, `K`, `X` and `Y`. Unfolded (Tamaki and Sato:
Unfold/fold transformation of logic programs, 1984), `C` and `K` need not be kept, and `rewrite.split` eliminates one
variable after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from games.gdl.grounding.estimate import Estimates
from games.gdl.rules.dependencies import dependency_graph, reachable
from games.gdl.rules.terms import (
    Literal,
    Predicate,
    Rule,
    predicate,
    unfold_call,
    variables,
)

_LARGE = 20_000.0
"""Least estimated size of an unfolded relation: it has to pay for a second estimate."""

_MOST_STATIC = 12
"""Most literals replaced by the rule of a static relation."""

_GAME = frozenset({"init", "next", "legal", "goal", "terminal", "true", "does", "sees"})


def unfold_large(rules: Sequence[Rule], estimates: Estimates) -> list[Rule] | None:
    """Rules without the large relations that a single literal asks for; None if there are none.

    Only relations that do not depend on themselves, and whose caller does not pass on all variables of the literal. A
    static relation is derived only once for all its callers; so it may have several, if a single rule concludes it.
    """
    asking: Counter[Predicate] = Counter()
    negated: set[Predicate] = set()
    wanted: dict[Predicate, None] = {}
    for rule in rules:
        for literal in rule.body:
            asking[predicate(literal.atom)] += 1
            if not literal.positive:
                negated.add(predicate(literal.atom))
            if _hides(rule, literal) and estimates.size(predicate(literal.atom)) >= _LARGE:
                wanted[predicate(literal.atom)] = None
    graph = dependency_graph(rules)
    concluding = Counter(predicate(rule.head) for rule in rules)

    def may_go(relation: Predicate) -> bool:
        if relation not in graph or relation[0] in _GAME or relation in reachable(graph, graph[relation]):
            return False
        if estimates.is_static(Literal(True, (relation[0], *["?"] * relation[1]))):
            return concluding[relation] == 1 and relation not in negated and asking[relation] <= _MOST_STATIC
        return asking[relation] == 1

    unfolded = {relation for relation in wanted if may_go(relation)}
    if not unfolded:
        return None
    by_head: dict[Predicate, list[Rule]] = {relation: [] for relation in unfolded}
    kept: list[Rule] = []
    for rule in rules:
        by_head.get(predicate(rule.head), kept).append(rule)
    result: list[Rule] = []
    for rule in kept:
        result += _unfolded(rule, by_head)
    return result


def _hides(rule: Rule, literal: Literal) -> bool:
    """Whether the rule does not pass on some variable of a positive literal."""
    return literal.positive and not variables(literal.atom).keys() <= variables(rule.head).keys()


def _unfolded(rule: Rule, by_head: dict[Predicate, list[Rule]]) -> Iterable[Rule]:
    for number, literal in enumerate(rule.body):
        callees = by_head.get(predicate(literal.atom))
        if callees is None:
            continue
        for callee in callees:
            one = unfold_call(rule, number, callee)
            if one is not None:
                # The callee's body may have another such literal.
                yield from _unfolded(Rule(one.head, tuple(dict.fromkeys(one.body)), one.statement), by_head)
        return
    yield rule
