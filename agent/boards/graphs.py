"""Detection of boards whose squares are single names, such as `(cell a1 red)`, joined by relations of the rulesheet."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from agent.boards.board import Board, FactTable, Name, Reading
from agent.boards.emptiness import blocked_contents, empty_content
from agent.boards.rulesheet import OWN, Rules, natural_key
from agent.boards.signs import all_numbers

MIN_SQUARES, MAX_SQUARES = 5, 120
MAX_LINE = 16
"""Most squares of a board that is a line; a longer one is rather a counter."""
MAX_NEIGHBOURS = 8

Edge: TypeAlias = tuple[str, str]
Points: TypeAlias = npt.NDArray[np.float64]
"""Places in the plane, shape (squares, 2)."""


def find_graphs(tables: Mapping[Name, FactTable], rules: Rules, taken: set[Name]) -> list[Board]:
    """Returns the boards of squares with single names, one per relation."""
    boards: list[Board] = []
    claimed: list[set[str]] = []
    for name, table in sorted(tables.items(), key=lambda item: (rules.rank.get(item[0][0], 1 << 30), item[0])):
        if name in taken or not 2 <= name[1] <= 4:
            continue
        found = _find(table, rules)
        if found is None:
            continue
        squares = {square[0] for square in found.places}
        if any(squares <= other for other in claimed):
            continue
        claimed.append(squares)
        boards.append(found)
    for index, board in enumerate(boards):
        boards[index] = _with_marks(board, tables, taken | {name for it in boards for name in it.readings}, rules)
    return boards


def _with_marks(board: Board, tables: Mapping[Name, FactTable], taken: set[Name], rules: Rules) -> Board:
    """Adds relations about the same squares as marks."""
    squares = {square[0] for square in board.places}
    readings = dict(board.readings)
    for name, table in tables.items():
        domain = table.domains[0]
        if name in taken or not domain or name[1] > 2:
            continue
        if domain <= squares and 2 * len(domain) >= len(squares) and not all_numbers(domain):
            readings[name] = Reading(name, (0,), tuple(range(1, name[1])), use="mark")
    return Board(**{**board.__dict__, "readings": readings})


def _find(table: FactTable, rules: Rules) -> Board | None:
    roles = set(rules.roles)
    for key, domain in enumerate(table.domains):
        if not domain or not MIN_SQUARES <= len(domain) <= 4 * MAX_SQUARES or 2 * len(domain & roles) >= len(domain):
            continue
        if len(table.facts) < 2 or len({fact[1 + key] for fact in table.facts}) != len(table.facts):
            continue
        contents = tuple(position for position in range(table.name[1]) if position != key)
        others = [table.domains[position] for position in contents]
        if any(it is None or (it & domain and not (it & roles or all_numbers(it & domain))) for it in others):
            continue
        relations = _relations(domain, rules)
        named = {name for pairs in relations for pair in pairs for name in pair} | domain
        names = sorted(named, key=lambda name: (rules.rank.get(name, len(rules.rank)), name))
        neighbours = _neighbours(itertools.chain.from_iterable(relations))
        if not MIN_SQUARES <= len(names) <= MAX_SQUARES or not _connected(names, neighbours):
            continue
        if max(map(len, neighbours.values())) > MAX_NEIGHBOURS:
            continue
        is_line = sum(map(len, neighbours.values())) <= 2 * len(names)
        if (is_line or all_numbers(domain)) and (len(names) > MAX_LINE or len(table.facts) < len(names)):
            continue
        # A relation that connects all squares may be drawn better alone: others, such as opposites, lead across.
        graphs = [*(graph for graph in map(_neighbours, relations) if _connected(names, graph)), neighbours]
        places, graph, _ = min((_places(names, graph) for graph in graphs), key=itemgetter(2))
        reading = Reading(table.name, (key,), contents)
        empty = empty_content(table, reading, len(names), rules)
        edges = [((a,), (b,)) for index, a in enumerate(names) for b in names[index + 1 :] if b in graph[a]]
        return Board(
            readings={table.name: reading},
            axes=(tuple(names),),
            across=-1,
            up=-1,
            places={(name,): (float(x), float(y)) for name, (x, y) in zip(names, places, strict=True)},
            lattice="points",
            edges=tuple(edges),
            empty=empty,
            blocked=frozenset(blocked_contents(table, reading, empty, rules)),
        )
    return None


def _relations(domain: frozenset[str], rules: Rules) -> list[list[Edge]]:
    """Returns the pairs of neighbours of each relation that joins squares.

    Each fact of such a relation has two squares, or a line of three or four.
    """
    found: dict[str, list[Edge]] = defaultdict(list)
    for (kind, name, count), facts in rules.ground.items():
        for first in range(count - 1 if kind == OWN and count <= 4 else 0):
            pairs = [(fact[first], fact[first + 1]) for fact in facts]
            in_domain = sum(a in domain and b in domain for a, b in pairs)
            if in_domain >= max(2, len(facts) / 2):
                found[name] += [(a, b) for a, b in pairs if a != b]
    return list(found.values())


def _neighbours(edges: Iterable[Edge]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for a, b in edges:
        found[a].add(b)
        found[b].add(a)
    return found


def _connected(names: list[str], neighbours: Mapping[str, set[str]]) -> bool:
    return len(_distances(names[0], neighbours)) == len(names)


def _distances(name: str, neighbours: Mapping[str, set[str]]) -> dict[str, int]:
    """Returns the number of lines to each square."""
    found = {name: 0}
    pending = deque([name])
    while pending:
        current = pending.popleft()
        for other in neighbours.get(current, ()):
            if other not in found:
                found[other] = found[current] + 1
                pending.append(other)
    return found


def _places(names: list[str], neighbours: Mapping[str, set[str]]) -> tuple[Points, Mapping[str, set[str]], float]:
    """Returns places whose distances approximate those of the graph, with the graph and the stress.

    Classical scaling, then stress majorisation (E. Gansner, Y. Koren and S. North, "Graph drawing by stress
    majorization", 2004).
    """
    count = len(names)
    index = {name: position for position, name in enumerate(names)}
    steps = np.zeros((count, count))
    for name in names:
        for other, far in _distances(name, neighbours).items():
            steps[index[name], index[other]] = far
    centred = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-centred @ (steps**2) @ centred / 2)
    points = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.01))
    # Break exact alignments.
    points += 1e-3 * np.array([[math.cos(7 * i), math.sin(11 * i)] for i in range(count)])
    weights = 1 / np.where(steps > 0, steps, 1) ** 2
    np.fill_diagonal(weights, 0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    for _ in range(200):
        gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
        pull = -weights * steps / np.where(gaps > 1e-9, gaps, 1)
        np.fill_diagonal(pull, 0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        points = inverse @ (pull @ points)
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
    stress = float((weights * (gaps - steps) ** 2).sum())
    lines = np.array([points[index[b]] - points[index[a]] for a in names for b in neighbours[a]])
    ordered = sorted(names, key=natural_key)
    ranks = np.array([ordered.index(name) for name in names]) - (count - 1) / 2
    scale = max((gaps + 9 * np.eye(count)).min(), 0.3)
    return _upright(points, lines, ranks) / scale, neighbours, stress


def _upright(points: Points, lines: Points, ranks: npt.NDArray[np.float64]) -> Points:
    """Rotates the places so that many lines are level, with low ranks at the left and at the bottom."""
    best, best_score = points, -1.0
    for x, y in lines / np.linalg.norm(lines, axis=1)[:, None]:
        turned = points @ (turn := np.array([[x, -y], [y, x]]))
        ranked = ranks @ turned / np.linalg.norm(turned, axis=0)
        score = np.exp(-((20 * (lines @ turn)[:, 1]) ** 2)).sum() + abs(ranked[0]) / np.linalg.norm(ranks)
        if score > best_score + 1e-6:
            best, best_score = turned * np.where(ranked * [1, -1] < 0, -1, 1), score
    lowest: Points = best.min(axis=0)
    return best - lowest
