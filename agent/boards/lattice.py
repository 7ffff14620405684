"""Detection of hexagonal boards, and of the sides on which walls stand, from the neighbours that rules mention."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from agent.boards.board import Name
from agent.boards.rulesheet import FACT, OWN, Atom, Key, Rules, is_integer, is_variable, read_atom
from games.machine import Term

MAX_VARIANTS = 16
"""Most combinations of a rule's alternatives; a rule with more is skipped."""
MAX_ROUNDS = 10
"""Most rounds of following rules from relation to relation."""
MAX_SQUARES = 12
"""Most squares of a rule that are compared."""


class Neighbourhood:
    """Neighbours on a board, according to the rules.

    `positions` are the arguments of the board's relations that are column and row.
    """

    def __init__(
        self, rules: Rules, xs: Sequence[str], ys: Sequence[str], positions: Mapping[Name, tuple[int, int]]
    ) -> None:
        self._rules = rules
        self._finder = _StepFinder(rules, xs, ys, positions)

    def lean(self) -> int:
        """Returns 0 for a square board; for a hexagonal one 1 if the diagonal step is (1, -1), -1 if it is (1, 1).

        Steps are the distances between squares that a rule mentions, of one column and row at most.
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
        """Returns the side of the square that facts of a relation are about, in columns and rows, or None.

        It is the most frequent direction of the neighbours that rules mention together with these facts.
        """
        seen: Counter[tuple[int, int]] = Counter()
        for head, body in self._rules.rules:
            if body:
                for variant in _variants(body):
                    seen.update(self._finder.beside(name, (head, *variant)))
        common = seen.most_common(2)
        return common[0][0] if common and (len(common) == 1 or common[0][1] > common[1][1]) else None


def _variants(body: Sequence[Term]) -> Iterator[tuple[Term, ...]]:
    """Yields the rule's body with one part of each disjunction."""
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
        """Returns the steps between the squares of these literals, each counted to the right, or straight up."""
        places, squares, pairs = self._squares(literals)
        found = set(self._between(places, squares))
        for pair in pairs:
            found.update(self._between(places, pair))
        return {step if step > (0, 0) else (-step[0], -step[1]) for step in found}

    def beside(self, name: Name, literals: Sequence[Term]) -> set[tuple[int, int]]:
        """Returns the directions from squares of this relation's facts to neighbours in the same row or column."""
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
        """Returns the distances between terms, the squares of known relations, and possible pairs of squares in the
        head."""
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
        # The head may be a relation of two squares, such as neighbours.
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
        """Yields the steps of length one between squares, each from the earlier to the later one."""
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
        """Returns the distance between a relation's two arguments: 1 for successors, 0 for equality, else None."""
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
    """Returns a literal's relation and arguments without `not`, `true`, `does` and the like; () for a constant."""
    while isinstance(literal, tuple) and len(literal) > 1:
        if literal[0] in ("not", "true", "next", "init"):
            literal = literal[1]
        elif literal[0] in ("does", "legal") and len(literal) == 3:
            literal = literal[2]
        else:
            return literal
    return ()


def _bare(literal: Term) -> Term:
    """Returns a literal without its negation."""
    while isinstance(literal, tuple) and len(literal) == 2 and literal[0] == "not":
        literal = literal[1]
    return literal


def _spread(rules: Rules, positions: Mapping[Name, tuple[int, int]]) -> dict[Key, tuple[int, int]]:
    """Returns the positions of column and row in relations, also in those derived from the relations of `positions`."""
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
    """Distances between terms."""

    def __init__(self) -> None:
        self._links: dict[str, list[tuple[str, int]]] = defaultdict(list)

    def join(self, a: str, b: str, distance: int) -> None:
        """Notes that `b` comes `distance` behind `a`."""
        self._links[a].append((b, distance))
        self._links[b].append((a, -distance))

    def between(self, a: str, b: str) -> int | None:
        """Returns the distance from `a` to `b`; None where it is unknown."""
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
