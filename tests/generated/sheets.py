"""Random rulesheets: safe, stratified, terminating, and made of what real sheets are made of.

Bodies are built first and heads from what they bind; negations and inequalities speak of bound variables only, wherever
in the body they stand. A counter ends every match after a few plies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tests.generated.bodies import Body, Relation, Sort, inner, relation
from tests.generated.vocabulary import Vocabulary

Term = Any

ALWAYS = 2.0
"""For `Body.term`: a new variable, as long as there is room for one."""


class Sheet(Vocabulary):
    """A rulesheet in the making; `statements` is the result."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng)
        self._add_legal()
        self._add_next()
        self._add_end()
        for break_letter in (self._leave_without_move, self._ask_moves_of_states, self._leave_roles_open):
            if rng.random() < 0.3:
                break_letter()

    def _add_legal(self) -> None:
        rng = self.rng
        pool = [*self.state, *self.statics]
        for name, sorts in self.moves:
            for _ in range(rng.choice((1, 1, 2))):
                body = self.body(pool, pool, 2)
                who = rng.choice(self.roles.constants) if rng.random() < 0.4 else body.head_terms([self.roles])[0]
                self.add(("legal", who, inner(name, body.head_terms(sorts))), body)
        if rng.random() < 0.85:
            self.add(("legal", "?r", "noop"), [("role", "?r")])
        else:
            self.rule("legal", [self.roles, Sort("", ["noop"])], pool, pool, 1)

    def does(self, body: Body, role: Term = None) -> tuple[str, list[Sort], list[Term]]:
        """Adds a literal about somebody's move; returns its name, sorts and arguments."""
        rng = self.rng
        if self.aliases and rng.random() < 0.3:
            alias, has_role = rng.choice(self.aliases)
            given = [role] if has_role and role is not None else []
            arguments = given + [body.term(sort, 0.8) for sort in alias.sorts[len(given) :]]
            body.literals.append(alias.atom(arguments))
            return alias.name, list(alias.sorts), arguments
        name, sorts = rng.choice(self.moves)
        arguments = [body.term(sort, 0.8) for sort in sorts]
        if role is None:
            role = rng.choice(self.roles.constants) if rng.random() < 0.5 else body.term(self.roles)
        body.literals.append(("does", role, inner(name, arguments)))
        return name, sorts, arguments

    def _add_next(self) -> None:
        rng = self.rng
        self.add(("next", ("step", "?y")), [("true", ("step", "?x")), ("succ", "?x", "?y")])
        does = [
            Relation(name, (self.roles, *sorts), self._does_wrap(name)) for name, sorts in self.moves for _ in range(2)
        ]
        does.append(Relation("does", (self.roles, self.move), lambda arguments: ("does", *arguments)))
        self.moving = moving = list(does)
        aliases = [self._add_alias(f"did{number}") for number in range(rng.choice((0, 1, 1, 2)))]
        self.aliases += aliases
        for alias, _ in aliases:
            moving += [alias, alias]
        for number in range(rng.choice((0, 0, 1, 2))):
            sorts = self._choose_sorts(2)
            below = [*moving, *moving, *self.state, *self.statics]
            for _ in range(rng.choice((1, 2))):
                self.rule(f"effect{number}", sorts, below, below)
            moving.append(relation(f"effect{number}", *sorts))
        pool = [*moving, *self.state, *self.statics]
        if rng.random() < 0.08:
            # All that is true stays so, but for something.
            body = Body(rng)
            body.literals.append(("true", "?fact"))
            self.does(body)
            one = rng.choice(self.fluents)
            body.literals.append(("distinct", "?fact", inner(one.name, [body.ground(sort) for sort in one.sorts])))
            body.literals.append(("distinct", "?fact", ("step", "1")))
            self.add(("next", "?fact"), body)
        for one in self.fluents:
            if one is self.clock:
                continue
            if one.name == "height":
                self._add_growth()
                continue
            if one.name == "count":
                body = Body(rng)
                role = body.fresh(self.roles)
                self.does(body, role)
                self.add(
                    ("next", ("count", role, "?n")),
                    [*body.literals, ("true", ("count", role, "?m")), ("succ", "?m", "?n")],
                )
                if rng.random() < 0.5:
                    self.add(("next", ("count", "?r", "?n")), [("true", ("count", "?r", "?n")), ("does", "?r", "noop")])
                continue
            for _ in range(rng.choice((1, 2, 2, 3))):
                ways = [
                    self._frame,
                    self._unless,
                    self._unless,
                    self._unmarked,
                    self._unmarked,
                    self._shift,
                    self._any_next,
                ]
                if self.aliases:
                    ways += [self._by_aliases, self._by_aliases]
                rng.choice(ways)(one, pool)

    def _does_wrap(self, name: str) -> Callable[[tuple[Term, ...]], Term]:
        return lambda arguments: ("does", arguments[0], inner(name, arguments[1:]))

    def _add_alias(self, alias: str) -> tuple[Relation, bool]:
        """A relation that says what somebody does, and whether its first argument is who."""
        rng = self.rng
        body = Body(rng)
        if rng.random() < 0.25:
            role, move = body.fresh(self.roles), body.fresh(self.move)
            body.literals.append(("does", role, move))
            head: list[Term] = [role, move]
            sorts = [self.roles, self.move]
        else:
            name, move_sorts = rng.choice(self.moves)
            role = rng.choice(self.roles.constants) if rng.random() < 0.3 else body.term(self.roles, 1.0)
            arguments = [body.ground(sort) if rng.random() < 0.2 else body.term(sort, 0.8) for sort in move_sorts]
            body.literals.append(("does", role, inner(name, arguments)))
            head, sorts = [], []
            if rng.random() < 0.6:
                head, sorts = [role], [self.roles]
            if rng.random() < 0.2:
                head.append(body.literals[-1][2])
                sorts.append(self.move)
            else:
                for term, sort in zip(arguments, move_sorts, strict=True):
                    if rng.random() < 0.8:
                        head.append(term)
                        sorts.append(sort)
        if rng.random() < 0.15:
            body.tests([*self.state, *self.statics], 1)
        self.add(inner(alias, head), body)
        found = relation(alias, *sorts)
        if rng.random() < 0.2:
            # Another move that counts as well.
            body = Body(rng)
            self.does(body)
            self.add(found.atom(body.head_terms(sorts)), body)
        return found, bool(head) and head[0] == role

    def _add_growth(self) -> None:
        """A term that gets deeper with moves, up to a depth."""
        rng = self.rng
        assert self.height is not None
        deepest: Term = "z"
        inside = self.height
        while inside.functions:
            deepest, inside = ("s", deepest), inside.functions[0][1][0]
        body = Body(rng)
        self.does(body)
        grown = [("true", ("height", "?h")), ("distinct", "?h", deepest), *body.literals]
        self.add(("next", ("height", ("s", "?h"))), grown)
        self.add(("next", ("height", deepest)), [("true", ("height", deepest))])
        if rng.random() < 0.5:
            self.add(("next", ("height", "?h")), [("true", ("height", ("s", "?h"))), ("does", "?r", "noop")])

    def _frame(self, one: Relation, pool: list[Relation]) -> None:
        """What was true stays so, under conditions."""
        body = Body(self.rng)
        fact = [body.term(sort) for sort in one.sorts]
        body.literals.append(one.atom(fact))
        if self.rng.random() < 0.3:
            body.positive(self.rng.choice(pool))
        body.tests(pool, self.rng.choice((0, 1, 1, 2)))
        self.add(("next", inner(one.name, fact)), body)

    def _unless(self, one: Relation, pool: list[Relation]) -> None:
        """What was true stays so if no move of one, two or three roles has to do with it."""
        rng = self.rng
        body = Body(rng)
        fact = [body.term(sort, 0.9) for sort in one.sorts]
        body.literals.append(one.atom(fact))
        roles = rng.sample(self.roles.constants, rng.randint(1, len(self.roles.constants)))
        for role in roles:
            _, sorts, arguments = self.does(body, role if rng.random() < 0.85 else None)
            pairs = self._inequalities(arguments, sorts, fact, one)
            if len(pairs) > 1 and rng.random() < 0.6:
                count = rng.choice((2, 2, 3, 4))
                body.literals.append(("or", *pairs[:count]))
            elif pairs:
                body.literals += pairs[:2]
        if rng.random() < 0.2:
            first = body.unequal()
            if first is not None:
                body.literals.append(first)
        body.tests(pool, rng.choice((0, 0, 0, 1)))
        self.add(("next", inner(one.name, fact)), body)

    def _inequalities(
        self, arguments: Sequence[Term], sorts: Sequence[Sort], fact: Sequence[Term], one: Relation
    ) -> list[Term]:
        """That an argument of a move is not one of a fact, for all those that could be the same; in any order."""
        pairs = [
            ("distinct", *self.rng.sample((mine, other), 2))
            for mine, sort in zip(arguments, sorts, strict=True)
            for other, kind in zip(fact, one.sorts, strict=True)
            if (sort is kind or set(sort.constants) & set(kind.constants)) and mine != other
        ]
        self.rng.shuffle(pairs)
        return pairs

    def _unmarked(self, one: Relation, pool: list[Relation]) -> None:
        """What was true stays so if the moves of some roles, whatever they are, have other arguments."""
        rng = self.rng
        names = {constant for sort in one.sorts for constant in sort.constants}
        moves = [
            (name, sorts)
            for name, sorts in self.moves
            if len(sorts) > 1 and any(names.intersection(sort.constants) for sort in sorts)
        ]
        if not moves:
            self._unless(one, pool)
            return
        body = Body(rng)
        fact = [body.term(sort, ALWAYS) for sort in one.sorts]
        body.literals.append(one.atom(fact))
        roles = self.roles.constants
        for role in rng.sample(roles, min(len(roles), rng.choice((2, 2, 3)))):
            name, sorts = rng.choice(moves)
            arguments = [body.term(sort, ALWAYS) for sort in sorts]
            body.literals.append(("does", role, inner(name, arguments)))
            pairs = self._inequalities(arguments, sorts, fact, one)
            if len(pairs) > 1:
                body.literals.append(("or", *pairs[: rng.choice((2, 2, 3))]))
            else:
                body.literals += pairs
        self.add(("next", inner(one.name, fact)), body)
        if rng.random() < 0.4:
            self._copy(one)

    def _copy(self, one: Relation) -> None:
        """What is true of another fluent becomes true of this one: all that it can be, it is from there."""
        others = [other for other in self.fluents if other is not one and set(other.sorts) & set(one.sorts)]
        if others:
            other = self.rng.choice(others)
            body = Body(self.rng)
            body.literals.append(other.atom([body.fresh(sort) for sort in other.sorts]))
            self.add(("next", inner(one.name, body.head_terms(one.sorts))), body)

    def _shift(self, one: Relation, pool: list[Relation]) -> None:
        """A move makes something true, out of what was true."""
        rng = self.rng
        body = Body(rng)
        for _ in range(rng.choice((1, 1, 2))):
            self.does(body)
        if rng.random() < 0.7:
            body.positive(one, 0.5)
        if rng.random() < 0.4:
            body.positive(rng.choice(pool), 0.4)
        head = body.head_terms(one.sorts)
        body.tests(pool, rng.choice((0, 1)))
        self.add(("next", inner(one.name, head)), body)

    def _by_aliases(self, one: Relation, pool: list[Relation]) -> None:
        """What was done, told by two aliases of `does` or three that have variables in common."""
        rng = self.rng
        body = Body(rng)
        for number in range(rng.choice((2, 2, 3))):
            # Of several roles, mostly, whose moves have something in common.
            alias, _ = rng.choice(self.aliases)
            new = [0.9 if sort is self.roles or not number else 0.1 for sort in alias.sorts]
            body.literals.append(alias.atom([body.term(*one) for one in zip(alias.sorts, new, strict=True)]))
        if rng.random() < 0.3:
            alias, _ = rng.choice(self.aliases)
            body.literals.append(("not", alias.atom([body.closed(sort) for sort in alias.sorts])))
        if rng.random() < 0.5:
            body.positive(one, 0.3)
        head = body.head_terms(one.sorts)
        body.tests(pool, rng.choice((0, 0, 1)))
        self.add(("next", inner(one.name, head)), body)

    def _any_next(self, one: Relation, pool: list[Relation]) -> None:
        body = self.body(pool, pool)
        self.add(("next", inner(one.name, body.head_terms(one.sorts))), body)

    def _add_end(self) -> None:
        rng = self.rng
        pool = [*self.state, *self.statics]
        self.statements.append(("<=", "terminal", ("true", ("step", self.steps.constants[-1]))))
        if rng.random() < 0.4:
            body = Body(rng)
            for _ in range(2):
                body.positive(rng.choice(self.state))
            body.tests(pool, 1)
            body.literals.append(("not", ("true", ("step", "0"))))
            self.add("terminal", body)
        if rng.random() < 0.2:
            pool = [*pool, Relation("legal", (self.roles, self.move), lambda arguments: ("legal", *arguments))]
        values = Sort("", ["-20", "0", "50", "75", "150"])
        if rng.random() < 0.4:
            self.rule("won", [self.roles], pool, pool)
            self.add(("goal", "?r", "100"), [("role", "?r"), ("won", "?r")])
            self.add(("goal", "?r", "0"), [("role", "?r"), ("not", ("won", "?r"))])
        if rng.random() < 0.35:
            self._add_goals_by_goals(pool, values.constants)
        for _ in range(rng.choice((0, 1, 1, 2))):
            self.rule("goal", [self.roles, values], pool, pool)
        if rng.random() < 0.3:
            self.add(("goal", "?r", "?n"), [("role", "?r"), ("true", ("step", "?n"))])

    def _add_goals_by_goals(self, pool: list[Relation], values: list[str]) -> None:
        """Goals that depend on other goals, or on there being none of these."""
        rng = self.rng
        order = rng.sample(values, 3)
        body = self.body(pool, pool, 2)
        self.add(("goal", body.head_terms([self.roles])[0], order[0]), body)
        for number, value in enumerate(order[1:], 1):
            literals: list[Term] = [("role", "?r")]
            for other in order[: rng.randint(1, number)]:
                who = "?r" if rng.random() < 0.8 else rng.choice(self.roles.constants)
                atom = ("goal", who, other)
                literals.append(("not", atom) if rng.random() < 0.8 else atom)
            body = Body(rng)
            body.tests(pool, rng.choice((0, 1)))
            self.add(("goal", "?r", value), [*literals, *body.literals])

    # ----------------------------------------------------------------------- against the letter, and with one meaning

    def _leave_without_move(self) -> None:
        """Some role has a move only sometimes, or never."""
        rng = self.rng
        body = Body(rng)
        role = body.fresh(self.roles)
        body.literals.append(("role", role))
        last = rng.choice(self.roles.constants)
        body.literals.append(rng.choice((("distinct", role, last), ("not", ("true", ("step", "1"))))))
        body.tests(self.state, rng.choice((0, 1)))
        whole = ("<=", ("legal", "?r", "noop"), ("role", "?r"))
        self.statements = [one for one in self.statements if one != whole]
        self.add(("legal", role, "noop"), body)
        pause = ("not", ("true", ("step", rng.choice(("0", "0", "1", "1", "2")))))
        self.statements = [
            (*one, pause) if one[0] == "<=" and one[1][0] == "legal" and rng.random() < 0.9 else one
            for one in self.statements
        ]

    def _ask_moves_of_states(self) -> None:
        """`does` below `legal`, `goal` or `terminal`."""
        rng = self.rng
        pool = [*self.moving, *self.moving, *self.state]
        for _ in range(rng.choice((1, 2, 3))):
            kind, body = rng.randrange(3), self.body(rng.choice((pool, self.state)), pool)
            body.tests(self.moving, 1)
            if kind == 0:
                name, sorts = rng.choice(self.moves)
                self.add(("legal", *body.head_terms([self.roles]), inner(name, body.head_terms(sorts))), body)
            elif kind == 1:
                self.add(("goal", *body.head_terms([self.roles]), rng.choice(("0", "50", "100"))), body)
            else:
                body.literals.append(("not", ("true", ("step", "0"))))
                self.add("terminal", body)

    def _leave_roles_open(self) -> None:
        """Heads of `legal` and `goal` whose role nothing binds, but who asks."""
        rng = self.rng
        for _ in range(rng.choice((1, 2))):
            body = Body(rng)
            role = body.fresh(self.roles)
            body.positive(rng.choice(self.state), 0.9)
            body.tests([*self.state, *self.statics, *self.asked], rng.choice((1, 2)))
            if rng.random() < 0.5:
                name, sorts = rng.choice(self.moves)
                self.add(("legal", role, inner(name, body.head_terms(sorts))), body)
            else:
                self.add(("goal", role, rng.choice(("0", "50", "100"))), body)


def sheet(rng: Random) -> tuple[Term, ...]:
    """A random rulesheet."""
    return tuple(dict.fromkeys(Sheet(rng).statements))
