"""Sees from the rules whether a board's squares have six neighbours: whether only one diagonal ever counts as a step."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from agent.boards.board import Name, name_of
from agent.boards.rulesheet import OWN, Rules, is_integer, is_variable
from games.machine import Term

MAX_VARIANTS = 16
"""Ways to choose one alternative of each disjunction in a rule; beyond, the rule is passed over."""
MAX_SQUARES = 12
"""Squares of a rule that are compared with one another."""


def lean(rules: Rules, xs: Sequence[str], ys: Sequence[str], positions: Mapping[Name, tuple[int, int]]) -> int:
    """0 for a square board; for a hexagonal one, 1 where (1, -1) is a step to a neighbour and (1, 1) is none, else -1.

    Steps are the distances of one column and row at most between two squares that a rule mentions. `positions` says
    where column and row stand among the arguments of relations that are known to lie on the board.
    """
    finder = _StepFinder(rules, xs, ys, positions)
    steps = set()
    for head, body in rules.rules:
        if body:
            for variant in _variants(body):
                steps |= finder.steps((head, *variant))
    if not {(1, 0), (0, 1)} <= steps or ((1, 1) in steps) == ((1, -1) in steps):
        return 0
    return 1 if (1, -1) in steps else -1


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
        self._positions = positions
        self._ground = rules.ground
        self._equal = {
            head[0] for head, _ in rules.rules if isinstance(head, tuple) and len(head) == 3 and head[1] == head[2]
        }
        self._distances: dict[str, int | None] = {}

    def steps(self, literals: Sequence[Term]) -> set[tuple[int, int]]:
        """The steps between the squares of these literals, each in the direction that goes right, or up."""
        places = _Distances()
        squares: dict[tuple[str, str], None] = {}
        joined = False
        for literal in literals:
            atom = _strip(literal)
            if len(atom) == 3 and isinstance(atom[0], str):
                _, a, b = atom
                if isinstance(a, str) and isinstance(b, str) and (distance := self._distance(atom[0])) is not None:
                    places.join(a, b, distance)
                    joined = True
                    continue
            squares.update(dict.fromkeys(self._squares(atom)))
        constants = {value for square in squares for value in square if not is_variable(value)}
        if len(squares) < 2 or not (joined or constants):
            return set()
        if constants:
            for axis in self._axes:
                for index, value in enumerate(axis):
                    places.join(axis[0], value, index)
        found = set()
        for (x1, y1), (x2, y2) in itertools.combinations(list(squares)[:MAX_SQUARES], 2):
            dx, dy = places.between(x1, x2), places.between(y1, y2)
            if dx is not None and dy is not None and max(abs(dx), abs(dy)) == 1:
                found.add((dx, dy) if (dx, dy) > (0, 0) else (-dx, -dy))
        return found

    def _squares(self, atom: Sequence[Term]) -> Iterator[tuple[str, str]]:
        """The squares among an atom's arguments: where they are known to be, else wherever pairs of them fit."""
        arguments = atom[1:]
        known = self._positions.get(name_of(tuple(atom)))
        if known is not None:
            x, y = arguments[known[0]], arguments[known[1]]
            if isinstance(x, str) and isinstance(y, str):
                yield x, y
            return
        # Two squares in an odd number of arguments: something stands before or after them.
        for start in range(1 + len(arguments) % 2):
            for x, y in zip(arguments[start::2], arguments[start + 1 :: 2], strict=False):
                if isinstance(x, str) and isinstance(y, str) and _fits(x, self._columns) and _fits(y, self._rows):
                    yield x, y

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


def _fits(argument: str, values: Collection[str]) -> bool:
    return is_variable(argument) or argument in values


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
