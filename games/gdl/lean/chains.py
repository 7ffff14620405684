"""Labels of chains, and ends that ask for them, said without labels.

In games of connection such as Hex a *chain* is a set of connected cells of one owner. Rules that cannot be recursive in
`next` keep a label for every cell, and relabel whole chains at each move; only the end reads them: it asks whether
a label is on two sides of the board. Connection can be computed from the owners of the cells alone. That takes a tenth
of the gates, and the labels need not be kept.

Chains are recognised by behaviour, never by names. In random matches every owned cell has one label, and two adjacent
cells of an owner always the same; in positions made up, the move that takes one of them gives its label to the other.
The chains that this makes are those of the labels in every position. A query of the circuit is one for two sides if it
is true for labels on some sets of cells, and not for others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from games.gdl.circuit.builder import CircuitBuilder
from games.gdl.circuit.circuit import Circuit
from games.gdl.circuit.outputs import Outputs, mark_live
from games.gdl.circuit.pool import FALSE, FLUENT, LOOP, items_of
from games.gdl.lean.connection import connect
from games.gdl.running.batches import MatchPositions, facts_in, packed
from games.gdl.running.machine import CircuitMachine, compiled_game
from games.machine import Term

Bits: TypeAlias = NDArray[np.bool_]
Numbers: TypeAlias = NDArray[np.int64]

MOST_BITS = 10_000_000
"""Most facts times positions that are looked at."""
MOST_COMPARED = 400_000_000
"""Most pairs of owned cells times positions."""
MOST_GATES = 30_000
"""Most gates of a connection of two sides."""
LEAST_LABELS, LEAST_CELLS = 3, 4
MOST_CELLS = 512
SHARE = 0.25
"""Least share of labels among the facts: fewer are not worth the search."""
TESTS = 512
"""Positions in which the labels are replaced by one on a random set of an owner's cells."""
MOST_QUERIES, MOST_ROUNDS = 64, 4
"""Most signals examined in a round; rounds, each of the inputs of signals that were no queries."""


