"""A circuit as a graph: its automorphisms are the symmetries of the rules.

Vertices are the signals with influence, the moves, the roles, and one for the end of the game. Edges connect a signal
with its inputs, a fluent with its next value, a move with its role and its legality, a set of moves with its members,
and a role with its goals. The initial state is left out: it may break a symmetry of the rules.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from games.gdl.circuit.circuit import Circuit
from games.gdl.circuit.outputs import mark_live
from games.gdl.circuit.pool import GATE, MOVE_SET, N_SIGNALS
from games.gdl.refinement import Colours, Graph
from games.roles import is_random_role

Vertices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CircuitGraph:
    """The graph, with the meaning of its vertices."""

    graph: Graph
    colours: Colours
    """uint64[vertices]: kind of each vertex."""
    edges: tuple[Vertices, Vertices, Colours]
    """Source, target, kind."""
    used: Vertices
    """Fluents that influence legal moves, goals or the end, sooner or later."""
    n_fluents: int
    fluents: Vertices
    """Vertices of the used fluents."""
    moves: Vertices
    """Vertices of all roles' moves, in order."""
    roles: Vertices


class _Edges:
    def __init__(self) -> None:
        self._parts: list[tuple[Vertices, Vertices, Colours]] = []

    def add(self, kind: str, whole: Vertices, part: Vertices, negated: NDArray[np.int64] | None = None) -> None:
        kinds = np.full(len(whole), _hash(kind), np.uint64)
        if negated is not None:
            kinds ^= np.where(negated != 0, np.uint64(_hash("negated")), np.uint64(0))
        self._parts.append((whole.astype(np.int64), part.astype(np.int64), kinds))

    def joined(self) -> tuple[Vertices, Vertices, Colours]:
        whole, part, kind = zip(*self._parts, strict=True)
        return np.concatenate(whole), np.concatenate(part), np.concatenate(kind)


def circuit_graph(circuit: Circuit) -> CircuitGraph:
    """The graph of an unfactored circuit: factoring can make alike gates differ."""
    pool, outputs = circuit.pool, circuit.outputs
    n = int(pool.counts[N_SIGNALS])
    live = _used(circuit)
    signals = np.flatnonzero(live)
    vertex = np.full(n, -1, np.int64)
    vertex[signals] = np.arange(len(signals))
    of_role = np.repeat(np.arange(len(circuit.roles)), [len(moves) for moves in circuit.moves])
    first_move = np.searchsorted(of_role, np.arange(len(circuit.roles)))
    moves = len(signals) + np.arange(len(of_role), dtype=np.int64)
    roles = len(signals) + len(moves) + np.arange(len(circuit.roles), dtype=np.int64)
    end = int(roles[-1]) + 1
    colours = [_hash(f"signal {kind}") for kind in pool.kind[signals]]
    colours += [_hash("move")] * len(moves)
    colours += [_hash(f"role {is_random_role(role)}") for role in circuit.roles]
    colours.append(_hash("terminal"))
    edges = _Edges()

    def items(kind: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The signals of a kind, repeated for each of their items, and the items."""
        chosen = signals[pool.kind[signals] == kind]
        sizes = pool.size[chosen].astype(np.int64)
        offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        found = pool.items[np.repeat(pool.start[chosen], sizes) + offsets]
        return np.repeat(chosen, sizes), found.astype(np.int64)

    # A set of half of a role's moves also stands for the other half, whichever is stored: both get a vertex.
    opposite: dict[int, int] = {}
    owners, members = items(MOVE_SET)
    for signal in np.unique(owners).tolist():
        role, size = int(pool.owner[signal]), int(pool.size[signal])
        if 2 * size == len(circuit.moves[role]):
            opposite[signal] = len(colours)
            colours.append(_hash(f"signal {MOVE_SET}"))
            inside = set(members[owners == signal].tolist())
            others = np.array([move for move in range(2 * size) if move not in inside], np.int64)
            edges.add("member", np.full(len(others), opposite[signal]), moves[first_move[role] + others])
    edges.add("member", vertex[owners], moves[first_move[pool.owner[owners]] + members])

    def connect(kind: str, whole: Vertices, literals: NDArray[np.int64]) -> None:
        signal, negated = literals >> 1, literals & 1
        part = vertex[signal]
        if opposite:
            turned = np.isin(signal, list(opposite)) & (negated == 1)
            part = np.where(turned, [opposite.get(int(one), -1) for one in signal], part)
            negated = np.where(turned, 0, negated)
        edges.add(kind, whole, part, negated)

    owners, literals = items(GATE)
    connect("input", vertex[owners], literals)
    loops = live[outputs.loop_signal]
    connect("loop", vertex[outputs.loop_signal[loops]], outputs.loop_definition[loops].astype(np.int64))
    used_fluents = np.flatnonzero(live[1 : len(circuit.fluents) + 1])
    fluents = vertex[1 + used_fluents]
    connect("next", fluents, outputs.next[used_fluents].astype(np.int64))
    connect("legal", moves, outputs.legal.astype(np.int64))
    edges.add("of", moves, roles[of_role])
    connect("terminal", np.array([end]), outputs.terminal.astype(np.int64))
    goal = 0
    for role, values in enumerate(circuit.goals):
        for value in values:
            connect(f"goal {value}", roles[role : role + 1], outputs.goal[goal : goal + 1].astype(np.int64))
            goal += 1
    joined = edges.joined()
    graph = Graph(len(colours), *joined)
    kinds = np.array(colours, np.uint64)
    return CircuitGraph(graph, kinds, joined, used_fluents, len(circuit.fluents), fluents, moves, roles)


def _used(circuit: Circuit) -> NDArray[np.bool_]:
    """bool[signals]: influence on legal moves, goals or the end, now or later."""
    outputs = circuit.outputs
    roots = np.concatenate((outputs.legal, outputs.terminal, outputs.goal))
    while True:
        live: NDArray[np.bool_] = mark_live(circuit.pool, roots, outputs.loop_signal, outputs.loop_definition)
        live[0] = True
        following = outputs.next[live[1 : len(circuit.fluents) + 1]]
        if live[following >> 1].all():
            return live
        roots = np.concatenate((roots, following))


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
