"""Sees from the rules which squares are neighbours: six where one diagonal alone ever counts as a step; and walls."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from agent.boards.board import Name
from agent.boards.rulesheet import FACT, OWN, Atom, Key, Rules, is_integer, is_variable, read_atom
from games.machine import Term

MAX_VARIANTS = 16
"""Ways to choose one alternative of each disjunction in a rule; beyond, the rule is passed over."""
MAX_ROUNDS = 10
"""Rounds of following the rules from relation to relation."""
MAX_SQUARES = 12
"""Squares of a rule that are compared with one another."""


class Neighbourhood:
    """What the rules say about squares beside one another.

    `positions` says where column and row stand among the arguments of relations that are known to lie on the board.
    """

    def __init__(
        self, rules: Rules, xs: Sequence[str], ys: Sequence[str], positions: Mapping[Name, tuple[int, int]]
    ) -> None:
        self._rules = rules
        self._finder = _StepFinder(rules, xs, ys, positions)

    def lean(self) -> int:
        """0 for a square board; for a hexagonal one 1 where (1, -1) is a step and (1, 1) is none, else -1.

        Steps are the distances of one column and row at most between two squares that a rule mentions.
        """
        steps = set()
        for head, body in self._rules.rules:
            if body:
                for variant in _variants(body):
                    steps |= self._finder.steps((head, *variant))
        if not {(1, 0), (0, 1)} <= steps or ((1, 1) in steps) == ((1, -1) in steps):
            return 0
        return 1 if (1, -1) in steps else -1

    def side(self, name: Name) -> tuple[int, int] | None:
        """The side of its square that facts of a relation speak of, as a wall does, in columns and rows.

        It is where the neighbours are that rules mention together with these facts, if they are all on one side.
        """
        seen: Counter[tuple[int, int]] = Counter()
        for head, body in self._rules.rules:
            if body:
                for variant in _variants(body):
                    seen.update(self._finder.beside(name, (head, *variant)))
        common = seen.most_common(2)
        return common[0][0] if common and (len(common) == 1 or common[0][1] > common[1][1]) else None


def _variants(body: Sequence[Term]) -> Iterator[tuple[Term, ...]]:
    """The rule's body with one part of each disjunction."""
    choices = [literal[1:] if isinstance(literal, tuple) and literal[:1] == ("or",) else (literal,) for literal in body]
    if any(not choice for choice in choices):
        return
    count = 1
    for choice in choices:
        count *= len(choice)
    if count <= MAX_VARIANTS:
        yield from itertools.product(*choices)


class _StepFinder:
    """Finds the steps between the squares that a rule mentions."""

    def __init__(
        self, rules: Rules, xs: Sequence[str], ys: Sequence[str], positions: Mapping[Name, tuple[int, int]]
    ) -> None:
        self._axes = (list(xs), list(ys))
        self._columns, self._rows = set(xs), set(ys)
        self._positions = _spread(rules, positions)
        self._ground = rules.ground
        self._equal = {
            head[0] for head, _ in rules.rules if isinstance(head, tuple) and len(head) == 3 and head[1] == head[2]
        }
        self._distances: dict[str, int | None] = {}

    def steps(self, literals: Sequence[Term]) -> set[tuple[int, int]]:
        """The steps between the squares of these literals, each in the direction that goes right, or up."""
        places, squares, pairs = self._squares(literals)
        found = set(self._between(places, squares))
        for pair in pairs:
            found.update(self._between(places, pair))
        return {step if step > (0, 0) else (-step[0], -step[1]) for step in found}

    def beside(self, name: Name, literals: Sequence[Term]) -> set[tuple[int, int]]:
        """Where neighbours in a row or column are, of the squares that facts of this relation mention."""
        own = {
            square
            for literal in literals
            if (read := read_atom(_bare(literal))) is not None
            and read[0] == (FACT, *name)
            and (square := self._square(read)) is not None
        }
        found: set[tuple[int, int]] = set()
        if own:
            places, squares, pairs = self._squares(literals)
            others = {square for pair in (squares, *pairs) for square in pair} - own
            for square in own:
                for other in others:
                    found.update(self._between(places, [square, other]))
        return {(dx, dy) for dx, dy in found if abs(dx) + abs(dy) == 1}

    def _squares(
        self, literals: Sequence[Term]
    ) -> tuple[_Distances, list[tuple[str, str]], list[list[tuple[str, str]]]]:
        """How far apart terms are, the squares of relations known to have one, and pairs of squares in the head."""
        places = _Distances()
        squares: dict[tuple[str, str], None] = {}
        for literal in literals:
            atom = _strip(literal)
            if len(atom) == 3 and isinstance(atom[0], str):
                _, a, b = atom
                if isinstance(a, str) and isinstance(b, str) and (distance := self._distance(atom[0])) is not None:
                    places.join(a, b, distance)
                    continue
            read = read_atom(_bare(literal))
            if read is not None and (square := self._square(read)) is not None:
                squares[square] = None
        # A relation of two squares, such as neighbours are.
        head = _strip(literals[0])[1:]
        pairs = [
            [
                (x, y)
                for x, y in ((head[start], head[start + 1]), (head[start + 2], head[start + 3]))
                if isinstance(x, str) and isinstance(y, str) and self._may_be(x, y)
            ]
            for start in range(len(head) - 3)
        ]
        return places, list(squares), pairs

    def _square(self, atom: Atom) -> tuple[str, str] | None:
        at = self._positions.get(atom[0])
        if at is None:
            return None
        x, y = atom[1][at[0]], atom[1][at[1]]
        return (x, y) if isinstance(x, str) and isinstance(y, str) else None

    def _may_be(self, x: str, y: str) -> bool:
        return (is_variable(x) or x in self._columns) and (is_variable(y) or y in self._rows)

    def _between(self, places: _Distances, squares: Sequence[tuple[str, str]]) -> Iterator[tuple[int, int]]:
        """The steps of length one between squares, from the one that comes first."""
        if len(squares) < 2:
            return
        if any(not is_variable(value) for square in squares for value in square):
            for axis in self._axes:
                for index, value in enumerate(axis):
                    places.join(axis[0], value, index)
        for (x1, y1), (x2, y2) in itertools.combinations(squares[:MAX_SQUARES], 2):
            dx, dy = places.between(x1, x2), places.between(y1, y2)
            if dx is not None and dy is not None and max(abs(dx), abs(dy)) == 1:
                yield dx, dy

    def _distance(self, name: str) -> int | None:
        """How far a relation of two arguments leads: 1 for a successor relation, 0 for equality, else None."""
        if name not in self._distances:
            pairs = [(pair[0], pair[1]) for pair in self._ground.get((OWN, name, 2), ())]
            self._distances[name] = _distance(pairs, name in self._equal)
        return self._distances[name]


