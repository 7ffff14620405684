"""The plainest reasoner that there can be: the rules applied bottom-up until nothing new follows, stratum by stratum.

It shares no code with `games` and is meant to be read: what it answers is what a sheet means. A rulesheet is a sequence
of terms as `protocol.kif.read_rulesheet` gives them. Rules must be stratified, one depending on another if a literal of
its body could be what the other concludes. The only things done for speed: a body's literals get their order once, and
atoms are looked up by what is known of them.

What rules leave open means what it means to a prover that is asked from above: a variable that only a negation has is
any (`for no ?x`), one that only a `distinct` has is something else, and a head's variable that nothing binds has the
value that the caller gives it, which is some constant of the sheet; where the game itself asks, it gives each role.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

Term = Any
"""A `str`, or a tuple of terms."""

Binding = dict[str, Term]

Place = tuple[int, ...]
"""Where in an atom a term stands: the position in it, the position in the term there, ..."""


class Relation:
    """The atoms of a relation."""

    def __init__(self, atoms: Iterable[Term] = ()) -> None:
        self.atoms = set(atoms)
        self._indexes: dict[tuple[Place, ...], dict[tuple[Term, ...], list[Term]]] = {}

    def add(self, atom: Term) -> None:
        """Adds one that was not there."""
        self.atoms.add(atom)
        for places, index in self._indexes.items():
            index.setdefault(tuple([_at(atom, place) for place in places]), []).append(atom)

    def having(self, places: tuple[Place, ...], terms: tuple[Term, ...]) -> Collection[Term]:
        """Those that have these terms in these places."""
        index = self._indexes.get(places)
        if index is None:
            index = self._indexes[places] = {}
            for atom in self.atoms:
                index.setdefault(tuple([_at(atom, place) for place in places]), []).append(atom)
        return index.get(terms, ())


Facts = dict[str, Relation]


class Rule:
    """A rule ready to be applied."""

    def __init__(self, head: Term, body: Sequence[Term]) -> None:
        self.head = head
        self.body = [_listed(part) for part in body]
        self.plan: Any = None
        self.level = 0
        self.recursive = False

    def conclusions(self, facts: Facts) -> set[Term]:
        """All that follows by it at once."""
        binding: Binding = {}
        return {_put(self.head, binding) for _ in _solve(self.plan, binding, facts)}


class Naive:
    """Answers for single states; a state is a set of facts, a joint move one move per role, in the sheet's order."""

    def __init__(self, rulesheet: Iterable[Term]) -> None:
        self.roles: list[Term] = []
        facts: Facts = {}
        rules = []
        for statement in rulesheet:
            head, body = (statement[1], statement[2:]) if statement[0] == "<=" else (statement, ())
            head = (head,) if isinstance(head, str) else head
            if body or _names(head):
                rules.append(Rule(head, body))
            elif head not in facts.setdefault(head[0], Relation()).atoms:
                facts[head[0]].add(head)
                if head[0] == "role":
                    self.roles.append(head[1])
        facts[_CONSTANT] = Relation([(_CONSTANT, name) for name in _constants((*facts.values(), *rules))])
        _plan(rules)
        inputs = _stratify(rules)
        on_moves = [rule for rule in rules if "does" in inputs[rule]]
        on_state = [rule for rule in rules if inputs[rule] == {"true"}]
        lasting = [rule for rule in on_moves if rule.head[0] not in _OF_STATES]
        self._on_moves, self._on_state = _by_level(lasting), _by_level(on_state)
        self._unmoved = _by_level(on_moves) if len(lasting) < len(on_moves) else []
        self._static = _derive(facts, _by_level([rule for rule in rules if not inputs[rule]]))
        self.initial = frozenset(atom[1] for atom in _atoms(self._static, "init"))

    def look(self, state: Iterable[Term]) -> Facts:
        """All that holds in a state, by relation; the other questions are asked of this."""
        view = _derive({**self._static, "true": Relation([("true", fact) for fact in state])}, self._on_state)
        # Nobody has moved in a state, so what is asked of it is asked without any `does`.
        unmoved = _derive(view, self._unmoved)
        return {**view, **{name: unmoved[name] for name in _OF_STATES if name in unmoved}}

    def legal(self, view: Facts) -> list[set[Term]]:
        """Legal moves per role."""
        return [{move for _, who, move in _atoms(view, "legal") if who == role} for role in self.roles]

    def terminal(self, view: Facts) -> bool:
        """Whether the match is over."""
        return bool(_atoms(view, "terminal"))

    def goals(self, view: Facts) -> list[list[int]]:
        """The goal values of each role, ascending; the last one is its goal."""
        values = [{int(value) for _, who, value in _atoms(view, "goal") if who == role} for role in self.roles]
        return [sorted(found) for found in values]

    def next(self, view: Facts, joint_move: Sequence[Term]) -> frozenset[Term]:
        """The facts of the next state. A role without a legal move does nothing."""
        moves = zip(self.roles, joint_move, self.legal(view), strict=True)
        does = Relation([("does", role, move) for role, move, legal in moves if legal])
        return frozenset(atom[1] for atom in _atoms(_derive({**view, "does": does}, self._on_moves), "next"))


