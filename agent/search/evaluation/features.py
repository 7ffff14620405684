"""Features of a state: the facts that hold, and how close it is to the conditions of the rules.

The rules of `terminal` and `goal` often ask for several facts at once: four discs in a row, a piece on each of some
cells. Such conjunctions are read off the circuit. A conjunction that lacks one or two facts counts, unless a blocker
holds: a fact after which, in random play, a missing fact never came true. (Goal formulas as evaluation: Schiffel and
Thielscher, Fluxplayer, 2007.) A single missing fact is a threat, with a weight by its place (as odd and even threats in
connect four; Allis 1988). Games without conjunctions use pairs of neighbouring facts instead (see `pairs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.evaluation import pairs
from agent.search.evaluation.pairs import Pairs
from agent.search.evaluation.rivals import find_rivals
from games.gdl.running.batches import facts_in
from games.gdl.running.layout import FIRST_FLUENT, CircuitPrograms, GateProgram, gates_of
from games.gdl.running.machine import CircuitMachine
from games.machine import Term

MAX_FLUENTS = 1500
"""Limit on fluents with a weight each: the time of a fit grows with the third power."""
MIN_FACTS, MAX_FACTS = 3, 7
"""Smallest and largest conjunction considered: smaller ones are too common."""
MISSING = 2
"""Highest number of missing facts: the kernel counts to 3."""
MAX_CONJUNCTIONS = 2000
"""Limit on conjunctions, above which none are used: they would take more time than the circuit."""
MAX_OWN_WEIGHTS = 400
"""Limit on conjunctions with weights of their own, above which they share those of their pattern; and on threats."""
MAX_EDGES = 300_000
"""Limit on gate inputs of a program searched for conjunctions: the search runs in Python."""
MAX_FLUENTS_OF_PAIRS = 400
"""Limit on fluents, above which pairs are not used: a fit would take too long."""
SEEN = 12
"""Matches in which both facts must have come true."""


class Conjunctions(NamedTuple):
    """Sets of facts and their blockers, for kernels. Set c is `fact[first[c] : first[c + 1]]`."""

    first: NDArray[np.int32]
    """(n + 1)"""
    fact: NDArray[np.int32]
    """Indices of fluents."""
    blocked_first: NDArray[np.int32]
    """(n + 1) the same for `blocker`."""
    blocker: NDArray[np.int32]
    """Indices of fluents: a set is out of reach while one of its blockers holds."""
    far: NDArray[np.int32]
    """(n) row of weights of a set that lacks two facts."""
    near: NDArray[np.int32]
    """(n) the same of a set that lacks one fact."""
    threat: NDArray[np.int32]
    """(facts) by place in `fact`: row of weights of a set that lacks only that fact, beside `near`; or none."""


@dataclass(frozen=True)
class Features:
    """The features of a game's states: its fluents or patterns of them, then conjunctions, threats and pairs."""

    n_fluents: int
    shares: NDArray[np.float32] | None
    """(fluents, patterns) whether a fact matches a pattern. None where each fluent has a weight of its own (up to
    `MAX_FLUENTS`)."""
    first: NDArray[np.int32]
    fact: NDArray[np.int32]
    blocked_first: NDArray[np.int32]
    blocker: NDArray[np.int32]
    column: NDArray[np.int32]
    """(conjunctions, MISSING) the feature of a conjunction that lacks one fact, two facts."""
    threat: NDArray[np.int32]
    """(facts) by place in `fact`: the further feature of a conjunction that lacks only that fact. Empty where there are
    too many."""
    pair: NDArray[np.int32]
    """(pairs, 2) facts that count together where both hold; the last features."""
    patterns: NDArray[np.float32]
    """(features, features) the number of patterns that two features share."""

    @property
    def n(self) -> int:
        """Number of features."""
        return len(self.patterns)

    @property
    def for_search(self) -> Features:
        """A copy for searching only, without the data of learning."""
        return replace(self, patterns=np.zeros((self.n, 0), np.float32))

    @property
    def n_single(self) -> int:
        """Number of features that are not pairs."""
        return self.n - len(self.pair)

    def kernel_form(self) -> tuple[Conjunctions, Pairs]:
        """Returns conjunctions and pairs for kernels; see `kernel_rows`."""
        rest = self.n_fluents - self.n_base
        column, threat = self.column + rest, self.threat + rest
        near, far = (np.ascontiguousarray(column[:, missing]) for missing in range(MISSING))
        conjunctions = Conjunctions(self.first, self.fact, self.blocked_first, self.blocker, far, near, threat)
        return conjunctions, pairs.kernel_form(self.pair, self.n_fluents, self.n_single + rest)

    @property
    def n_base(self) -> int:
        """Number of features that stand for fluents."""
        return self.n_fluents if self.shares is None else self.shares.shape[1]

    def kernel_rows(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Returns the rows of all fluents, then of other features, by the rows (features, ...) of features."""
        if self.shares is None:
            return rows
        return np.concatenate([self.shares @ rows[: self.n_base], rows[self.n_base :]])


def find_features(machine: CircuitMachine, known: Callable[[], NDArray[np.int32]] | None = None) -> Features:
    """Returns the features of a game, by its circuit and some random matches.

    Pairs (n, 2), where used, come from `known`, or else from random play.
    """
    fluents = machine.game.fluents
    n = len(fluents)
    sets = find_conjunctions(machine.programs)
    blockers = _blockers(machine, sets)
    own = len(sets) <= MAX_OWN_WEIGHTS
    members: dict[tuple[object, ...], list[int]] = {}
    column = np.zeros((len(sets), MISSING), np.int32)
    shares = _shares(fluents) if n > MAX_FLUENTS else None
    count = before = n if shares is None else shares.shape[1]
    shared: dict[tuple[object, ...], int] = {}
    for c, chosen in enumerate(sets):
        signature = _signature([fluents[f] for f in chosen])
        for k in range(MISSING):
            keys = [(len(chosen), k, relation, *common) for relation, *common in signature]
            place = count if own else shared.setdefault(tuple(keys[-1:]), count)
            column[c, k] = place
            if place == count:
                count += 1
                for key in keys:
                    members.setdefault(key, []).append(place)
    fact = np.array([f for chosen in sets for f in chosen], np.int32)
    threats, place_of = np.unique(fact, return_inverse=True)
    if len(threats) > MAX_OWN_WEIGHTS:
        threats, place_of = threats[:0], place_of[:0]
    pair = np.zeros((0, 2), np.int32)
    if not sets and n <= MAX_FLUENTS_OF_PAIRS:
        pair = known() if known is not None else pairs.find_pairs(machine)
    last = count + len(threats)
    total = last + len(pair)
    patterns = np.zeros((total, total), np.float32)
    patterns[:before, :before] = shared_patterns(fluents) if shares is None else np.identity(before)
    for group in members.values():
        if len(group) > 1:
            patterns[np.ix_(group, group)] += 1
    if len(threats):
        patterns[count:last, count:last] = shared_patterns([fluents[f] for f in threats])
    patterns[last:, last:] = pairs.shared_patterns(fluents, pair)
    return Features(
        n,
        shares,
        _offsets(sets),
        fact,
        _offsets(blockers),
        np.array([f for some in blockers for f in some], np.int32),
        column,
        (count + place_of).astype(np.int32),
        pair,
        patterns,
    )


def shared_patterns(fluents: Sequence[Term]) -> NDArray[np.float32]:
    """Returns (fluents, fluents) the number of patterns that two facts share.

    A pattern is a relation with none, one or two arguments given; one of a single fact does not count.
    """
    members: dict[tuple[object, ...], list[int]] = {}
    for index, fluent in enumerate(fluents):
        if not isinstance(fluent, tuple):
            continue
        arguments = list(enumerate(fluent[1:], 1))
        for size in range(min(3, len(arguments))):
            for chosen in combinations(arguments, size):
                members.setdefault((fluent[0], len(fluent), *chosen), []).append(index)
    shared = np.zeros((len(fluents), len(fluents)), np.float32)
    for group in members.values():
        if len(group) > 1:
            shared[np.ix_(group, group)] += 1
    return shared


def _shares(fluents: Sequence[Term]) -> NDArray[np.float32]:
    """Returns `Features.shares`: patterns are relations with up to two arguments given; the largest ones."""
    members: dict[tuple[object, ...], list[int]] = {}
    for index, fluent in enumerate(fluents):
        arguments = list(enumerate(fluent[1:], 1)) if isinstance(fluent, tuple) else []
        relation = (fluent[0], len(fluent)) if isinstance(fluent, tuple) else (fluent, 0)
        for size in range(min(3, len(arguments) + 1)):
            for chosen in combinations(arguments, size):
                members.setdefault((*relation, *chosen), []).append(index)
    largest = sorted(members.values(), key=len, reverse=True)[:MAX_FLUENTS]
    shares = np.zeros((len(fluents), len(largest)), np.float32)
    for column, group in enumerate(largest):
        shares[group, column] = 1
    return shares


def find_conjunctions(programs: CircuitPrograms) -> list[tuple[int, ...]]:
    """Returns the sets of fluents (by index) that `terminal` and the goals ask for; none above MAX_CONJUNCTIONS."""
    found: set[frozenset[int]] = set()
    n = len(programs.next_slot)
    for program, outputs in ((programs.legal, [programs.terminal_slot]), (programs.goal, programs.goal_slot.tolist())):
        if len(program.inputs) <= MAX_EDGES:
            found.update(_conjunctions(program, outputs, n))
    by_fact: dict[int, list[frozenset[int]]] = {}
    for chosen in found:
        for fact in chosen:
            by_fact.setdefault(fact, []).append(chosen)
    # A part of a larger one comes only from factoring the circuit.
    whole = [chosen for chosen in found if not any(chosen < other for other in by_fact[min(chosen)])]
    return sorted(tuple(sorted(chosen)) for chosen in whole) if len(whole) <= MAX_CONJUNCTIONS else []


def _conjunctions(program: GateProgram, outputs: Sequence[int], n_fluents: int) -> Iterator[frozenset[int]]:
    """Yields the conjunctions among the gates that the outputs (slots) depend on."""
    gates = list(gates_of(program))
    needed = set(outputs)
    for out, _, inputs in reversed(gates):
        if out in needed:
            needed.update(inputs)
    facts: dict[int, frozenset[int]] = {FIRST_FLUENT + f: frozenset((f,)) for f in range(n_fluents)}
    for out, flip, inputs in gates:
        if out not in needed or not all(slot in facts for slot in inputs):
            continue
        chosen = frozenset().union(*[facts[slot] for slot in inputs])
        if len(chosen) > MAX_FACTS:
            continue
        if not flip:
            facts[out] = chosen
        if len(chosen) >= MIN_FACTS:
            yield chosen


def _signature(facts: Sequence[Term]) -> list[tuple[object, ...]]:
    """Returns the common part of these facts: their relation, alone and with each argument that they share."""
    shapes = {(fact[0], len(fact)) if isinstance(fact, tuple) else (fact, 0) for fact in facts}
    if len(shapes) > 1 or not all(isinstance(fact, tuple) for fact in facts):
        return [(None,)]
    ((relation, size),) = shapes
    common = [(i, facts[0][i]) for i in range(1, size) if all(fact[i] == facts[0][i] for fact in facts)]
    return [(relation,), *[(relation, i, value) for i, value in common]]


def _blockers(machine: CircuitMachine, sets: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Returns the blockers of each set: facts after which one of its facts never comes true."""
    if not sets:
        return []
    positions = machine.sample.first(pairs.MATCHES)
    bits = facts_in(positions.states, len(machine.game.fluents))
    wanted = np.unique([f for chosen in sets for f in chosen])
    rivals = find_rivals(machine.game.fluents)
    followed = np.zeros((len(wanted), bits.shape[1]), np.float32)
    seen = np.zeros(bits.shape[1], np.int64)
    cuts = np.flatnonzero(np.diff(positions.match)) + 1
    for match in np.split(bits, cuts):
        before = np.maximum.accumulate(match, axis=0).astype(np.float32)
        seen += match.any(axis=0)
        followed += match[1:, wanted].astype(np.float32).T @ before[:-1]
    place = {int(f): i for i, f in enumerate(wanted)}

    def apart(f: int, g: int) -> bool:
        """Whether neither came true after the other."""
        return followed[place[f], g] == 0 and (g not in place or followed[place[g], f] == 0)

    return [
        sorted({g for f in chosen for g in rivals[f] if min(seen[f], seen[g]) >= SEEN and apart(f, g)})
        for chosen in sets
    ]


def _offsets(sets: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    return np.concatenate(([0], np.cumsum([len(chosen) for chosen in sets]))).astype(np.int32)
