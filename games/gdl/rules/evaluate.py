"""The atoms of relations that are the same in every state, derived bottom-up within a bound.

Semi-naive evaluation, stratum by stratum (Ullman: Principles of Database and Knowledge-Base Systems, 1988). For the few
atoms that a check needs, such as roles concluded by rules; gringo grounds whole games.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from games.gdl.rules.dependencies import components, dependency_components, dependency_graph, reachable, rule_calls
from games.gdl.rules.terms import (
    Atom,
    Literal,
    Predicate,
    Rule,
    iterate_variables,
    predicate,
    substitute_atom,
    unify,
    variables,
)
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
    rules = [rule for rule in rules if predicate(rule.head) in needed]
    evaluation = _Evaluation()
    for stratum in _strata(rules):
        evaluation.close(stratum)
    return list(evaluation.atoms[relation])


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


class _Evaluation:
    """The atoms derived so far."""

    def __init__(self) -> None:
        self.atoms: dict[Predicate, dict[Atom, None]] = defaultdict(dict)
        self._by_argument: dict[tuple[Predicate, int, Term], list[Atom]] = defaultdict(list)
        self._steps = 0

    def close(self, rules: Sequence[Rule]) -> None:
        """Adds all consequences of rules that may depend on each other; everything else they ask for is known."""
        latest: dict[Predicate, dict[Atom, None]] = defaultdict(dict)
        users: dict[Predicate, list[tuple[Rule, int]]] = defaultdict(list)
        for rule in sorted(rules, key=lambda rule: bool(rule.body)):
            for number, literal in enumerate(rule.body):
                if literal.positive:
                    users[predicate(literal.atom)].append((rule, number))
            for atom in self._derive(rule.head, _ordered(rule.body)):
                self._add(atom, latest)
        while latest:
            before, latest = latest, defaultdict(dict)
            for relation, atoms in before.items():
                for rule, number in users[relation]:
                    for atom in self._derive(rule.head, _ordered(rule.body, number), atoms):
                        self._add(atom, latest)

    def _add(self, atom: Atom, latest: dict[Predicate, dict[Atom, None]]) -> None:
        relation = predicate(atom)
        if atom in self.atoms[relation]:
            return
        self.atoms[relation][atom] = None
        latest[relation][atom] = None
        for i, argument in enumerate(atom[1:], 1):
            self._by_argument[relation, i, argument].append(atom)

    def _derive(self, head: Atom, body: Sequence[Literal], first: Collection[Atom] | None = None) -> list[Atom]:
        """The heads of all instances of a rule whose body holds; the first literal by an atom of `first`, if given."""
        found: list[Atom] = []
        start: dict[str, Term] = {}
        levels = [iter([start])]
        while levels:
            binding = next(levels[-1], None)
            if binding is None:
                levels.pop()
            elif len(levels) <= len(body):
                levels.append(self._matches(body[len(levels) - 1], binding, first if len(levels) == 1 else None))
            else:
                atom = substitute_atom(head, binding)
                if _is_larger(atom, _LARGEST_ATOM):
                    raise LimitError(f"terms of `{head[0]}` grow beyond {_LARGEST_ATOM} names")
                found.append(atom)
        return found

    def _matches(
        self, literal: Literal, binding: dict[str, Term], among: Collection[Atom] | None
    ) -> Iterator[dict[str, Term]]:
        """The extensions of `binding` for which the literal holds; a positive one by an atom of `among`, if given."""
        self._step()
        atom = substitute_atom(literal.atom, binding)
        if atom[0] == "distinct":
            if (atom[1] != atom[2]) == literal.positive:
                yield binding
            return
        relation = predicate(atom)
        if not literal.positive:
            if atom not in self.atoms[relation]:
                yield binding
            return
        if among is None:
            among = self._candidates(relation, atom)
        for candidate in among:
            self._step()
            extended = unify(atom, candidate, binding)
            if extended is not None:
                yield extended

    def _candidates(self, relation: Predicate, atom: Atom) -> Collection[Atom]:
        """The known atoms that share a ground argument with `atom`: the one that narrows most."""
        known = self.atoms[relation]
        if atom in known:
            return (atom,)
        best: Collection[Atom] = known
        for i, argument in enumerate(atom[1:], 1):
            if not any(True for _ in iterate_variables(argument)):
                sharing = self._by_argument.get((relation, i, argument), ())
                if len(sharing) < len(best):
                    best = sharing
        return best

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise LimitError(f"more than {_MOST_STEPS} steps")


def _ordered(body: Sequence[Literal], first: int | None = None) -> list[Literal]:
    """The positive literals as written, but number `first` first; each test as soon as its variables are bound."""
    binding = [n for n, literal in enumerate(body) if literal.positive and literal.atom[0] != "distinct"]
    binding.sort(key=lambda n: n != first)
    bound_by: dict[str, int] = {}
    for place, n in enumerate(binding):
        for name in iterate_variables(body[n].atom):
            bound_by.setdefault(name, place)
    placed = [(place, n) for place, n in enumerate(binding)]
    for n, literal in enumerate(body):
        if not literal.positive or literal.atom[0] == "distinct":
            # After the literal that binds its last variable, hence the larger second number.
            placed.append((max((bound_by[name] for name in variables(literal.atom)), default=0), len(body) + n))
    return [body[n % len(body)] for _, n in sorted(placed)]


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
