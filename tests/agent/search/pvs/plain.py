"""The kernels' results, computed in plain Python on `CircuitMachine`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from agent.search.alphabeta.table import new_table
from agent.search.evaluation.features import Features
from agent.search.evaluation.network import LOGIT, MOST, MOVERS, WIN, NetworkEvaluation, linear_evaluation
from agent.search.pvs.analysis import PvsSearcher
from agent.search.pvs.search import MOST_FORCED
from agent.search.pvs.workspace import BOTH, CHANGES, NOBODY, PLIES, QUIET, UNKNOWN
from games.bits.short_rows import COLUMNS, FULL_SHIFT
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term
from tests.agent.search.features import features_of


def new_searcher(
    machine: CircuitMachine,
    seed: int,
    *,
    quiescence: bool = False,
    features: Features | None = None,
    units: bool = True,
) -> PvsSearcher:
    """A searcher with a random evaluation, with hidden units or linear; without quiescence no change of it counts as
    large."""
    rng = np.random.default_rng(seed)
    features = features or features_of(machine)
    zobrist = rng.integers(0, 1 << 64, len(machine.game.fluents), np.uint64)
    searcher = PvsSearcher(machine, features, new_table(1), zobrist)
    searcher.set_evaluation(random_evaluation(features, rng) if units else whole_weights(features, rng))
    if not quiescence:
        searcher.work.counts[CHANGES] = 1 << 60
    return searcher


def random_evaluation(features: Features, rng: np.random.Generator) -> NetworkEvaluation:
    """An evaluation all of whose parts count, of some hundred units a move."""
    rows = rng.normal(0, 300 / LOGIT, (features.n, COLUMNS)).astype(np.float32)
    base = np.full(COLUMNS, 0.5, np.float32)
    base[0] = 0
    return NetworkEvaluation(rows, base, rng.normal(0, 300 / LOGIT, (MOVERS, COLUMNS)).astype(np.float32))


def whole_weights(features: Features, rng: np.random.Generator) -> NetworkEvaluation:
    """A linear evaluation of whole units of `scale`."""
    weights = rng.integers(-300, 300, features.n)
    return linear_evaluation(weights / LOGIT, int(rng.integers(-300, 300)) / LOGIT)


def bits_of(machine: CircuitMachine, state: State) -> NDArray[np.bool_]:
    """(fluents) the facts that hold."""
    packed = machine.pack(state).view(np.uint8)
    return np.unpackbits(packed, bitorder="little")[: len(machine.game.fluents)].astype(np.bool_)


@cache
def _legal(machine: CircuitMachine, state: State) -> tuple[list[Term], list[Term]]:
    """The legal moves of both roles."""
    return machine.legal(state, 0), machine.legal(state, 1)


@cache
def _result(machine: CircuitMachine, state: State) -> int:
    if not machine.terminal(state) and all(_legal(machine, state)):
        return UNKNOWN
    goals = [machine.goal(state, role) or 0 for role in (0, 1)]
    for role, sign in ((0, 1), (1, -1)):
        if goals[role] == max(machine.game.goals[role]) and goals[role] > goals[1 - role]:
            return sign * WIN
    return (goals[0] - goals[1]) * MOST // 100


@cache
def _children(machine: CircuitMachine, state: State) -> list[tuple[int, State]]:
    legal = _legal(machine, state)
    role = 0 if len(legal[0]) > 1 else 1
    found = []
    for first in legal[0]:
        for second in legal[1]:
            index = machine.move_index(role, (first, second)[role]) + int(machine.programs.role_start[role])
            found.append((index, machine.next(state, (first, second))))
    return sorted(found)


@dataclass
class Plain:
    """Scores of one game by exhaustive search; the evaluation is the searcher's."""

    machine: CircuitMachine
    searcher: PvsSearcher
    known: dict[tuple[State, int, int, int], int] = field(default_factory=dict)

    def evaluation(self, state: State) -> int:
        """The evaluation for role 0, computed from all facts."""
        game = self.searcher.game
        sets, holds = game.conjunctions, bits_of(self.machine, state)
        rows, outputs = (flat.reshape(-1, COLUMNS).astype(np.int64) for flat in (game.weights, game.outputs))
        sums = outputs[MOVERS] + rows[: len(holds)][holds].sum(axis=0)
        for c in range(len(sets.far)):
            places = range(sets.first[c], sets.first[c + 1])
            blockers = sets.blocker[sets.blocked_first[c] : sets.blocked_first[c + 1]]
            missing = [i for i in places if not holds[sets.fact[i]]]
            if not holds[blockers].any():
                if len(missing) == 2:
                    sums += rows[sets.far[c]]
                elif len(missing) == 1:
                    sums += rows[sets.near[c]]
                    sums += rows[sets.threat[missing[0]]] if len(sets.threat) else 0
        # Each pair is there twice.
        fact, other = np.repeat(np.arange(len(holds)), np.diff(game.pairs.first)), game.pairs.other
        sums += rows[game.pairs.row[(fact < other) & holds[fact] & holds[other]]].sum(axis=0)
        weights = outputs[min(self.mover(state), NOBODY)]
        units = np.clip(sums[1:], 0, 1 << FULL_SHIFT) @ weights[1:]
        return int(sums[0] + weights[0] + (units >> FULL_SHIFT))

    def judged(self, state: State) -> int:
        """The evaluation within its limits, for role 0."""
        return max(-MOST, min(MOST, self.evaluation(state)))

    def key(self, state: State) -> int:
        """The Zobrist key."""
        return int(
            np.bitwise_xor.reduce(self.searcher.game.zobrist[bits_of(self.machine, state)], initial=np.uint64(0))
        )

    def mover(self, state: State) -> int:
        """The role that has a choice, NOBODY or BOTH."""
        several = [len(moves) > 1 for moves in _legal(self.machine, state)]
        return BOTH if all(several) else several.index(True) if any(several) else NOBODY

    def result(self, state: State) -> int:
        """The score of a terminal or stuck state for role 0, else UNKNOWN."""
        return _result(self.machine, state)

    def children(self, state: State) -> list[tuple[int, State]]:
        """Moves of the role that chooses, numbered over all roles, and the states they lead to."""
        return _children(self.machine, state)

    def score(self, state: State, side: int, depth: int, ply: int = 0) -> int:
        """Negamax, from the view of `side`; later wins are worth less."""
        at = (state, side, depth, ply)
        if at not in self.known:
            self.known[at] = self._score(*at)
        return self.known[at]

    def _score(self, state: State, side: int, depth: int, ply: int) -> int:
        sign = 1 - 2 * side
        result = self.result(state)
        if result != UNKNOWN:
            if abs(result) == WIN:
                result += -ply if result > 0 else ply
            return sign * result
        mover = self.mover(state)
        if mover == BOTH or ply >= PLIES - 2:
            return sign * self.judged(state)
        if mover == 1 - side:
            return -self.score(state, 1 - side, depth, ply + 1)
        children = [child for _, child in self.children(state)]
        if mover == NOBODY:
            # Costs no depth, but ends beyond the last ply.
            if depth <= -MOST_FORCED:
                return sign * self.judged(state)
            return -self.score(children[0], 1 - side, depth - (depth <= 0), ply + 1)
        if depth <= -self.searcher.game.settings[QUIET]:
            return sign * self.judged(state)
        if depth > 1:
            return max(-self.score(child, 1 - side, depth - 1, ply + 1) for child in children)
        # The last ply is evaluated from here; below it the mover may stand pat, but sees terminal states.
        scores = [sign * self.judged(state)] if depth <= 0 else []
        for child in children:
            if self.result(child) != UNKNOWN or (depth == 1 and self.mover(child) == NOBODY):
                scores.append(-self.score(child, 1 - side, 0, ply + 1))
            elif depth == 1:
                scores.append(sign * self.judged(child))
        return max(scores)
