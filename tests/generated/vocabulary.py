"""What a random rulesheet speaks of: constants, static relations, moves, fluents, and relations derived from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from random import Random
from typing import Any

from tests.generated.bodies import Body, Relation, Sort, fluent, inner, relation

Term = Any


class Vocabulary:
    """The part of a rulesheet that its legal moves, next states and ends are made of; `statements` grows."""

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
