"""Detection of boards whose squares are single names, such as `(cell a1 red)`, joined by relations of the rulesheet."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from agent.boards.board import Board, FactTable, Name, Reading
from agent.boards.emptiness import blocked_contents, empty_content
from agent.boards.rulesheet import OWN, Rules

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
        if domain <= squares and 2 * len(domain) >= len(squares) and not all(map(_is_number, domain)):
            readings[name] = Reading(name, (0,), tuple(range(1, name[1])), use="mark")
    return Board(**{**board.__dict__, "readings": readings})


def _is_number(text: str) -> bool:
    return text.isdigit()


def _find(table: FactTable, rules: Rules) -> Board | None:
    roles = set(rules.roles)
    for key, domain in enumerate(table.domains):
        if not domain or not MIN_SQUARES <= len(domain) <= 4 * MAX_SQUARES or 2 * len(domain & roles) >= len(domain):
            continue
        if any(
            len({fact[1 + key] for fact in state}) != len(state) or (state and len(state) < 2) for state in table.states
        ):
            continue
        contents = tuple(position for position in range(table.name[1]) if position != key)
        others = [table.domains[position] for position in contents]
        if any(other is None or (other & domain and not other & roles and _words(other & domain)) for other in others):
            continue
        relations = _relations(domain, rules)
        names = sorted(
            {name for pairs in relations.values() for pair in pairs for name in pair} | domain, key=_ranked(rules)
        )
        neighbours = _neighbours(itertools.chain.from_iterable(relations.values()))
        if not MIN_SQUARES <= len(names) <= MAX_SQUARES or not _connected(names, neighbours):
            continue
        if max(map(len, neighbours.values())) > MAX_NEIGHBOURS:
            continue
        first = next((state for state in table.states if state), ())
        is_line = sum(map(len, neighbours.values())) <= 2 * len(names)
        if len(first) < 2:
            continue
        if is_line and (len(names) > MAX_LINE or len(first) < len(domain)):
            continue
        return _board(table, key, contents, names, relations, neighbours, rules)
    return None


def _words(constants: frozenset[str]) -> bool:
    return any(not _is_number(value) for value in constants)


def _ranked(rules: Rules) -> Callable[[str], tuple[int, str]]:
    return lambda name: (rules.rank.get(name, len(rules.rank)), name)


def _relations(domain: frozenset[str], rules: Rules) -> dict[tuple[str, ...], list[Edge]]:
    """Returns pairs of neighbours, by the relation that joins them and its other arguments.

    Each fact of such a relation has two squares, or a line of three or four.
    """
    found: dict[tuple[str, ...], list[Edge]] = defaultdict(list)
    for (kind, name, count), facts in rules.ground.items():
        if kind != OWN or not 2 <= count <= 4:
            continue
        for first in range(count - 1):
            in_domain = sum(fact[first] in domain and fact[first + 1] in domain for fact in facts)
            if 2 * in_domain < len(facts) or in_domain < 2:
                continue
            for fact in facts:
                a, b = fact[first], fact[first + 1]
                others = tuple(value for index, value in enumerate(fact) if index not in (first, first + 1))
                label = others if all(value not in domain for value in others) else ()
                if a != b:
                    found[name, str(first), *label].append((a, b))
    return dict(found)


def _connected(names: list[str], neighbours: Mapping[str, set[str]]) -> bool:
    seen = {names[0]}
    pending = [names[0]]
    while pending:
        for other in neighbours.get(pending.pop(), ()):
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return len(seen) == len(names)


def _neighbours(edges: Iterable[Edge]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for a, b in edges:
        found[a].add(b)
        found[b].add(a)
    return found


def _main_relation(names: list[str], relations: Mapping[tuple[str, ...], list[Edge]]) -> dict[str, set[str]] | None:
    """Returns the neighbours in the relation that connects all squares with the fewest lines, or None.

    Other relations, such as opposites, may lead across the board.
    """
    by_name: dict[str, list[Edge]] = defaultdict(list)
    for label, pairs in relations.items():
        by_name[label[0]] += pairs
    joining = [found for pairs in by_name.values() if _connected(names, found := _neighbours(pairs))]
    return min(joining, key=lambda found: sum(map(len, found.values())), default=None)


def _board(
    table: FactTable,
    key: int,
    contents: tuple[int, ...],
    names: list[str],
    relations: Mapping[tuple[str, ...], list[Edge]],
    neighbours: Mapping[str, set[str]],
    rules: Rules,
) -> Board:
    reading = Reading(table.name, (key,), contents)
    empty = empty_content(table, reading, len(names), rules)
    places: Points | None
    try:
        places = _translations(names, relations)
        if places is None:
            neighbours = _main_relation(names, relations) or neighbours
            places = _by_distance(names, neighbours)
    except np.linalg.LinAlgError:
        places = _circle(len(names))
    order = {name: index for index, name in enumerate(names)}
    edges = sorted(
        {(a, b) for a in names for b in neighbours[a] if order[a] < order[b]},
        key=lambda it: (order[it[0]], order[it[1]]),
    )
    return Board(
        readings={table.name: reading},
        axes=(tuple(names),),
        across=-1,
        up=-1,
        places={(name,): (float(x), float(y)) for name, (x, y) in zip(names, places, strict=True)},
        lattice="points",
        edges=tuple(((a,), (b,)) for a, b in edges),
        empty=empty,
        blocked=frozenset(blocked_contents(table, reading, empty, rules)),
    )


def _translations(names: list[str], relations: Mapping[tuple[str, ...], list[Edge]]) -> Points | None:
    """Returns places where each relation is a step of length one in a direction of its own; None if there are none.

    The places and steps that fit all pairs are the null space of linear equations. Where it has two dimensions besides
    a common shift, a linear map of the plane is still free; it is chosen to make all steps equally long.
    """
    labels = [label for label, pairs in relations.items() if _is_partial_map(pairs)]
    if len(labels) != len(relations) or not labels:
        return None
    index = {name: position for position, name in enumerate(names)}
    count = len(names)
    rows = []
    for number, label in enumerate(labels):
        for a, b in relations[label]:
            row = np.zeros(count + len(labels))
            row[index[b]] += 1
            row[index[a]] -= 1
            row[count + number] -= 1
            rows.append(row)
    shift = np.zeros(count + len(labels))
    shift[:count] = 1
    rows.append(shift)
    equations = np.array(rows)
    values, vectors = np.linalg.eigh(equations.T @ equations)
    kernel = vectors[:, values < 1e-9 * max(1.0, values[-1])].T
    if len(kernel) != 2:
        return None
    points, steps = kernel[:, :count].T, kernel[:, count:].T
    # In the basis of two steps, two directions alone make squares.
    first, second = max(
        itertools.combinations(range(len(labels)), 2),
        key=lambda pair: abs(np.linalg.det(steps[list(pair)])),
        default=(0, 0),
    )
    basis = steps[[first, second]]
    if abs(np.linalg.det(basis)) < 1e-9:
        return None
    points, steps = points @ np.linalg.inv(basis), steps @ np.linalg.inv(basis)
    lengths = np.array([[u * u, 2 * u * v, v * v] for u, v in steps])
    form = np.linalg.lstsq(lengths, np.ones(len(steps)), rcond=None)[0]
    metric = np.array([[form[0], form[1]], [form[1], form[2]]])
    if np.linalg.eigvalsh(metric).min() < 1e-3:
        return None
    points = points @ np.linalg.cholesky(metric)
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2) + 9 * np.eye(count)
    return _upright(points / gaps.min()) if gaps.min() > 1e-3 else None


def _is_partial_map(pairs: list[Edge]) -> bool:
    distinct = set(pairs)
    return len({a for a, _ in distinct}) == len(distinct) == len({b for _, b in distinct})


def _by_distance(names: list[str], neighbours: Mapping[str, set[str]]) -> Points:
    """Returns places whose distances approximate those of the graph.

    Classical scaling, then stress majorisation (E. Gansner, Y. Koren and S. North, "Graph drawing by stress
    majorization", 2004).
    """
    count = len(names)
    index = {name: position for position, name in enumerate(names)}
    steps = np.zeros((count, count))
    for name in names:
        distance = {name: 0}
        pending = deque([name])
        while pending:
            current = pending.popleft()
            for other in neighbours[current]:
                if other not in distance:
                    distance[other] = distance[current] + 1
                    pending.append(other)
        for other, far in distance.items():
            steps[index[name], index[other]] = far
    centred = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-centred @ (steps**2) @ centred / 2)
    points = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.01))
    # Fix the signs, and break exact alignments.
    points *= np.where(points[np.abs(points).argmax(axis=0), [0, 1]] < 0, -1, 1)
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
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2) + 9 * np.eye(count)
    return _upright(points / max(gaps.min(), 0.3))


def _circle(count: int) -> Points:
    """Returns places on a circle, one cell apart."""
    angles = np.arange(count) * 2 * math.pi / count
    radius = 1 / (2 * math.sin(math.pi / max(count, 2)))
    return np.stack([radius * (1 + np.cos(angles)), radius * (1 + np.sin(angles))], axis=1)


def _upright(points: Points) -> Points:
    """Rotates the places so that many squares stand in rows, and moves the first row and column to 0."""
    best, best_score = points, -math.inf
    for degrees in range(0, 180, 15):
        angle = math.radians(degrees)
        turned = points @ np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
        rows = len(set(np.round(turned[:, 1] * 4).astype(int).tolist()))
        width, height = np.ptp(turned, axis=0)
        score = -rows - 0.5 * max(0.0, height / max(width, 0.1) - 1)
        if score > best_score + 1e-6:
            best, best_score = turned, score
    lowest: Points = best.min(axis=0)
    return best - lowest
