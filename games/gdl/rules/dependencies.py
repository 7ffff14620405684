"""Dependencies between predicates and between rules: strongly connected components, reachability."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from games.gdl.rules.terms import Predicate, Rule, predicate, substitute_atom, unify, variables

Node = TypeVar("Node", bound=Hashable)


def components(graph: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """Strongly connected components, each after all its successors (Tarjan 1972, with an explicit stack)."""
    order: dict[Node, int] = {}
    low: dict[Node, int] = {}
    open_nodes: list[Node] = []
    is_open: set[Node] = set()
    found: list[list[Node]] = []
    for root in graph:
        if root in order:
            continue
        order[root] = low[root] = len(order)
        open_nodes.append(root)
        is_open.add(root)
        path = [(root, iter(graph[root]))]
        while path:
            node, successors = path[-1]
            for successor in successors:
                if successor not in order:
                    order[successor] = low[successor] = len(order)
                    open_nodes.append(successor)
                    is_open.add(successor)
                    path.append((successor, iter(graph.get(successor, ()))))
                    break
                if successor in is_open:
                    low[node] = min(low[node], order[successor])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == order[node]:
                    members = []
                    while True:
                        member = open_nodes.pop()
                        is_open.discard(member)
                        members.append(member)
                        if member == node:
                            break
                    found.append(members)
    return found


def dependency_graph(rules: Iterable[Rule]) -> dict[Predicate, dict[Predicate, None]]:
    """From each concluded predicate to the predicates in the bodies of its rules."""
    graph: dict[Predicate, dict[Predicate, None]] = {}
    for rule in rules:
        successors = graph.setdefault(predicate(rule.head), {})
        for literal in rule.body:
            successors[predicate(literal.atom)] = None
    return graph


def dependency_components(rules: Iterable[Rule]) -> list[list[Predicate]]:
    """Components of mutually recursive predicates, each after its dependencies."""
    return components(dependency_graph(rules))


def rule_calls(rules: Sequence[Rule]) -> Iterator[tuple[int, int, bool]]:
    """Dependencies between single rules: `(caller, callee, positive)`, by index in `rules`.

    A literal of the caller, positive or not, unifies with the callee's head. Compares every literal with every head.
    """
    heads = [substitute_atom(rule.head, {name: f"{name}'" for name in variables(rule.head)}) for rule in rules]
    for caller, rule in enumerate(rules):
        for literal in rule.body:
            for callee, head in enumerate(heads):
                if unify(literal.atom, head) is not None:
                    yield caller, callee, literal.positive


def reachable(graph: Mapping[Node, Iterable[Node]], roots: Iterable[Node]) -> set[Node]:
    """The nodes reachable from `roots`, with the roots."""
    seen = set(roots)
    pending = list(seen)
    while pending:
        for successor in graph.get(pending.pop(), ()):
            if successor not in seen:
                seen.add(successor)
                pending.append(successor)
    return seen
