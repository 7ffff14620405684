"""Grounding: from rules with variables to propositional rules, by gringo.

Possible facts and moves are found along with the rules: `true(F)` may hold if `init` or `next` derives F, `does(R, M)`
if `legal` derives it. Stated as choices, gringo keeps those atoms open and simplifies away everything that does not
depend on them. This over-approximation of reachability beats declared `base` and `input` relations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from games.gdl.grounding.demand import demand
from games.gdl.grounding.estimate import Estimates
from games.gdl.grounding.observer import DEFAULT_LIMIT, GroundRules, Int32Array, Int64Array, run
from games.gdl.grounding.rewrite import split
from games.gdl.grounding.split_moves import separate_moves
from games.gdl.grounding.unfold import unfold_large
from games.gdl.rules.dependencies import dependency_graph, reachable
from games.gdl.rules.domains import dependents
from games.gdl.rules.terms import Atom, Predicate, Rule, goal_value, predicate
from games.machine import RulesError, Term

NEVER, ALWAYS = 0, -1
"""Codes in place of atom numbers: false, or true, in every state."""

OUTPUTS: tuple[Predicate, ...] = (("init", 1), ("next", 1), ("legal", 2), ("goal", 2), ("terminal", 0))
"""The game's own relations; only their dependencies are grounded."""

INPUTS: tuple[Predicate, ...] = (("true", 1), ("does", 2))


@dataclass(frozen=True, slots=True, eq=False)
class GroundProgram:
    """A game as propositional rules over atoms 1..`n_atoms`.

    An atom is true if the body of one of its rules is; inputs (`true_atom`, `does_atom`) are given from outside. Other
    atoms without rules are false.
    """

    roles: tuple[Term, ...]
    fluents: list[Term]
    """Facts that can be true in a state; `true_atom` and `next_atom` are parallel to it."""
    initial: Int32Array
    """Indices of the fluents that are true at the start, ascending."""
    moves: list[list[Term]]
    """Possible legal moves per role."""
    goals: list[list[tuple[int, int]]]
    """Per role: goal values, ascending, and their atoms (or `ALWAYS`)."""
    true_atom: Int32Array
    """Input atom per fluent; `NEVER` where no rule asks for it."""
    next_atom: Int32Array
    """Per fluent: the atom that makes it true in the next state, `NEVER` or `ALWAYS`."""
    does_atom: list[Int32Array]
    """Input atom per role and move; `NEVER` where no rule asks for it."""
    legal_atom: list[Int32Array]
    """Atom of legality per role and move, or `ALWAYS`."""
    terminal_atom: int
    n_atoms: int
    rule_head: Int32Array
    body_start: Int64Array
    """Rule i has the body `body[body_start[i]:body_start[i + 1]]`; an empty one makes its head a fact."""
    body: Int32Array
    """Literals: +atom or -atom."""
    warnings: tuple[str, ...]
    """Notes on what was dropped, such as goal values out of range."""


VARIANTS = ("split", "demand+split", "plain")
"""Ways to rewrite rules before grounding; most often the first is best.

`split` breaks up moves and bodies, `demand+split` derives on demand before that, `plain` leaves the rules as they are.
"""

_UNFOLDING_GAIN = 0.9
"""Largest share of the estimated instances at which unfolded rules are taken."""


def ground(
    rules: Iterable[Rule], roles: Sequence[Term], *, variant: str = VARIANTS[0], limit_literals: int = DEFAULT_LIMIT
) -> GroundProgram:
    """Grounds safe rules, rewritten by one of `VARIANTS`: all mean the same, their sizes differ.

    Raises `LimitError` beyond `limit_literals` body literals, `RulesError` if `init` depends on the state. Time is not
    bounded: callers with a deadline ground in a child process.
    """
    encoder = _Encoder()
    program = encoder.program(rewrite(rules, variant))
    return _assemble(run(program, encoder.constants, encoder.names, limit_literals), tuple(roles))


def rewrite(rules: Iterable[Rule], variant: str) -> list[Rule]:
    """The rules that the game depends on, rewritten by one of `VARIANTS`. Raises `ValueError` for another name."""
    return Rewriter(rules).rules(variant)


