"""The plainest reasoner that there can be: the rules applied bottom-up until nothing new follows, stratum by stratum.

It shares no code with `games`, is slow, and is meant to be read: what it answers is what a sheet means. A rulesheet
is a sequence of terms as `protocol.kif.read_rulesheet` gives them. Rules must be safe, and stratified by relation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

Term = Any
"""A `str`, or a tuple of terms."""

Binding = dict[str, Term]


class Naive:
    """Answers for single states; a state is a set of facts, a joint move one move per role, in the sheet's order."""

    def __init__(self, rulesheet: Iterable[Term]) -> None:
        self._rules: dict[str, list[tuple[Term, list[Term]]]] = {}
        for statement in rulesheet:
            head, body = (statement[1], statement[2:]) if statement[0] == "<=" else (statement, ())
            head = (head,) if isinstance(head, str) else head
            self._rules.setdefault(head[0], []).append((head, [_listed(part) for part in body]))
        uses = {
            name: {use for _, body in rules for part in body for use in _uses(part, True)}
            for name, rules in self._rules.items()
        }
        self._stratum = dict.fromkeys(uses, 0)
        for _ in range(len(uses) + 1):
            for name, used in uses.items():
                levels = [self._stratum.get(other, 0) + (not positive) for other, positive in used]
                self._stratum[name] = max([self._stratum[name], *levels])
        if max(self._stratum.values()) > len(uses):
            raise ValueError("recursion through negation")
        on_moves, on_state = _reaching(uses, {"does"}), _reaching(uses, {"does", "true"})
        self._on_moves = [name for name in uses if name in on_moves]
        self._on_state = [name for name in uses if name in on_state and name not in on_moves]
        self._static = self._derive({}, [name for name in uses if name not in on_state])
        self.roles: list[Term] = [rule[0][1] for rule in self._rules["role"]]
        self.initial = frozenset(atom[1] for atom in self._static.get("init", ()))

    def look(self, state: Iterable[Term]) -> dict[str, set[Term]]:
        """All that holds in a state, by relation; the other questions are asked of this."""
        return self._derive({**self._static, "true": {("true", fact) for fact in state}}, self._on_state)

    def legal(self, view: dict[str, set[Term]]) -> list[set[Term]]:
        """Legal moves per role."""
        return [{move for _, who, move in view.get("legal", ()) if who == role} for role in self.roles]

    def terminal(self, view: dict[str, set[Term]]) -> bool:
        """Whether the match is over."""
        return bool(view.get("terminal"))

    def goals(self, view: dict[str, set[Term]]) -> list[int | None]:
        """The goal of each role; None if it has not exactly one."""
        values = [{int(value) for _, who, value in view.get("goal", ()) if who == role} for role in self.roles]
        return [found.pop() if len(found) == 1 else None for found in values]

    def next(self, view: dict[str, set[Term]], joint_move: Sequence[Term]) -> frozenset[Term]:
        """The facts of the next state."""
        does = {("does", role, move) for role, move in zip(self.roles, joint_move, strict=True)}
        return frozenset(atom[1] for atom in self._derive({**view, "does": does}, self._on_moves).get("next", ()))

    def _derive(self, given: dict[str, set[Term]], names: list[str]) -> dict[str, set[Term]]:
        facts = {**given, **{name: set() for name in names}}
        for level in sorted({self._stratum[name] for name in names}):
            rules = [rule for name in names if self._stratum[name] == level for rule in self._rules[name]]
            grown = True
            while grown:
                new = {_put(head, found) for head, body in rules for found in _solve(body, {}, facts)}
                grown = any(atom not in facts[atom[0]] for atom in new)
                for atom in new:
                    facts[atom[0]].add(atom)
        return facts


def _listed(formula: Term) -> Term:
    """The formula with its propositions as tuples of length one."""
    if isinstance(formula, str):
        return (formula,)
    return (formula[0], *map(_listed, formula[1:])) if formula[0] in ("or", "and", "not") else formula


def _uses(formula: Term, positive: bool) -> Iterator[tuple[str, bool]]:
    if formula[0] in ("or", "and", "not"):
        for part in formula[1:]:
            yield from _uses(part, positive and formula[0] != "not")
    elif formula[0] != "distinct":
        yield formula[0], positive


def _reaching(uses: dict[str, set[tuple[str, bool]]], goals: set[str]) -> set[str]:
    found = set(goals)
    for _ in uses:
        found |= {name for name, used in uses.items() if any(other in found for other, _ in used)}
    return found


def _solve(formulas: list[Term], binding: Binding, facts: dict[str, set[Term]]) -> Iterator[Binding]:
    """All ways to make the formulas true. What compares waits until its variables are bound, `or`s come last."""
    if not formulas:
        yield binding
        return
    chosen = min(formulas, key=lambda formula: _turn(formula, binding))
    rest = [formula for formula in formulas if formula is not chosen]
    kind = chosen[0]
    if kind == "and":
        yield from _solve([*chosen[1:], *rest], binding, facts)
    elif kind == "or":
        for part in chosen[1:]:
            yield from _solve([part, *rest], binding, facts)
    elif kind == "distinct" or kind == "not":
        if _turn(chosen, binding):
            raise ValueError(f"an unsafe rule: {chosen}")
        if kind == "not":
            holds = next(_solve([chosen[1]], binding, facts), None) is None
        else:
            holds = _put(chosen[1], binding) != _put(chosen[2], binding)
        if holds:
            yield from _solve(rest, binding, facts)
    else:
        pattern = _put(chosen, binding)
        known = facts.get(kind, set())
        for atom in [pattern] if pattern in known else known:
            found = _match(pattern, atom, binding)
            if found is not None:
                yield from _solve(rest, found, facts)


def _turn(formula: Term, binding: Binding) -> int:
    kind = formula[0]
    if kind in ("not", "distinct"):
        return 4 if _is_open(formula, binding) else 0
    return {"and": 1, "or": 3}.get(kind, 2)


def _is_open(term: Term, binding: Binding) -> bool:
    if isinstance(term, str):
        return term.startswith("?") and term not in binding
    return any(_is_open(part, binding) for part in term)


def _put(term: Term, binding: Binding) -> Term:
    return binding.get(term, term) if isinstance(term, str) else tuple([_put(part, binding) for part in term])


def _match(pattern: Term, term: Term, binding: Binding) -> Binding | None:
    """The binding extended so that the pattern is the term; None if there is no such."""
    if isinstance(pattern, str):
        if not pattern.startswith("?"):
            return binding if pattern == term else None
        if pattern in binding:
            return binding if binding[pattern] == term else None
        return {**binding, pattern: term}
    if isinstance(term, str) or len(pattern) != len(term):
        return None
    for part, other in zip(pattern, term, strict=True):
        found = _match(part, other, binding)
        if found is None:
            return None
        binding = found
    return binding