def _distance(pairs: Sequence[tuple[str, str]], equal: bool) -> int | None:
    if equal:
        return 0 if all(a == b for a, b in pairs) else None
    if len(pairs) < 2:
        return None
    if all(is_integer(a) and is_integer(b) for a, b in pairs):
        distances = {int(b) - int(a) for a, b in pairs}
        return distances.pop() if distances in ({-1}, {0}, {1}) else None
    following = dict(pairs)
    one_to_one = len(following) == len(pairs) == len(set(following.values()))
    return 1 if one_to_one and following.keys() - following.values() else None


def _strip(literal: Term) -> tuple[Term, ...]:
    """The relation and arguments of a literal, without what is around them; empty where there is none."""
    while isinstance(literal, tuple) and len(literal) > 1:
        if literal[0] in ("not", "true", "next", "init"):
            literal = literal[1]
        elif literal[0] in ("does", "legal") and len(literal) == 3:
            literal = literal[2]
        else:
            return literal
    return ()


def _bare(literal: Term) -> Term:
    """A literal without its negation."""
    while isinstance(literal, tuple) and len(literal) == 2 and literal[0] == "not":
        literal = literal[1]
    return literal


def _spread(rules: Rules, positions: Mapping[Name, tuple[int, int]]) -> dict[Key, tuple[int, int]]:
    """Where column and row stand among the arguments of relations, also of those whose rules take them from others."""
    known: dict[Key, tuple[int, int]] = {(FACT, *name): at for name, at in positions.items()}
    for _ in range(MAX_ROUNDS):
        before = len(known)
        for head, body in rules.rules:
            atom = read_atom(head)
            if atom is None or atom[0] in known:
                continue
            for literal in body:
                read = read_atom(_bare(literal))
                if read is None or read[0] not in known:
                    continue
                x, y = (read[1][position] for position in known[read[0]])
                if is_variable(x) and is_variable(y) and x != y and x in atom[1] and y in atom[1]:
                    known[atom[0]] = atom[1].index(x), atom[1].index(y)
                    break
        if len(known) == before:
            break
    return known


class _Distances:
    """Terms on lines: which are how far from which."""

    def __init__(self) -> None:
        self._links: dict[str, list[tuple[str, int]]] = defaultdict(list)

    def join(self, a: str, b: str, distance: int) -> None:
        """Says that `b` is so far behind `a`."""
        self._links[a].append((b, distance))
        self._links[b].append((a, -distance))

    def between(self, a: str, b: str) -> int | None:
        """How far `b` is behind `a`; None where nothing says so."""
        seen = {a: 0}
        pending = [a]
        while pending:
            current = pending.pop()
            if current == b:
                return seen[b]
            for other, distance in self._links.get(current, ()):
                if other not in seen:
                    seen[other] = seen[current] + distance
                    pending.append(other)
        return seen.get(b)