class Rewriter:
    """The variants of some rules, each made on first use; estimates are shared."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = relevant_rules(rules)
        self._made: dict[str, tuple[list[Rule], Estimates]] = {}

    def rules(self, variant: str) -> list[Rule]:
        """The rewritten rules that the game depends on. Raises `ValueError` for a name not in `VARIANTS`."""
        # Plain rules need no estimates.
        return self._rules if variant == "plain" else self._make(variant)[0]

    def instances(self, variant: str) -> float:
        """A rough estimate of the number of ground instances of a variant."""
        return _instances(*self._make(variant))

    def instances_without_moves(self, variant: str) -> float:
        """The same without the rules that depend on a move.

        Better known: estimates do not see which arguments of a move go together.
        """
        rules, estimates = self._make(variant)
        asking = dependents(rules, [("does", 2)], later=False)
        return _instances([rule for rule in rules if predicate(rule.head) not in asking], estimates)

    def _make(self, variant: str) -> tuple[list[Rule], Estimates]:
        if variant not in VARIANTS:
            raise ValueError(f"no way to rewrite rules: {variant}")
        if variant not in self._made:
            if variant == "plain":
                self._made[variant] = self._rules, Estimates(self._rules)
            else:
                rules, estimates = self._make("plain")
                if variant == "demand+split":
                    demanded = demand(rules, estimates)
                    if demanded == rules:
                        return self._make("split")
                    rules, estimates = demanded, Estimates(demanded)
                self._made[variant] = _broken_up(rules, estimates)
        return self._made[variant]


def _broken_up(rules: list[Rule], estimates: Estimates) -> tuple[list[Rule], Estimates]:
    unfolded = unfold_large(rules, estimates)
    result = _taken_apart(rules, estimates)
    if unfolded is not None:
        also = _taken_apart(unfolded, Estimates(unfolded))
        if _instances(*also) < _UNFOLDING_GAIN * _instances(*result):
            return also
    return result


def _taken_apart(rules: list[Rule], estimates: Estimates) -> tuple[list[Rule], Estimates]:
    return split(separate_moves(rules, estimates), estimates), estimates


def _instances(rules: Iterable[Rule], estimates: Estimates) -> float:
    return sum(estimates.join(rule.body, estimates.domains(rule.body)) for rule in rules if rule.body)


def relevant_rules(rules: Iterable[Rule]) -> list[Rule]:
    """The rules that the game's own relations depend on."""
    rules = list(rules)
    needed = reachable(dependency_graph(rules), OUTPUTS)
    return [rule for rule in rules if predicate(rule.head) in needed]


class _Encoder:
    """Spells rules in clingo's language: constants as numbers, functions and relations as `f0`, `f1`, ..."""

    def __init__(self) -> None:
        self.constants: list[str] = []
        self.names: dict[str, str] = {}
        self._constant_ids: dict[str, str] = {}
        self._name_ids: dict[str, str] = {}
        for name, _ in OUTPUTS + INPUTS:
            self._name_ids[name] = self.names[name] = name

    def program(self, rules: Iterable[Rule]) -> str:
        """The whole program: rules, choices of `true` and `does`, and the game's own relations shown."""
        lines = [self.rule(rule) for rule in rules]
        lines += ["{true(F)} :- init(F).", "{true(F)} :- next(F).", "{does(R,M)} :- legal(R,M)."]
        lines += [f"#show {name}/{arity}." for name, arity in OUTPUTS + INPUTS]
        return "\n".join(lines)

    def rule(self, rule: Rule) -> str:
        numbers: dict[str, str] = {}
        head = self._atom(rule.head, numbers)
        if not rule.body:
            return head + "."
        literals = []
        for literal in rule.body:
            if literal.atom[0] == "distinct":
                literals.append("!=".join(self._term(term, numbers) for term in literal.atom[1:]))
            else:
                atom = self._atom(literal.atom, numbers)
                literals.append(atom if literal.positive else "not " + atom)
        return f"{head}:-{','.join(literals)}."

    def _atom(self, atom: Atom, numbers: dict[str, str]) -> str:
        if len(atom) == 1:
            return self.name(str(atom[0]))
        return f"{self.name(str(atom[0]))}({','.join([self._term(term, numbers) for term in atom[1:]])})"

    def _term(self, term: Term, numbers: dict[str, str]) -> str:
        if isinstance(term, str):
            if term.startswith("?"):
                return numbers.get(term) or numbers.setdefault(term, f"V{len(numbers)}")
            known = self._constant_ids.get(term)
            if known is None:
                known = self._constant_ids[term] = str(len(self.constants))
                self.constants.append(term)
            return known
        return self._atom(term, numbers)

    def name(self, name: str) -> str:
        """The spelling of a function or relation."""
        known = self._name_ids.get(name)
        if known is None:
            known = self._name_ids[name] = f"f{len(self._name_ids)}"
            self.names[known] = name
        return known