def _atoms(facts: Facts, name: str) -> Collection[Term]:
    return facts[name].atoms if name in facts else ()


def _derive(given: Facts, levels: list[list[Rule]]) -> Facts:
    """What is given, and what follows."""
    facts = dict(given)
    for name in {rule.head[0] for rules in levels for rule in rules}:
        facts[name] = Relation(_atoms(given, name))
    for rules in levels:
        grown = True
        while grown:
            grown = False
            for atom in set().union(*[rule.conclusions(facts) for rule in rules]):
                if atom not in facts[atom[0]].atoms:
                    facts[atom[0]].add(atom)
                    grown = True
            if not any(rule.recursive for rule in rules):
                break
    return facts


# --------------------------------------------------------------------------------------------------------- stratifying


def _stratify(rules: list[Rule]) -> dict[Rule, set[str]]:
    """Gives rules their levels; returns on which of `true` and `does` each depends."""
    by_name: dict[str, list[Rule]] = {}
    for rule in rules:
        by_name.setdefault(rule.head[0], []).append(rule)
    calls = {rule: [call for part in rule.body for call in _calls(part, True)] for rule in rules}
    uses = {
        rule: [
            (other, positive)
            for atom, positive in found
            for other in by_name.get(atom[0], ())
            if _fits(atom, other.head)
        ]
        for rule, found in calls.items()
    }
    below: dict[Rule, set[Rule]] = {}
    for rule in rules:
        below[rule] = set()
        pending = [rule]
        while pending:
            new = {other for other, _ in uses[pending.pop()]} - below[rule]
            below[rule] |= new
            pending += new
        rule.recursive = rule in below[rule]
    # Those that a rule depends on come before it, but for those that depend on it in turn.
    for rule in sorted(rules, key=lambda rule: (len(below[rule]), not rule.recursive)):
        for other, positive in uses[rule]:
            if rule in below[other] and not positive:
                raise ValueError("recursion through negation")
        rule.level = max([other.level + 1 for other in below[rule] if rule not in below[other]], default=0)
    inputs = {rule: {atom[0] for atom, _ in found if atom[0] in ("true", "does")} for rule, found in calls.items()}
    return {rule: set().union(inputs[rule], *[inputs[other] for other in below[rule]]) for rule in rules}


def _by_level(rules: Iterable[Rule]) -> list[list[Rule]]:
    levels: dict[int, list[Rule]] = {}
    for rule in rules:
        levels.setdefault(rule.level, []).append(rule)
    return [levels[level] for level in sorted(levels)]


