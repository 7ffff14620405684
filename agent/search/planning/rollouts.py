"""Nested rollout policy adaptation (Rosin 2011): finds good matches where the best is out of reach.

A rollout draws its moves in proportion to weights; after each round the weights of the best sequence so far are raised.
A round is 64 rollouts, one in each lane (like the stabilized version of Cazenave and Teytaud, 2020). A move's weight is
the product of two: of the move, and of the move at this ply.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agent.search.planning.plan import Findings, Known, Plan
from games.bits.arrays import allocate, array
from games.bits.compiling import KERNEL
from games.bits.inner import step
from games.bits.splitmix import random32
from games.bits.words import lowest
from games.gdl.running.batches import facts_in
from games.gdl.running.goals import read_goals
from games.gdl.running.kernels import ALL, FIRST_WORD, NARROW, ONE, ZERO, advance, clear_sets, enter_move, evaluate
from games.gdl.running.layout import FIRST_FLUENT, SLOT_TRUE, CircuitPrograms, gates_of
from games.gdl.running.machine import CircuitMachine
from games.machine import State

ROUNDS = 50
"""Rounds of a level."""

LEVELS = 3
"""Depth of nesting."""

RATE = 1.0
"""Rise of a move's logit by one adaptation (Rosin's alpha)."""

MOST_PLIES = 500
"""Plies after which a match is given up."""

MOST_WEIGHTS = 1 << 18
"""Most weights of moves at plies; games with many moves are rolled out for fewer plies."""

_EMPTY, _UNFINISHED = -math.inf, -1e18


class _Policy(NamedTuple):
    """Weights of moves, all positive."""

    of_move: NDArray[np.float64]
    """(moves)"""
    at_ply: NDArray[np.float64]
    """(plies, moves)"""


class _Work(NamedTuple):
    """Memory of the rollouts."""

    wanted: NDArray[np.int64]
    """Goal slots that the best goal needs; their number that holds breaks ties of rollouts with the same goal."""
    root: NDArray[np.uint64] = array(np.uint64, "fluents")
    """0 or all ones."""
    slots: NDArray[np.uint64] = array(np.uint64, "slots")
    goal_slots: NDArray[np.uint64] = array(np.uint64, "goal_slots")
    following: NDArray[np.uint64] = array(np.uint64, "fluents")
    """The next state."""
    keep: NDArray[np.uint64] = array(np.uint64, 1)
    """All lanes: none restarts when states advance."""
    legal: NDArray[np.int64] = array(np.int64, "moves")
    """Moves that are legal in any lane."""
    total: NDArray[np.float64] = array(np.float64, 64)
    """Per lane, the weights of its legal moves; then the rest to draw from."""
    move: NDArray[np.int32] = array(np.int32, 64, "plies")
    """Moves made."""
    length: NDArray[np.int64] = array(np.int64, 64)
    """Number of moves; 0 for a rollout without an end."""
    score: NDArray[np.float64] = array(np.float64, 64)
    """The goal, and less than one point for `wanted` slots."""
    goals: NDArray[np.float64] = array(np.float64, 1)
    rng: NDArray[np.uint64] = array(np.uint64, 1)
    """See `games.bits.splitmix`."""


class _Sequence(NamedTuple):
    moves: NDArray[np.int32]
    score: float


class Rollouts:
    """Nested rollouts of a one-player game."""

    def __init__(self, machine: CircuitMachine, seed: int = 1) -> None:
        self._machine = machine
        values = list(chain(*machine.game.goals))
        # Points of the rules, not their worth: two goals differ by at least 1.
        programs = self._programs = machine.programs._replace(goal_value=np.array([*values, 0], np.float64))
        n_fluents, n_moves = len(programs.next_slot), len(programs.legal_slot)
        plies = max(1, min(MOST_PLIES, MOST_WEIGHTS // max(1, n_moves)))
        self._work = allocate(
            _Work,
            {"wanted": np.array(_parts_of_best_goal(programs), np.int64)},
            slots=programs.n_slots,
            goal_slots=programs.n_goal_slots,
            fluents=n_fluents,
            moves=n_moves,
            plies=plies,
        )
        self._work.keep[0], self._work.rng[0] = ALL, seed
        self._policies = [_Policy(np.ones(n_moves), np.ones((plies, n_moves))) for _ in range(LEVELS)]
        self._best_goal = max(values)

    def plans(self, state: State, known: Known) -> Findings:
        """Better and better matches from a state, until the best goal is found; None after each round."""
        facts = facts_in(self._machine.pack(state), len(self._work.root))
        self._work.root[:] = np.where(facts, ALL, ZERO)
        if self._machine.terminal(state):
            return
        while known.goal < self._best_goal:
            for policy in self._policies:
                policy.of_move[:] = 1.0
                policy.at_ply[:] = 1.0
            for sequence in self._search(LEVELS - 1):
                if sequence.score >= known.goal + 1:
                    known.goal = math.floor(sequence.score)
                    yield Plan(sequence.moves.tolist(), known.goal)
                yield None
                if known.goal >= self._best_goal:
                    return

    def _search(self, level: int) -> Iterator[_Sequence]:
        """The best sequence so far after each innermost round; the last one is the best of this level."""
        policy = self._policies[level]
        best = _Sequence(np.zeros(0, np.int32), _EMPTY)
        for _ in range(ROUNDS):
            if level == 0:
                found = self._roll(policy)
                best = max(found, best, key=lambda sequence: sequence.score)
                yield best
            else:
                inner = self._policies[level - 1]
                inner.of_move[:] = policy.of_move
                inner.at_ply[:] = policy.at_ply
                for found in self._search(level - 1):
                    best = max(found, best, key=lambda sequence: sequence.score)
                    yield best
            if len(best.moves):
                _adapt(self._programs, self._work, policy, best.moves, RATE)

    def warm_up(self) -> None:
        """Makes this process compile the kernels, or load them from the cache, by one round."""
        found = self._roll(self._policies[0])
        _adapt(self._programs, self._work, self._policies[0], found.moves, RATE)

    def _roll(self, policy: _Policy) -> _Sequence:
        work = self._work
        _roll(self._programs, work, policy)
        lane = int(work.score.argmax())
        return _Sequence(work.move[lane, : work.length[lane]].copy(), float(work.score[lane]))


def _parts_of_best_goal(programs: CircuitPrograms) -> list[int]:
    """Goal slots that the best goal needs, as far as AND gates tell."""
    inputs_of = {slot: inputs for slot, flip, inputs in gates_of(programs.goal) if not flip}
    parts: set[int] = set()
    stack = [int(programs.goal_slot[programs.goal_value[:-1].argmax()])]
    while stack:
        slot = stack.pop()
        if slot in inputs_of:
            stack.extend(inputs_of[slot])
        else:
            parts.add(slot)
    return sorted(parts)


@step
def _start(root, slots, goal_slots):
    """Puts the root (uint64[fluents]) into all lanes of `slots` (uint64[n_slots]); constants into both."""
    slots[SLOT_TRUE] = ALL
    goal_slots[SLOT_TRUE] = ALL
    for f in range(len(root)):
        slots[FIRST_FLUENT + f] = root[f]


@njit(**KERNEL)
def _roll(programs, work, policy):
    """Plays a match in each lane by the policy; fills `move`, `length` and `score` of `work`.

    `programs` is a `CircuitPrograms`, `work` a `_Work`, `policy` a `_Policy`.
    """
    slots, goal_slots = work.slots, work.goal_slots
    legal, total, move, length = work.legal, work.total, work.move, work.length
    of_move, at_ply = policy.of_move, policy.at_ply
    legal_slot, set_start, set_slot = programs.legal_slot, programs.set_start, programs.set_slot
    n_fluents = len(programs.next_slot)
    _start(work.root, slots, goal_slots)
    alive = ALL
    for lane in range(64):
        length[lane] = 0
    for ply in range(move.shape[1]):
        evaluate(programs.legal, slots, NARROW)
        able = ZERO
        n = 0
        for lane in range(64):
            total[lane] = 0.0
        for m in range(len(legal_slot)):
            word = slots[legal_slot[m]] & alive
            if word != ZERO:
                legal[n] = m
                n += 1
                able |= word
                weight = of_move[m] * at_ply[ply, m]
                while word != ZERO:
                    total[lowest(word)] += weight
                    word &= word - ONE
        over = alive & (slots[programs.terminal_slot] | ~able)
        if over != ZERO:
            for f in range(FIRST_FLUENT, FIRST_FLUENT + n_fluents):
                goal_slots[f] = (goal_slots[f] & ~over) | (slots[f] & over)
            word = over
            while word != ZERO:
                length[lowest(word)] = ply
                word &= word - ONE
            alive &= ~over
        if alive == ZERO:
            break
        for lane in range(64):
            total[lane] *= np.float64(random32(work.rng)) / 4294967296.0
        clear_sets(programs.first_set, programs.n_sets, slots, NARROW)
        undecided = alive
        for i in range(n):
            m = legal[i]
            word = slots[legal_slot[m]] & undecided
            if word == ZERO:
                continue
            weight = of_move[m] * at_ply[ply, m]
            chosen = ZERO
            while word != ZERO:
                lane = lowest(word)
                word &= word - ONE
                # The last legal move stays for lanes that rounding leaves without one.
                move[lane, ply] = m
                total[lane] -= weight
                if total[lane] < 0.0:
                    chosen |= ONE << np.uint64(lane)
            undecided &= ~chosen
            if chosen != ZERO:
                enter_move(set_start, set_slot, slots, NARROW, FIRST_WORD, m, chosen)
        while undecided != ZERO:
            lane = lowest(undecided)
            undecided &= undecided - ONE
            last = ONE << np.uint64(lane)
            enter_move(set_start, set_slot, slots, NARROW, FIRST_WORD, np.int64(move[lane, ply]), last)
        evaluate(programs.next, slots, NARROW)
        advance(programs.next_slot, programs.initial, slots, NARROW, work.keep, work.following)
    goal_slot, goal_role, goal_value = programs.goal_slot, programs.goal_role, programs.goal_value
    evaluate(programs.goal, goal_slots, NARROW)
    for lane in range(64):
        if (alive >> np.uint64(lane)) & ONE != ZERO:
            work.score[lane] = _UNFINISHED
            continue
        read_goals(goal_slot, goal_role, goal_value, goal_slots, lane, work.goals)
        holding = 0
        for slot in work.wanted:
            holding += np.int64((goal_slots[slot] >> np.uint64(lane)) & ONE)
        work.score[lane] = work.goals[0] + holding / (len(work.wanted) + 1.0)


@njit(**KERNEL)
def _adapt(programs, work, policy, moves, rate):
    """Raises the weights of a sequence (int32[n]) from the root, at the cost of the other legal moves.

    `programs` is a `CircuitPrograms`, `work` a `_Work`, `policy` a `_Policy`; `rate` a float.
    """
    slots = work.slots
    of_move, at_ply = policy.of_move, policy.at_ply
    legal_slot, set_start, set_slot = programs.legal_slot, programs.set_start, programs.set_slot
    _start(work.root, slots, work.goal_slots)
    for ply in range(len(moves)):
        evaluate(programs.legal, slots, NARROW)
        total = 0.0
        for m in range(len(legal_slot)):
            if slots[legal_slot[m]] != ZERO:
                total += of_move[m] * at_ply[ply, m]
        for m in range(len(legal_slot)):
            if slots[legal_slot[m]] != ZERO:
                factor = math.exp(-rate * of_move[m] * at_ply[ply, m] / total)
                of_move[m] *= factor
                at_ply[ply, m] *= factor
        raised = math.exp(rate)
        of_move[moves[ply]] *= raised
        at_ply[ply, moves[ply]] *= raised
        clear_sets(programs.first_set, programs.n_sets, slots, NARROW)
        enter_move(set_start, set_slot, slots, NARROW, FIRST_WORD, np.int64(moves[ply]), ALL)
        evaluate(programs.next, slots, NARROW)
        advance(programs.next_slot, programs.initial, slots, NARROW, work.keep, work.following)


def warm_kernels(machine: CircuitMachine) -> None:
    """Makes this process compile the kernels, or load them from the cache, by a round on a small game."""
    Rollouts(machine).warm_up()
