"""The normal form of a rulesheet: Horn rules with negation, over plain terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, product
from typing import TypeAlias, Union

from games.gdl.rules.diagnostics import Diagnostic, InvalidRulesError
from games.gdl.rules.surface import head_of, relation_of
from games.gdl.rules.terms import (
    Atom,
    Literal,
    Rule,
    body_variables,
    resolve,
    substitute_rule,
    term_text,
    unify,
    variables,
)
from games.machine import Term

MAX_DEPTH = 200
"""Deepest accepted nesting of a statement; real rulesheets stay under 20."""

MAX_ALTERNATIVES = 32
"""Most disjuncts of a multiplied-out body; beyond, disjunctions become auxiliary predicates."""


class _StatementError(Exception):
    """A statement that is no rule: the message, and the path below the statement."""

    def __init__(self, message: str, path: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path


_Formula: TypeAlias = Union[Literal, "_Junction"]


@dataclass(frozen=True, slots=True)
class _Junction:
    """A conjunction or disjunction, with negations pushed down to the literals."""

    conjunctive: bool
    parts: tuple[_Formula, ...]


_CONNECTIVES = frozenset({"not", "and", "or", "<="})
_NOT_HEADS = _CONNECTIVES | {"true", "does"}


def normalise(rulesheet: Iterable[Term], diagnostics: list[Diagnostic] | None = None) -> list[Rule]:
    """The rules of the statements, in order.

    Disjunctions are multiplied out, or become auxiliary predicates if there would be too many alternatives (named
    `or N`; with a space, unlike tokens of a rulesheet). `(not (distinct a b))` is unified away. A `distinct` that is
    decided goes, with its rule if never satisfied. Statements that are no rules are left out and reported to
    `diagnostics`; without that list the first one raises `InvalidRulesError`. Statements that conclude `distinct` are
    left out: its meaning is given.
    """
    rules: list[Rule] = []
    for index, statement in enumerate(rulesheet):
        if relation_of(head_of(statement)) == "distinct":
            continue
        try:
            _normalise_statement(statement, index, rules)
        except _StatementError as error:
            found = Diagnostic("error", error.message, (index, *error.path))
            if diagnostics is None:
                raise InvalidRulesError([found]) from None
            diagnostics.append(found)
    return rules


def _normalise_statement(statement: Term, index: int, rules: list[Rule]) -> None:
    _check_depth(statement)
    if isinstance(statement, str) or not statement or statement[0] != "<=":
        rules.append(Rule(_head(statement, ()), (), index))
        return
    if len(statement) < 2:
        raise _StatementError("a rule without a head")
    head = _head(statement[1], (1,))
    parts = [_formula(part, (position,), True) for position, part in enumerate(statement[2:], 2)]
    names = (f"or {index}.{number}" for number in count())
    for body in _alternatives(_conjunction(parts), head, index, rules, names):
        rule = resolve_distinct(Rule(head, body, index))
        if rule is not None:
            rules.append(rule)


def _check_depth(statement: Term) -> None:
    level: list[Term] = [statement]
    for _ in range(MAX_DEPTH):
        level = [part for term in level if isinstance(term, tuple) for part in term if isinstance(part, tuple)]
        if not level:
            return
    raise _StatementError(f"nested more than {MAX_DEPTH} deep")


def _atom(term: Term, path: tuple[int, ...]) -> Atom:
    atom: Atom = (term,) if isinstance(term, str) else term
    if not atom:
        raise _StatementError("an empty list where an atom should be", path)
    relation = atom[0]
    if not isinstance(relation, str):
        raise _StatementError(f"a list where the name of a relation should be: {term_text(atom)[:80]}", path)
    if relation.startswith("?"):
        raise _StatementError(f"a variable where the name of a relation should be: {term_text(atom)[:80]}", path)
    for position, part in enumerate(atom[1:], 1):
        if isinstance(part, tuple):
            _check_term(part, (*path, position))
    return atom


_FACTS = ("true", "does")
"""Relations that bind all variables of their literals."""


def _check_term(term: tuple[Term, ...], path: tuple[int, ...]) -> None:
    if not term:
        raise _StatementError("an empty list where a term should be", path)
    if not isinstance(term[0], str) or term[0].startswith("?"):
        raise _StatementError(f"no name of a function in front: {term_text(term)[:80]}", path)
    for position, part in enumerate(term[1:], 1):
        if isinstance(part, tuple):
            _check_term(part, (*path, position))


def _head(term: Term, path: tuple[int, ...]) -> Atom:
    atom = _atom(term, path)
    if atom[0] in _NOT_HEADS:
        raise _StatementError(f"`{atom[0]}` cannot be concluded by a rule", path)
    return atom


def _junction(conjunctive: bool, parts: Iterable[_Formula]) -> _Junction:
    """The junction of the parts; parts of the same kind are merged into it."""
    flat: list[_Formula] = []
    for part in parts:
        same = isinstance(part, _Junction) and part.conjunctive == conjunctive
        flat.extend(part.parts if isinstance(part, _Junction) and same else (part,))
    return _Junction(conjunctive, tuple(flat))


def _conjunction(parts: Sequence[_Formula]) -> _Formula:
    return parts[0] if len(parts) == 1 else _junction(True, parts)


def _formula(term: Term, path: tuple[int, ...], positive: bool) -> _Formula:
    if isinstance(term, tuple) and term and term[0] in _CONNECTIVES:
        if term[0] == "<=":
            raise _StatementError("a rule inside the body of a rule", path)
        if term[0] == "not":
            if len(term) != 2:
                raise _StatementError("`not` takes one literal", path)
            return _formula(term[1], (*path, 1), not positive)
        parts = [_formula(part, (*path, i), positive) for i, part in enumerate(term[1:], 1)]
        return _junction((term[0] == "and") == positive, parts)
    atom = _atom(term, path)
    if atom[0] == "distinct" and len(atom) != 3:
        raise _StatementError("`distinct` takes two terms", path)
    return Literal(positive, atom)


def _count_alternatives(formula: _Formula) -> int:
    if isinstance(formula, Literal):
        return 1
    count = 1 if formula.conjunctive else 0
    for part in formula.parts:
        count = count * _count_alternatives(part) if formula.conjunctive else count + _count_alternatives(part)
        if count > MAX_ALTERNATIVES:
            break
    return count


def _multiply_out(formula: _Formula) -> list[tuple[Literal, ...]]:
    if isinstance(formula, Literal):
        return [(formula,)]
    parts = [_multiply_out(part) for part in formula.parts]
    if formula.conjunctive:
        return [tuple(dict.fromkeys(lit for part in choice for lit in part)) for choice in product(*parts)]
    return [alternative for part in parts for alternative in part]


def _formula_variables(formula: _Formula) -> dict[str, None]:
    if isinstance(formula, Literal):
        return variables(formula.atom)
    return {name: None for part in formula.parts for name in _formula_variables(part)}


def _alternatives(
    formula: _Formula,
    head: Atom,
    index: int,
    rules: list[Rule],
    names: Iterator[str],
    given: tuple[Literal, ...] = (),
) -> list[tuple[Literal, ...]]:
    """The bodies of the multiplied-out `formula`; if too many, disjunctions become predicates in `rules`.

    `names` are names for these predicates, one per disjunction: disjunctions may be nested, and one that is never
    satisfied has no rules. `given` are positive literals that hold wherever the formula is asked for.
    """
    if isinstance(formula, Literal):
        return [(formula,)]
    if _count_alternatives(formula) <= MAX_ALTERNATIVES or not formula.conjunctive:
        parts = formula.parts
        if not formula.conjunctive:
            return [body for part in parts for body in _alternatives(part, head, index, rules, names, given)]
        return _multiply_out(formula)
    plain = tuple(part for part in formula.parts if isinstance(part, Literal))
    context = (*given, *[lit for lit in plain if lit.positive and lit.atom[0] != "distinct"])
    known = variables(head) | body_variables((*given, *plain))
    waiting = [part for part in formula.parts if not isinstance(part, Literal)]
    uses = Counter(name for junction in waiting for name in _formula_variables(junction))
    made: list[Literal] = []

    def open_names(junction: _Formula) -> set[str]:
        bound = body_variables((*context, *made)).keys() | _binds(junction)
        return {name for name in _formula_variables(junction) if (name in known or uses[name] > 1)} - bound

    while waiting:
        # Positive literals beside the disjunction that share variables with it are copied into it: they may bind
        # variables that it only compares. So may other disjunctions; those are taken first.
        junction = min(waiting, key=lambda junction: len(open_names(junction)))
        waiting.remove(junction)
        shared = {name: None for name in _formula_variables(junction) if name in known or uses[name] > 1}
        needed = shared.keys() - body_variables(context).keys() - _binds(junction)
        binding = [literal for literal in made if needed & variables(literal.atom).keys()]
        binding += [
            literal for literal in context if _formula_variables(junction).keys() & variables(literal.atom).keys()
        ]
        for literal in binding:
            if literal.atom[0] not in _FACTS:
                # Such a relation may rely on its callers to bind its arguments: keep them all.
                shared |= variables(literal.atom)
        auxiliary: Atom = (next(names), *shared)
        for alternative in _alternatives(junction, auxiliary, index, rules, names, tuple(binding)):
            rule = resolve_distinct(Rule(auxiliary, (*binding, *alternative), index))
            if rule is not None:
                rules.append(rule)
        made.append(Literal(True, auxiliary))
    return [(*plain, *made)]


def _binds(formula: _Formula) -> set[str]:
    """The variables bound wherever the formula holds."""
    if isinstance(formula, Literal):
        return set(variables(formula.atom)) if formula.positive and formula.atom[0] != "distinct" else set()
    parts = [_binds(part) for part in formula.parts]
    return set().union(*parts) if formula.conjunctive or not parts else set.intersection(*parts)


def resolve_distinct(rule: Rule) -> Rule | None:
    """Decides the rule's `distinct` literals as far as possible now; None if the rule can never fire."""
    if all(lit.atom[0] != "distinct" for lit in rule.body):
        return rule
    binding: dict[str, Term] | None = {}
    for literal in rule.body:
        if literal.atom[0] == "distinct" and not literal.positive:
            binding = unify(literal.atom[1], literal.atom[2], binding)
            if binding is None:
                return None
    if binding:
        solved = {name: resolve(name, binding) for name in binding}
        rule = substitute_rule(rule, solved)
    body = []
    for literal in rule.body:
        if literal.atom[0] == "distinct":
            if not literal.positive or unify(literal.atom[1], literal.atom[2]) is None:
                continue
            if literal.atom[1] == literal.atom[2]:
                return None
        body.append(literal)
    return Rule(rule.head, tuple(dict.fromkeys(body)), rule.statement)