def _calls(formula: Term, positive: bool) -> Iterator[tuple[Term, bool]]:
    if formula[0] in ("or", "and", "not"):
        for part in formula[1:]:
            yield from _calls(part, positive and formula[0] != "not")
    elif formula[0] != "distinct":
        yield formula, positive


def _fits(one: Term, two: Term) -> bool:
    """Whether two terms could be the same, as far as single names tell."""
    if isinstance(one, str) or isinstance(two, str):
        return one == two or any(isinstance(term, str) and term.startswith("?") for term in (one, two))
    return len(one) == len(two) and all(map(_fits, one, two))


# ------------------------------------------------------------------------------------------------------------ planning

_CONSTANT = "a constant"
"""The relation that holds for every constant of the sheet."""

_GAME = ("role", "init", "next", "legal", "goal", "terminal")

_OF_STATES = ("legal", "goal", "terminal")


def _constants(parts: Iterable[Any]) -> set[str]:
    found: set[str] = set()
    pending: list[Any] = list(parts)
    while pending:
        part = pending.pop()
        if isinstance(part, Relation):
            pending += part.atoms
        elif isinstance(part, Rule):
            pending += [part.head, *part.body]
        elif isinstance(part, str):
            found.add(part)
        else:
            pending += part[1:]
    return {name for name in found if not name.startswith("?")}


def _plan(rules: Sequence[Rule]) -> None:
    """Plans all bodies. Variables of heads that nothing binds get every constant, to be asked for by callers only."""
    asked: frozenset[str] = frozenset()
    unbound: dict[Rule, frozenset[str]] = {}
    while True:
        for rule in rules:
            bound = frozenset().union(*[_bound_by(part, asked) for part in rule.body])
            role = rule.head[1] if rule.head[0] in ("legal", "goal") else ""
            if role[:1] == "?" and role not in bound:
                rule.body.insert(0, ("role", role))
                bound |= {role}
            unbound[rule] = _names(rule.head) - bound
        found = frozenset(rule.head[0] for rule in rules if unbound[rule])
        if found <= asked:
            break
        asked |= found
    for rule in rules:
        if unbound[rule] and rule.head[0] in _GAME:
            raise ValueError(f"an unsafe rule: nothing binds {' '.join(sorted(unbound[rule]))} in {rule.head}")
        given = [(_CONSTANT, name) for name in sorted(unbound[rule])]
        rule.plan = _planned([*given, *rule.body], frozenset(), asked)


def _planned(formulas: list[Term], bound: frozenset[str], asked: frozenset[str]) -> Any:
    """How to make formulas true, as `_solve` takes it: a step and the plan for what is left; None for nothing.

    What compares comes when its variables are bound, then atoms, those with the fewest new variables first. `asked`
    are the relations whose callers must give all arguments.
    """
    if not formulas:
        return None
    chosen = min(formulas, key=lambda formula: _turn(formula, bound, asked))
    rest = [formula for formula in formulas if formula is not chosen]
    kind, new = chosen[0], _names(chosen) - bound
    if kind == "and":
        return _planned([*chosen[1:], *rest], bound, asked)
    if kind == "distinct" and new:
        return _planned(rest, bound, asked)
    if kind in asked and new:
        raise ValueError(f"an unsafe rule: it does not bind what it asks for in {chosen}")
    if kind == "not":
        for name in new:
            if [atom[0] == "distinct" for atom in _leaves(chosen) if name in _names(atom)] != [False]:
                raise ValueError(f"an unsafe rule: {name} in {chosen}")
        return "not", [_planned([chosen[1]], bound, asked)], None, None, _planned(rest, bound, asked)
    if kind == "or" and new:
        return "either", [_planned([part, *rest], bound, asked) for part in chosen[1:]], None, None, None
    if kind == "or":
        return "or", [_planned([part], bound, asked) for part in chosen[1:]], None, None, _planned(rest, bound, asked)
    if kind == "distinct":
        return "distinct", chosen[1], chosen[2], None, _planned(rest, bound, asked)
    if not new:
        return "holds", kind, chosen, None, _planned(rest, bound, asked)
    parts = dict(_parts(chosen, (), bound))
    known = {place: term for place, term in parts.items() if place[-1] == 0 or _names(term) <= bound}
    fresh = [(place, name) for place, name in parts.items() if place not in known]
    return "find", kind, known, fresh, _planned(rest, bound | new, asked)


