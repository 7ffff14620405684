"""Random rulesheets: safe, stratified, terminating, and made of what real sheets are made of.

Bodies are built first and heads from what they bind; negations and inequalities speak of bound variables only, wherever
in the body they stand. A counter ends every match after a few plies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from random import Random
from typing import Any

from tests.generated.bodies import Body, Relation, Sort, fluent, inner, relation

Term = Any


class Sheet:
    """A rulesheet in the making; `statements` is the result."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.statements: list[Term] = []
        self.roles = Sort("role", rng.sample(["red", "blue", "c0", "1", "white"], rng.choice((1, 2, 2, 2, 3))))
        self._add_sorts()
        self.statics: list[Relation] = [relation(sort.name, sort) for sort in (*self.plain, self.roles)]
        self._add_statics()
        self._add_moves()
        self.aliases: list[tuple[Relation, bool]] = []
        self._add_fluents()
        self.state: list[Relation] = [*self.fluents, *self.fluents]
        self.asked: list[Relation] = []
        """Relations whose callers have to bind the arguments."""
        self._add_derived()
        self._add_legal()
        self._add_next()
        self._add_end()

    def add(self, head: Term, body: Body | Sequence[Term]) -> None:
        """Adds a rule; its literals in any order."""
        literals = list(body.literals if isinstance(body, Body) else body)
        if self.rng.random() < 0.6:
            self.rng.shuffle(literals)
        literals = list(dict.fromkeys(literals))
        self.statements.append(("<=", head, *literals) if literals else head)

    def rule(
        self, name: str, sorts: Sequence[Sort], positive: Sequence[Relation], tested: Sequence[Relation], most: int = 3
    ) -> None:
        """Adds a random rule about `(name ...)`."""
        body = self.body(positive, tested, most)
        self.add(inner(name, body.head_terms(sorts)), body)

    def body(self, positive: Sequence[Relation], tested: Sequence[Relation], most: int = 3) -> Body:
        """A random body."""
        rng = self.rng
        body = Body(rng)
        for _ in range(rng.randint(1, most)):
            body.positive(rng.choice(positive))
        if tested is not self.statics:
            tested = [*tested, *self.asked]
        if rng.random() < 0.2:
            body.alternatives(positive, tested)
        body.tests(tested, rng.choice((0, 0, 1, 1, 2)))
        if body.bound and rng.random() < 0.03:
            body.literals.append(("distinct", rng.choice(list(body.bound)), body.stray()))
        if rng.random() < 0.02:
            # More disjunctions than are multiplied out.
            for _ in range(6):
                parts = [body.test(tested, 1) for _ in range(2)]
                if None not in parts:
                    body.literals.append(("or", *parts))
        return body

    # ------------------------------------------------------------------------------------------------------ vocabulary

    def _add_sorts(self) -> None:
        rng = self.rng
        self.index = Sort("index", [str(i) for i in range(1, rng.choice((2, 3, 3, 4)) + 1)])
        kinds = Sort("kind", rng.sample(["x", "o", "b", "++", "c0"], rng.choice((2, 3))))
        self.plain = [self.index, kinds]
        if rng.random() < 0.4:
            # Shares constants with another sort.
            self.plain.append(Sort("some", [*self.index.constants[:2], *kinds.constants[:1]]))
        for sort in self.plain:
            self.statements += [(sort.name, constant) for constant in sort.constants]
        self.statements += [("role", role) for role in self.roles.constants]
        square = Sort("", [], [("at", [self.index, rng.choice(self.plain)])])
        place = Sort("", rng.choice(([], ["nowhere", "x"])), [("in", [square])])
        self.nested = [square, place] if rng.random() < 0.5 else []
        self.sorts = [*self.plain, self.index, *self.nested]

    def _choose_sorts(self, most: int, *, roles: bool = True, limit: int = 60) -> list[Sort]:
        rng = self.rng
        sorts: list[Sort] = []
        for _ in range(rng.randint(0, most)):
            sort = self.roles if roles and rng.random() < 0.2 else rng.choice(self.sorts)
            if prod([one.size for one in (*sorts, sort)]) <= limit:
                sorts.append(sort)
        return sorts

    def _add_statics(self) -> None:
        rng = self.rng
        last = rng.choice((3, 3, 4, 4, 5, 5, 6, 8))
        self.steps = Sort("number", [str(i) for i in range(last + 1)])
        self.statements += [("succ", str(i), str(i + 1)) for i in range(last)]
        self.statements += [("number", constant) for constant in self.steps.constants]
        self.succ = relation("succ", self.steps, self.steps)
        for number in range(rng.randint(1, 3)):
            sorts = [rng.choice(self.plain) for _ in range(rng.choice((2, 2, 3)))]
            found = relation(f"fact{number}", *sorts)
            body = Body(rng)
            rows = dict.fromkeys(
                found.atom([body.ground(sort) for sort in sorts]) for _ in range(rng.randint(2, 3 * sorts[0].size))
            )
            self.statements += rows
            self.statics.append(found)
        if rng.random() < 0.15:
            # A large table.
            row, column = (Sort(name, [f"{name[0]}{i}" for i in range(rng.randint(8, 16))]) for name in ("row", "line"))
            for sort in (row, column):
                self.statements += [(sort.name, constant) for constant in sort.constants]
            self.statements += [
                ("table", one, two, rng.choice(self.index.constants))
                for one in row.constants
                for two in column.constants
                if rng.random() < 0.8
            ]
            self.statics.append(relation("table", row, column, self.index))
            self.sorts += [row]
        for number in range(rng.choice((0, 0, 1, 2))):
            sorts = self._choose_sorts(2)
            for _ in range(rng.choice((1, 1, 2))):
                self.rule(f"given{number}", sorts, self.statics, self.statics)
            self.statics.append(relation(f"given{number}", *sorts))
        if rng.random() < 0.3:
            self._add_closure("linked", self.statics)

    def _add_closure(self, name: str, sources: list[Relation]) -> None:
        """The transitive closure of something, written one of three ways."""
        rng = self.rng
        sort = rng.choice(self.plain)
        body = Body(rng)
        one, two = body.fresh(sort), body.fresh(sort)
        fitting = [source for source in sources if source.sorts.count(sort) >= 2]
        if not fitting:
            return
        source = rng.choice(fitting)
        places = [i for i, part in enumerate(source.sorts) if part is sort][:2]
        ends = dict(zip(places, (one, two), strict=True))
        body.literals.append(
            source.atom([ends[i] if i in ends else body.term(part) for i, part in enumerate(source.sorts)])
        )
        self.add((name, one, two), body)
        edge = body.literals[0]
        way = rng.randrange(3)
        if way == 0:
            self.add((name, "?a", "?c"), [(name, "?a", "?b"), (name, "?b", "?c")])
        elif way == 1:
            self.add((name, "?a", two), [(name, "?a", one), edge])
        else:
            self.add((name, one, "?c"), [edge, (name, two, "?c"), ("distinct", one, "?c")])
        sources.append(relation(name, sort, sort))

    def _add_moves(self) -> None:
        rng = self.rng
        self.moves: list[tuple[str, list[Sort]]] = []
        for number in range(rng.choice((1, 2, 2, 3))):
            sorts = self._choose_sorts(4, roles=rng.random() < 0.3, limit=48)
            self.moves.append((f"move{number}" if rng.random() < 0.85 else "fact0", sorts))
        if rng.random() < 0.35:
            # What boards are about: a square, or two of them.
            self.moves.append(("mark", [self.index, self.index]))
            if self.index.size < 4 and rng.random() < 0.4:
                self.moves.append(("go", [self.index] * 4))
        self.moves = list({(name, len(sorts)): (name, sorts) for name, sorts in self.moves}.values())
        self.move = Sort("", ["noop"], [(name, sorts) for name, sorts in self.moves if sorts])
        self.move.constants += [name for name, sorts in self.moves if not sorts]

    def _add_fluents(self) -> None:
        rng = self.rng
        self.fluents: list[Relation] = []
        for number in range(rng.randint(2, 4)):
            name = f"fluent{number}" if rng.random() < 0.9 else "index"
            sorts = self._choose_sorts(3)
            if rng.random() < 0.08 and self.move.size < 40:
                sorts = [self.roles, self.move]
            self.fluents.append(fluent(name, *sorts))
            self._add_init(name, sorts)
        if rng.random() < 0.35:
            # A board, perhaps of more facts than a machine word has bits.
            sorts = [self.index, self.index, *self._choose_sorts(2, limit=16)]
            self.fluents.append(fluent("cell", *sorts))
            names = [f"?{i}" for i in range(len(sorts))]
            bodies = [(sort.name, name) for sort, name in zip(sorts, names, strict=True) if sort.name]
            if len(bodies) == len(sorts):
                self.statements.append(("<=", ("init", ("cell", *names)), *bodies))
        if rng.random() < 0.3:
            self.fluents.append(fluent("count", self.roles, self.steps))
            self.statements += [("init", ("count", role, "0")) for role in self.roles.constants]
        self.height: Sort | None = None
        if rng.random() < 0.2:
            # Terms that grow.
            self.height = Sort("", ["z"])
            for _ in range(rng.choice((1, 2, 3, 4))):
                self.height = Sort("", ["z"], [("s", [self.height])])
            self.fluents.append(fluent("height", self.height))
            self.statements.append(("init", ("height", "z")))
        self.clock = fluent("step", self.steps)
        self.statements.append(("init", ("step", "0")))
        self.fluents.append(self.clock)

    def _add_init(self, name: str, sorts: list[Sort]) -> None:
        rng = self.rng
        if rng.random() < 0.3:
            body = self.body(self.statics, self.statics, 2)
            self.add(("init", inner(name, body.head_terms(sorts))), body)
        body = Body(rng)
        for _ in range(rng.randint(0, 4)):
            fact = ("init", inner(name, [body.ground(sort) for sort in sorts]))
            if fact not in self.statements:
                self.statements.append(fact)

    # ----------------------------------------------------------------------------------------------------------- rules

    def _add_derived(self) -> None:
        """Relations of the state, each over those before it (and some over themselves)."""
        rng = self.rng
        for number in range(rng.choice((0, 1, 2, 3))):
            sorts = self._choose_sorts(3, limit=40)
            below = [*self.state, *self.statics]
            name = f"view{number}"
            for _ in range(rng.choice((1, 2, 2))):
                self.rule(name, sorts, below, below)
            found = relation(name, *sorts)
            if sorts and rng.random() < 0.25:
                self.rule(name, sorts, [found, found, *below], below)
            self.state.append(found)
        for name in ("reach", "meet"):
            if rng.random() < 0.35:
                self._add_closure(name, self.state)
        if rng.random() < 0.12:
            self._add_lists()
        if rng.random() < 0.15:
            # What is true, whatever it is.
            facts = Sort("", [], [(one.name, list(one.sorts)) for one in self.fluents if one.sorts])
            facts.constants = [one.name for one in self.fluents if not one.sorts]
            if facts.size <= 150:
                self.state.append(Relation("true", (facts,), lambda arguments: ("true", *arguments)))
        if rng.random() < 0.35:
            self._add_asked()
        if rng.random() < 0.2:
            self._add_counting()

    def _add_lists(self) -> None:
        """Recursion that builds terms: lists of what holds, up to a length."""
        rng = self.rng
        below = [one for one in (*self.state, *self.statics) if any(sort in self.plain for sort in one.sorts)]
        if not below:
            return
        sort = rng.choice([sort for sort in rng.choice(below).sorts if sort in self.plain])
        source = rng.choice([one for one in below if sort in one.sorts])
        place = source.sorts.index(sort)
        body = Body(rng)
        item = body.fresh(sort)
        holds = source.atom([item if i == place else body.term(part, 0.3) for i, part in enumerate(source.sorts)])
        length = rng.choice((1, 2, 2, 3)) if sort.size < 4 else 2
        lists = Sort("", ["nil"])
        for _ in range(length):
            lists = Sort("", ["nil"], [("on", [sort, lists])])
        if rng.random() < 0.5:
            self.statements += [("longer", str(i), str(i + 1)) for i in range(length)]
            self.statements.append(("lists", "0", "nil"))
            rest = [("lists", "?i", "?t"), ("longer", "?i", "?j"), holds]
            self.add(("lists", "?j", ("on", item, "?t")), rest)
            self.add(("list", "?t"), [("lists", "?i", "?t")])
        else:
            # Ends where lists are no longer brief.
            self.statements.append(("list", "nil"))
            self.statements.append(("brief", "nil"))
            self.add(("list", ("on", item, "?t")), [("list", "?t"), ("brief", "?t"), holds])
            for number in range(1, length):
                brief: Term = "nil"
                for i in range(number):
                    brief = ("on", f"?v{i}", brief)
                self.add(("brief", brief), [(sort.name, f"?v{i}") for i in range(number)])
        self.state.append(relation("list", lists))

    def _add_asked(self) -> None:
        """Relations that hold for what their callers name: rules with heads that nothing binds."""
        rng = self.rng
        kinds = [*self.plain, self.roles]
        for number in range(rng.choice((1, 1, 2))):
            sorts = [rng.choice(kinds) for _ in range(rng.choice((1, 1, 2)))]
            pool = [*self.state, *self.state, *self.statics, *self.asked]
            for _ in range(rng.choice((1, 1, 2))):
                body = Body(rng)
                if rng.random() < 0.3:
                    body.positive(rng.choice(self.state), 0.4)
                head = [body.fresh(sort) for sort in sorts]
                body.tests(pool, rng.choice((1, 2)))
                source = rng.choice([one for one in pool if set(one.sorts) & set(sorts)] or pool)
                body.literals.append(("not", source.atom([body.closed(sort, 0.1) for sort in source.sorts])))
                self.add((f"asked{number}", *head), body)
            found = relation(f"asked{number}", *sorts)
            self.asked += [replace(found, closed=True)] * 3

    def _add_counting(self) -> None:
        """Counts facts with an accumulator, top-down."""
        rng = self.rng
        name, sorts = next(((one.name, one.sorts) for one in self.fluents if one.sorts), (None, ()))
        if name is None or self.index not in sorts:
            return
        place = sorts.index(self.index)
        holds = fluent(name, *sorts)

        def here(at: Term) -> Term:
            body = Body(rng)
            return holds.atom([at if i == place else body.ground(sort) for i, sort in enumerate(sorts)])

        fact = here("?i")
        head, further = ("tally", "?i", "?n", "?m"), ("succ", "?i", "?j")
        self.statements += [
            ("<=", head, fact, further, ("succ", "?n", "?k"), ("tally", "?j", "?k", "?m")),
            ("<=", head, ("not", fact), further, ("number", "?n"), ("tally", "?j", "?n", "?m")),
            ("<=", ("tally", self.steps.constants[-1], "?n", "?n"), ("number", "?n")),
            ("<=", ("total", "?m"), ("tally", "0", "0", "?m")),
        ]
        self.state.append(relation("total", self.steps))

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
        moving: list[Relation] = list(does)
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
                ways = [self._frame, self._frame, self._unless, self._unless, self._shift, self._any_next]
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
            pairs = [
                ("distinct", *rng.sample((mine, other), 2))
                for mine, sort in zip(arguments, sorts, strict=True)
                for other, kind in zip(fact, one.sorts, strict=True)
                if (sort is kind or set(sort.constants) & set(kind.constants)) and mine != other
            ]
            rng.shuffle(pairs)
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
        values = Sort("", ["0", "25", "50", "75", "100"])
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


def sheet(rng: Random) -> tuple[Term, ...]:
    """A random rulesheet."""
    return tuple(dict.fromkeys(Sheet(rng).statements))