def without_labels(circuit: Circuit, machine: CircuitMachine, optional: Bits) -> Circuit | None:
    """The circuit with terminal and goals that read no labels of chains; None where there are none.

    The circuit must be unfactored. `machine` is the whole game's, `optional` (fluents) says which facts only the end
    depends on.
    """
    groups = _groups(circuit.fluents)
    for labels in _families(circuit.fluents, groups, optional):
        found = machine.sample
        # Mostly there are two owners.
        most = max(1, min(MOST_BITS // len(optional), MOST_COMPARED // (2 * labels.shape[1]) ** 2))
        bits = facts_in(found.states[:: len(found.states) // most + 1], len(optional))
        label = _label_of(labels, bits)
        if label is None:
            continue
        for colours in groups:
            chains = None if colours[0] in labels else _chains(labels, label, bits, colours)
            if chains is not None:
                _experiment(chains, machine, found)
                answered = _Queries(circuit, chains).answered() if _explain(chains) else None
                if answered is not None:
                    return answered
    return None


def _groups(fluents: Sequence[Term]) -> list[list[int]]:
    """Facts of one name and number of arguments."""
    groups: dict[tuple[Term, int], list[int]] = {}
    for index, fluent in enumerate(fluents):
        if isinstance(fluent, tuple):
            groups.setdefault((fluent[0], len(fluent)), []).append(index)
    return list(groups.values())


def _families(fluents: Sequence[Term], groups: Sequence[list[int]], allowed: Bits) -> Iterator[Numbers]:
    """Facts that may be labels: (labels, cells) numbers of fluents, -1 where there is none.

    They are groups, in which any argument may be the label.
    """
    for members in groups:
        if len(members) < SHARE * len(fluents) or not allowed[members].all():
            continue
        for place in range(1, len(fluents[members[0]])):
            labels: dict[Term, int] = {}
            cells: dict[Term, int] = {}
            where = []
            for index in members:
                fluent = fluents[index]
                where.append(
                    (
                        labels.setdefault(fluent[place], len(labels)),
                        cells.setdefault((*fluent[1:place], *fluent[place + 1 :]), len(cells)),
                    )
                )
            if len(labels) >= LEAST_LABELS and LEAST_CELLS <= len(cells) <= MOST_CELLS:
                found = np.full((len(labels), len(cells)), -1, np.int64)
                found[tuple(np.transpose(where))] = members
                yield found


@dataclass(frozen=True)
class _Chains:
    """Cells under an owner (*nodes*), their labels and neighbours."""

    labels: Numbers
    """(labels, nodes) the fluent of a label on the node's cell; -1 where there is none."""
    colour: Numbers
    """(nodes) the fluent that says that the owner has the cell; -1 if it always does."""
    owner: Numbers
    """(nodes) a number of the owner."""
    adjacent: Bits
    """(nodes, nodes)"""
    facts: Bits
    """(positions, fluents)"""
    label: NDArray[np.int32]
    """(positions, nodes) the label of the node's cell; -1 where the owner does not have it."""


def _label_of(labels: Numbers, bits: Bits) -> NDArray[np.int32] | None:
    """(positions, cells) each cell's label (see `_families`), -1 for none; None if a cell has two.

    `bits` is (positions, fluents).
    """
    label = np.full((len(bits), labels.shape[1]), -1, np.int32)
    for number, fluents in enumerate(labels):
        held = bits[:, fluents] & (fluents >= 0)
        if (label[held] >= 0).any():
            return None
        label[held] = number
    return label


def _chains(labels: Numbers, label: NDArray[np.int32], bits: Bits, colours: Sequence[int]) -> _Chains | None:
    """What may be chains of these labels in some positions (see `_label_of`), if `colours` are facts that tell owners.

    There may be adjacent nodes too many.
    """
    # A fact tells an owner of a cell if the cell has a label wherever it holds. Cells that are owned from the first
    # position on have no such fact.
    lasting = (label >= 0).all(axis=0)
    told = bits[:, colours].astype(np.float32)
    unlabelled = told.T @ (label < 0).astype(np.float32)
    fact, cell = np.nonzero(np.equal(unlabelled, 0) & (told.max(axis=0) > 0)[:, None] & ~lasting)
    if len(set(fact.tolist())) < len(fact) or len(fact) ** 2 * len(label) > MOST_COMPARED:
        return None
    cell = np.append(cell, np.flatnonzero(lasting))
    colour = np.append(np.array(colours, np.int64)[fact], np.full(lasting.sum(), -1))
    owned = bits[:, colour] | (colour < 0)
    count = np.zeros(label.shape, np.int32)
    for node, place in enumerate(cell.tolist()):
        count[:, place] += owned[:, node]
    if not (count == (label >= 0)).all():
        return None
    label = np.where(owned, label[:, cell], -1)
    # Nodes are adjacent if they have the same label whenever both have one.
    same = np.array([((label == one[:, None]) & (one >= 0)[:, None]).sum(axis=0) for one in label.T])
    known = (label >= 0).astype(np.float32)
    adjacent = (same > 0) & (same == known.T @ known) & ~np.eye(len(cell), dtype=np.bool_)
    return _Chains(labels[:, cell], colour, _components(same > 0), adjacent, bits, label)


def _experiment(chains: _Chains, machine: CircuitMachine, found: MatchPositions) -> None:
    """Removes pairs that are not adjacent: others connected them in all positions seen.

    In a position with one of the nodes, the move that takes the other shows whether both get the same label.
    """
    n_fluents = chains.facts.shape[1]
    inner = np.flatnonzero((found.match[:-1] == found.match[1:]) & (found.joint[:-1, 0] >= 0))
    empty = np.append(chains.labels[chains.labels >= 0], chains.colour[chains.colour >= 0])
    for node, colour in enumerate(chains.colour.tolist()):
        others = np.flatnonzero(chains.adjacent[:, node])
        if colour < 0 or not len(others):
            continue
        word, bit = colour >> 6, np.uint64(1 << (colour & 63))
        for taken in inner[(~found.states[inner, word] & found.states[inner + 1, word] & bit) != 0].tolist():
            position = facts_in(found.states[taken], n_fluents)
            held = (chains.owner == chains.owner[node]) & (position[chains.colour] | (chains.colour < 0))
            own = chains.labels[:, held]
            known = (position[own] & (own >= 0)).any(axis=1) & (chains.labels[:, others] >= 0).all(axis=1)
            if known.any():
                break
        else:
            continue
        label = int(known.argmax())
        states = np.repeat(position[None], len(others), axis=0)
        states[:, empty] = False
        states[np.arange(len(others)), chains.labels[label, others]] = True
        colours = chains.colour[others]
        states[np.flatnonzero(colours >= 0), colours[colours >= 0]] = True
        joint = np.repeat(found.joint[taken][None], len(others), axis=0)
        after = facts_in(machine.next_of(packed(states), joint), n_fluents)
        pairs = chains.labels[:, others], np.repeat(chains.labels[:, node][:, None], len(others), axis=1)
        both = [after[np.arange(len(others)), one] & (one >= 0) for one in pairs]
        apart = others[~(both[0] & both[1]).any(axis=0)]
        chains.adjacent[apart, node] = chains.adjacent[node, apart] = False


def _components(joined: Bits) -> Numbers:
    """(n) a number of each one's component in a graph (n, n)."""
    number = np.arange(len(joined))
    while True:
        least = np.where(joined | np.eye(len(joined), dtype=np.bool_), number, len(joined)).min(axis=1)
        if (least == number).all():
            return number
        number = least


def _explain(chains: _Chains) -> bool:
    """Whether each label is on one chain. By the way they were found, adjacent nodes have the same label."""
    owned = chains.label >= 0
    number = np.where(owned, np.arange(owned.shape[1]), owned.shape[1]).astype(np.int32)
    neighbours = [np.append(np.flatnonzero(row), node) for node, row in enumerate(chains.adjacent)]
    while True:
        least = np.stack([number[:, some].min(axis=1) for some in neighbours], axis=1)
        least[~owned] = owned.shape[1]
        if (least == number).all():
            break
        number = least
    firsts = (number == np.arange(owned.shape[1])) & owned
    ordered = np.sort(chains.label, axis=1)
    distinct = (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1) + 1 - (ordered[:, 0] < 0)
    return bool((firsts.sum(axis=1) == distinct).all())


class _Queries:
    """Queries of a circuit for labels on two sides."""

    def __init__(self, circuit: Circuit, chains: _Chains) -> None:
        self._circuit = circuit
        self._chains = chains
        self._rng = np.random.default_rng(1)
        self._builder = CircuitBuilder.extending(circuit.pool)
        self._connections: dict[tuple[int, bytes, bytes], int | None] = {}
        self._labels = chains.labels[chains.labels >= 0]
        self._empty = chains.facts.copy()
        """The positions, without labels and owners of cells."""
        self._empty[:, self._labels] = False
        self._empty[:, chains.colour[chains.colour >= 0]] = False
        self._owners = [self._owner(number) for number in np.unique(chains.owner).tolist()]

    def _owner(self, number: int) -> tuple[Numbers, Numbers, Numbers]:
        """The nodes of an owner; numbers (tests) of random positions, and of labels that the owner has there."""
        labels = self._chains.labels
        nodes = np.flatnonzero(self._chains.owner == number)
        label = self._chains.label[:, nodes]
        everywhere = np.append((labels[:, nodes] >= 0).all(axis=1), False)
        position, node = np.nonzero(everywhere[label])
        chosen = self._rng.choice(len(position), TESTS) if len(position) else np.zeros(0, np.int64)
        return nodes, position[chosen], label[position[chosen], node[chosen]].astype(np.int64)

    def answered(self) -> Circuit | None:
        """The circuit with terminal and goals without labels; None where that is not known."""
        pool, outputs = self._circuit.pool, self._circuit.outputs
        roots = np.concatenate((outputs.terminal, outputs.goal))
        live = np.flatnonzero(mark_live(pool, roots, outputs.loop_signal, outputs.loop_definition))
        labels = set(self._labels.tolist())
        inputs: dict[int, list[int]] = {}
        """Of signals that read labels; empty for these."""
        for signal in live.tolist():
            if pool.kind[signal] == LOOP:
                return None
            if pool.kind[signal] == FLUENT:
                if signal - 1 in labels:
                    inputs[signal] = []
                continue
            items = items_of(pool, signal).tolist()
            if any(item >> 1 in inputs for item in items):
                inputs[signal] = items
        answers: dict[int, int] = {}
        asked: set[int] = set()
        pending = {literal >> 1 for literal in roots.tolist()} & inputs.keys()
        for _ in range(MOST_ROUNDS):
            if not pending:
                break
            if len(pending) > MOST_QUERIES or not all(inputs[signal] for signal in pending):
                return None
            asked |= pending
            answers |= self._answers(sorted(pending))
            pending = {item >> 1 for signal in pending - answers.keys() for item in inputs[signal]}
            pending = (pending & inputs.keys()) - asked
        if pending:
            return None
        literals = 2 * np.arange(len(pool.kind), dtype=np.int32)
        for signal in sorted(asked):
            answer = answers.get(signal)
            if answer is None:
                answer = self._builder.both(*(int(literals[item >> 1]) ^ (item & 1) for item in inputs[signal]))
            literals[signal] = answer

        def mapped(some: NDArray[np.int32]) -> NDArray[np.int32]:
            found: NDArray[np.int32] = (literals[some >> 1] ^ (some & 1)).astype(np.int32)
            return found

        outputs = outputs._replace(terminal=mapped(outputs.terminal), goal=mapped(outputs.goal))
        return replace(self._circuit, pool=self._builder.pool, outputs=outputs)

    def _answers(self, signals: Sequence[int]) -> dict[int, int]:
        """Those of some signals that are queries, with literals without labels that mean the same."""
        none = np.zeros(0, np.int32)
        outputs = Outputs(
            legal=2 * np.array(signals, np.int32),
            next=np.full(len(self._circuit.fluents), FALSE, np.int32),
            terminal=np.array([FALSE], np.int32),
            goal=none,
            loop_signal=none,
            loop_definition=none,
        )
        # A game with a move for each signal, legal where that is true.
        moves: list[list[Term]] = [[str(signal) for signal in signals]]
        game = replace(self._circuit, roles=("",), moves=moves, goals=[[]], pool=self._builder.pool, outputs=outputs)
        machine = CircuitMachine(compiled_game(game))
        found = {}
        for place, signal in enumerate(signals):
            literal = self._answer(partial(_legality, machine, place))
            if literal is not None:
                found[signal] = literal
        return found

    def _answer(self, ask: Callable[[Bits], Bits]) -> int | None:
        """The literal of a signal, whose values in states (n, fluents) `ask` tells; None if it is no query."""
        negated = bool(ask(self._empty[:1])[0])
        parts = []
        for owner in self._owners:
            nodes, positions, _ = owner
            if not len(positions):
                return None
            holds = partial(self._holds, ask, negated, owner)
            one, other = _sides(holds, len(nodes))
            chosen = self._rng.random((TESTS, len(nodes))) < self._rng.random((TESTS, 1))
            expected = chosen[:, one].any(axis=1) & chosen[:, other].any(axis=1)
            if (holds(chosen, np.arange(TESTS)) != expected).any():
                return None
            if one.any():
                parts.append((nodes, one, other))
        literals = [self._connection(*part) for part in parts]
        known = [literal for literal in literals if literal is not None]
        return self._builder.either(*known) ^ negated if 0 < len(known) == len(literals) else None

    def _holds(
        self,
        ask: Callable[[Bits], Bits],
        negated: bool,
        owner: tuple[Numbers, Numbers, Numbers],
        chosen: Bits,
        test: Numbers | None = None,
    ) -> Bits:
        """Whether a label on chosen nodes (n, nodes) of an owner satisfies a query, in tests (n) or in the first."""
        nodes, positions, labels = owner
        which = np.zeros(len(chosen), np.int64) if test is None else test
        states = self._empty[positions[which]]
        colour = self._chains.colour[nodes]
        states[:, colour[colour >= 0]] = chosen[:, colour >= 0]
        states[np.arange(len(chosen))[:, None], self._chains.labels[labels[which]][:, nodes]] = chosen
        return np.not_equal(ask(states), negated)

    def _connection(self, nodes: Numbers, one: Bits, other: Bits) -> int | None:
        """The literal of "a chain of these nodes is on both sides" (nodes); None if it is too large."""
        key = (int(nodes[0]), one.tobytes(), other.tobytes())
        if key not in self._connections:
            neighbours = [np.flatnonzero(row).tolist() for row in self._chains.adjacent[np.ix_(nodes, nodes)]]
            # That of no fluent is the literal `TRUE`.
            cells = (2 * (self._chains.colour[nodes] + 1)).tolist()
            sides = np.flatnonzero(one).tolist(), np.flatnonzero(other).tolist()
            self._connections[key] = connect(self._builder, cells, neighbours, *sides, MOST_GATES)
        return self._connections[key]


def _legality(machine: CircuitMachine, move: int, facts: Bits) -> Bits:
    """Whether a move is legal in states (n, fluents)."""
    return machine.legal_of(packed(facts))[0][:, move]


def _sides(holds: Callable[[Bits], Bits], n: int) -> tuple[Bits, Bits]:
    """The sides (n) of a query, if it is one: `holds` tells (m) whether sets of nodes (m, n) satisfy it."""
    single = np.eye(n, dtype=np.bool_)
    both = holds(single)
    prefixes = np.tri(n, dtype=np.bool_) & ~both
    satisfied = holds(prefixes)
    if not satisfied.any():
        return both, both
    last = int(satisfied.argmax())
    first = int(holds(prefixes | single[last]).argmax())
    one, other = (holds((single | single[node]) & ~both) for node in (last, first))
    return one | both, other | both