def _leaves(formula: Term) -> Iterator[Term]:
    if formula[0] in ("or", "and", "not"):
        for part in formula[1:]:
            yield from _leaves(part)
    else:
        yield formula


def _turn(formula: Term, bound: frozenset[str], asked: frozenset[str]) -> tuple[int, int]:
    kind, new = formula[0], len(_names(formula) - bound)
    if kind in ("not", "distinct"):
        return (4, 0) if new else (0, 0)
    if kind in asked and new:
        return 5, 0
    return {"and": 1, "or": 3 if new else 0}.get(kind, 2 if new else 0), new


def _parts(term: Term, place: Place, bound: frozenset[str]) -> Iterator[tuple[Place, Term]]:
    """Terms that are variables or known as a whole, and names with lengths of the others, with their places."""
    if isinstance(term, str) or _names(term) <= bound:
        yield place, term
    else:
        yield (*place, 0), (term[0], len(term))
        for i, part in enumerate(term[1:], 1):
            yield from _parts(part, (*place, i), bound)


def _at(term: Term, place: Place) -> Term:
    """What stands in a place, at 0 the name and length; None if there is no such place."""
    for i in place:
        if isinstance(term, str) or i >= len(term):
            return None
        term = term[i] if i else (term[0], len(term))
    return term


def _solve(plan: Any, binding: Binding, facts: Facts) -> Iterator[None]:
    """Yields once for each way to make the formulas true, which is what `binding` holds then."""
    while plan is not None:
        kind, one, two, fresh, plan = plan
        if kind == "holds":
            if one not in facts or _put(two, binding) not in facts[one].atoms:
                return
        elif kind == "distinct":
            if _put(one, binding) == _put(two, binding):
                return
        elif kind in ("not", "or"):
            if any(True for part in one for _ in _solve(part, binding, facts)) == (kind == "not"):
                return
        elif kind == "either":
            for part in one:
                yield from _solve(part, binding, facts)
            return
        else:
            terms = tuple([_put(term, binding) for term in two.values()])
            for atom in facts[one].having(tuple(two), terms) if one in facts else ():
                for place, name in fresh:
                    binding[name] = _at(atom, place)
                if all(_at(atom, place) == binding[name] for place, name in fresh):
                    yield from _solve(plan, binding, facts)
            return
    yield


def _listed(formula: Term) -> Term:
    """The formula with its propositions as tuples of length one."""
    if isinstance(formula, str):
        return (formula,)
    return (formula[0], *map(_listed, formula[1:])) if formula[0] in ("or", "and", "not") else formula


def _names(term: Term) -> frozenset[str]:
    """The variables of a term or formula."""
    if isinstance(term, str):
        return frozenset([term]) if term.startswith("?") else frozenset()
    return frozenset().union(*map(_names, term))


def _bound_by(formula: Term, asked: frozenset[str]) -> frozenset[str]:
    """The variables that have values when a formula holds, but for what relations do that are `asked`."""
    if formula[0] in ("or", "and"):
        parts = [_bound_by(part, asked) for part in formula[1:]]
        return frozenset.intersection(*parts) if formula[0] == "or" else frozenset().union(*parts)
    return frozenset() if formula[0] in ("not", "distinct", *asked) else _names(formula)


def _put(term: Term, binding: Binding) -> Term:
    return tuple([_put(part, binding) for part in term]) if isinstance(term, tuple) else binding.get(term, term)