def _assemble(found: GroundRules, roles: tuple[Term, ...]) -> GroundProgram:
    """Sorts the shown atoms by relation, and leaves out facts that nothing asks for."""
    shown: dict[Predicate, list[tuple[Atom, int]]] = {relation: [] for relation in OUTPUTS + INPUTS}
    for atom, number in found.shown:
        assert isinstance(atom, tuple)
        shown[predicate(atom)].append((atom, number))
    warnings: list[str] = []
    if any(number for _, number in shown["init", 1]):
        raise RulesError("the initial state depends on what is true")

    coded = {relation: {atom[1:]: number or ALWAYS for atom, number in atoms} for relation, atoms in shown.items()}
    fluents: dict[Term, int] = {}
    for relation in (("init", 1), ("next", 1)):
        for (fluent,) in coded[relation]:
            fluents.setdefault(fluent, len(fluents))
    n_atoms = max((number for atoms in shown.values() for _, number in atoms), default=0)
    n_atoms = max(n_atoms, int(found.head.max(initial=0)), int(np.abs(found.body).max(initial=0)))
    asked = np.zeros(n_atoms + 1, bool)
    asked[np.abs(found.body)] = True

    def inputs(relation: Predicate, arguments: Iterable[Atom]) -> Int32Array:
        numbers = np.array([coded[relation].get(argument, NEVER) for argument in arguments], np.int32)
        return np.where(asked[numbers], numbers, NEVER).astype(np.int32)

    def outputs(relation: Predicate, arguments: Iterable[Atom]) -> Int32Array:
        return np.array([coded[relation].get(argument, NEVER) for argument in arguments], np.int32)

    moves: list[list[Term]] = [[] for _ in roles]
    goals: list[list[tuple[int, int]]] = [[] for _ in roles]
    index = {role: i for i, role in enumerate(roles)}
    for role, move in coded["legal", 2]:
        if role in index:
            moves[index[role]].append(move)
        else:
            warnings.append(f"a legal move of {role}, who is no role")
    for (role, value), number in coded["goal", 2].items():
        points = goal_value(value)
        if points is None:
            warnings.append(f"a goal value that is no integer: {value}")
        elif role in index:
            goals[index[role]].append((points, number))

    result = GroundProgram(
        roles=roles,
        fluents=list(fluents),
        initial=np.array(sorted(fluents[fluent] for (fluent,) in coded["init", 1]), np.int32),
        moves=moves,
        goals=[sorted(values) for values in goals],
        true_atom=inputs(("true", 1), ((fluent,) for fluent in fluents)),
        next_atom=outputs(("next", 1), ((fluent,) for fluent in fluents)),
        does_atom=[inputs(("does", 2), ((role, move) for move in moves[i])) for i, role in enumerate(roles)],
        legal_atom=[outputs(("legal", 2), ((role, move) for move in moves[i])) for i, role in enumerate(roles)],
        terminal_atom=coded["terminal", 0].get((), NEVER),
        n_atoms=n_atoms,
        rule_head=found.head,
        body_start=found.body_start,
        body=found.body,
        warnings=tuple(dict.fromkeys(warnings)),
    )
    return _without_idle_facts(result, asked)


def _without_idle_facts(program: GroundProgram, asked: np.ndarray) -> GroundProgram:
    """The program without facts that stand in no body: static relations, used up by grounding."""
    wanted = asked.copy()
    for atoms in (program.next_atom, *program.legal_atom):
        wanted[atoms[atoms > 0]] = True
    for number in (program.terminal_atom, *(number for values in program.goals for _, number in values)):
        if number > 0:
            wanted[number] = True
    sizes = np.diff(program.body_start)
    keep = (sizes > 0) | wanted[program.rule_head]
    starts = np.zeros(int(keep.sum()) + 1, np.int64)
    np.cumsum(sizes[keep], out=starts[1:])
    return replace(program, rule_head=program.rule_head[keep], body_start=starts)
