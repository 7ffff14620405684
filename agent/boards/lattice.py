"""Detection of hexagonal boards, and of the sides on which walls stand, from the neighbours that rules mention."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from agent.boards.board import Name
from agent.boards.rulesheet import FACT, OWN, Atom, Key, Rules, bare, is_integer, is_variable, read_atom

MAX_VARIANTS = 16
"""Most combinations of a rule's alternatives; a rule with more is skipped."""
MAX_ROUNDS = 10
"""Most rounds of following rules from relation to relation."""
MAX_SQUARES = 12
"""Most squares of a rule that are compared."""

Place: TypeAlias = tuple[str, str]
"""Terms that are a square's column and row."""
Links: TypeAlias = dict[str, list[tuple[str, int]]]
"""Terms at known distances from others."""


class Neighbourhood:
    """Neighbours on a board, according to the rules.

    `positions` are the arguments of the board's relations that are column and row.
    """

    def __init__(
        self, rules: Rules, xs: Sequence[str], ys: Sequence[str], positions: Mapping[Name, tuple[int, int]]
    ) -> None:
        self._rules = rules
        self._axes = (xs, ys)
        self._positions = _spread(rules, positions)
        self._equal = {
            head[0] for head, _ in rules.rules if isinstance(head, tuple) and len(head) == 3 and head[1] == head[2]
        }
        self._distances: dict[str, int | None] = {}

    def lean(self) -> int:
        """Returns 0 for a square board; for a hexagonal one 1 if the diagonal step is (1, -1), -1 if it is (1, 1).

        Steps are the distances between squares that a rule mentions, of one column and row at most.
        """
        found: set[tuple[int, int]] = set()
        for atoms in self._atoms():
            squares, links = self._squares(atoms), self._links(atoms)
            for group in (list(squares), *self._pairs(atoms[0])):
                for a, b in itertools.combinations(group[:MAX_SQUARES], 2):
                    found |= self._step(links, a, b)
        steps = {max(step, (-step[0], -step[1])) for step in found}
        if not {(1, 0), (0, 1)} <= steps or ((1, 1) in steps) == ((1, -1) in steps):
            return 0
        return 1 if (1, -1) in steps else -1

    def side(self, name: Name) -> tuple[int, int] | None:
        """Returns the side of the square that facts of a relation are about, in columns and rows, or None.

        It is the most frequent direction of the neighbours that rules mention together with these facts.
        """
        seen: Counter[tuple[int, int]] = Counter()
        for atoms in self._atoms():
            own = self._squares([atom for atom in atoms if atom is not None and atom[0] == (FACT, *name)])
            if own:
                links = self._links(atoms)
                others = {square for group in (self._squares(atoms), *self._pairs(atoms[0])) for square in group}
                steps = {step for a in own for b in others - own.keys() for step in self._step(links, a, b)}
                seen.update((dx, dy) for dx, dy in steps if abs(dx) + abs(dy) == 1)
        common = seen.most_common(2)
        return common[0][0] if common and (len(common) == 1 or common[0][1] > common[1][1]) else None

    def _atoms(self) -> Iterator[list[Atom | None]]:
        """Yields the atoms of each rule, the head's first, with one part of each disjunction."""
        for head, body in self._rules.rules:
            choices = [literal[1:] if literal[:1] == ("or",) else (literal,) for literal in body]
            count = 1
            for choice in choices:
                count *= len(choice)
            if body and count <= MAX_VARIANTS:
                for variant in itertools.product(*choices):
                    yield [read_atom(bare(literal)) for literal in (head, *variant)]

    def _links(self, atoms: Collection[Atom | None]) -> Links:
        """Returns the distances between terms that these atoms tell."""
        links: Links = defaultdict(list)
        for atom in atoms:
            if atom is not None and atom[0][0] == OWN and atom[0][2] == 2:
                a, b = atom[1]
                distance = self._distance(atom[0][1])
                if distance is not None and isinstance(a, str) and isinstance(b, str):
                    links[a].append((b, distance))
                    links[b].append((a, -distance))
        return links

    def _squares(self, atoms: Collection[Atom | None]) -> dict[Place, None]:
        """Returns the squares in atoms of known relations, in order."""
        found: dict[Place, None] = {}
        for atom in atoms:
            at = self._positions.get(atom[0]) if atom is not None else None
            if atom is not None and at is not None:
                x, y = atom[1][at[0]], atom[1][at[1]]
                if isinstance(x, str) and isinstance(y, str):
                    found[x, y] = None
        return found

    def _pairs(self, head: Atom | None) -> Iterator[list[Place]]:
        """Yields possible pairs of squares in a head, which may be a relation of neighbours."""
        arguments = head[1] if head is not None else ()
        for start in range(len(arguments) - 3):
            yield [
                (x, y)
                for x, y in (arguments[start : start + 2], arguments[start + 2 : start + 4])
                if isinstance(x, str) and (is_variable(x) or x in self._axes[0])
                if isinstance(y, str) and (is_variable(y) or y in self._axes[1])
            ]

    def _step(self, links: Links, a: Place, b: Place) -> set[tuple[int, int]]:
        """Returns the step from a square to another if it is one of length one."""
        dx, dy = (_between(links, axis, here, there) for axis, here, there in zip(self._axes, a, b, strict=True))
        return {(dx, dy)} if dx is not None and dy is not None and max(abs(dx), abs(dy)) == 1 else set()

    def _distance(self, name: str) -> int | None:
        """Returns the distance between a relation's two arguments: 1 for successors, 0 for equality, else None."""
        if name not in self._distances:
            pairs = [(pair[0], pair[1]) for pair in self._rules.ground.get((OWN, name, 2), ())]
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


def _between(links: Links, axis: Sequence[str], a: str, b: str) -> int | None:
    """Returns the distance from one term to another; None where it is unknown."""
    seen = {a: 0}
    pending = [a]
    while pending:
        current = pending.pop()
        if current == b:
            return seen[b]
        near = links.get(current, [])
        if not is_variable(current) and current in axis:
            here = axis.index(current)
            near = near + [(value, index - here) for index, value in enumerate(axis)]
            axis = ()
        for other, distance in near:
            if other not in seen:
                seen[other] = seen[current] + distance
                pending.append(other)
    return None


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
                read = read_atom(bare(literal))
                if read is None or read[0] not in known:
                    continue
                x, y = (read[1][position] for position in known[read[0]])
                if is_variable(x) and is_variable(y) and x != y and x in atom[1] and y in atom[1]:
                    known[atom[0]] = atom[1].index(x), atom[1].index(y)
                    break
        if len(known) == before:
            break
    return known
