"""`CircuitMachine`: the `StateMachine` of a game compiled to a circuit, for one state and for batches of states."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from games.bits.words import aligned_words
from games.gdl.circuit.circuit import Circuit, with_factors
from games.gdl.running import kernels
from games.gdl.running.batches import (
    MatchPositions,
    bits_of,
    enter_lanes,
    facts_in,
    load_initial,
    load_lanes,
    packed,
    random_ply,
    read_goals_of_lanes,
    read_lanes,
)
from games.gdl.running.kernels import ALL, NARROW, WIDE
from games.gdl.running.layout import SLOT_TRUE, CircuitPrograms, lay_out, scale_of
from games.gdl.running.playouts import new_move_workspace, new_playout_workspace, play_out
from games.machine import IllegalMoveError, State, StateMachine, Term, UnknownFactError

SAMPLED_MATCHES, SAMPLED_PLIES, SAMPLED_FACTS = 512, 400, 20_000_000
"""Most matches of `CircuitMachine.sample`, most plies of each, and most facts of all their positions."""


@dataclass(frozen=True)
class CompiledGame:
    """A compiled game as plain data, cheap to send between processes."""

    roles: tuple[Term, ...]
    fluents: list[Term]
    """Facts that change, by bit of the packed state."""
    always: list[Term]
    """Facts that are true in every reachable state."""
    moves: list[list[Term]]
    """Moves by role and index."""
    goals: list[list[int]]
    """Goal values by role, ascending."""
    programs: CircuitPrograms
    circuit: Circuit
    """Where the programs come from, before it was factored."""
    stage_seconds: Mapping[str, float] = field(default_factory=dict)
    """Seconds of grounding, circuit and layout, where they were measured."""
    freed: CompiledGame | None = None
    """The game in which every fact may hold at first, where it was asked for (see `games.native.midway`)."""
    lean: CompiledGame | None = None
    """The same moves, ends and goals over some of the facts, where that saves much (see `games.gdl.lean.game`)."""

    @property
    def edges(self) -> int:
        """Gate inputs of all three programs, the size of the circuit."""
        return len(self.programs.legal.inputs) + len(self.programs.next.inputs) + len(self.programs.goal.inputs)


def compiled_game(circuit: Circuit) -> CompiledGame:
    """Factors a circuit and lays it out for the kernels."""
    parts = circuit.roles, circuit.fluents, circuit.always, circuit.moves, circuit.goals
    return CompiledGame(*parts, lay_out(with_factors(circuit)), circuit)


class PlayoutStatistics(NamedTuple):
    """Counts of `CircuitMachine.random_playouts`."""

    playouts: int
    transitions: int
    dead_ends: int
    """Playouts that stopped because a role had no legal move before the end."""
    goal_sums: NDArray[np.float64]
    goal_squares: NDArray[np.float64]
    cpu_seconds: float


class _Evaluated(NamedTuple):
    """A state, and the slots (uint64[n_slots]) after the legal program with it in lane 0."""

    state: State
    slots: NDArray[np.uint64]


class CircuitMachine(StateMachine):
    """States are packed bits: `bytes` of ceil(n_fluents / 64) little-endian words. Thread-safe."""

    def __init__(self, game: CompiledGame) -> None:
        self.game = game
        self.programs = game.programs
        self.roles = game.roles
        self.words = (len(game.fluents) + 63) // 64 or 1
        self.goal_scale = scale_of(game.goals)
        self._goals = np.array([*chain(*game.goals), math.nan])
        self._index = {fact: i for i, fact in enumerate(game.fluents)}
        self._always = frozenset(game.always)
        self._move_index = [{move: i for i, move in enumerate(moves)} for moves in game.moves]
        self._own = threading.local()
        self.freed = None if game.freed is None else CircuitMachine(game.freed)
        self.lean: CircuitMachine | None = None
        """The machine that searches use; its states are those of `lean_state`, its moves have the same numbers."""
        if game.lean is not None:
            self.lean = CircuitMachine(game.lean)
            self._lean_facts = np.array([self._index[fact] for fact in game.lean.fluents], np.int64)

    @property
    def searched(self) -> CircuitMachine:
        """The machine that searches use: the lean one where there is one, else this one."""
        return self.lean or self

    # -- one state ----------------------------------------------------------------------------------------------------

    def initial(self) -> State:
        return packed(self.programs.initial != 0).tobytes()

    def legal(self, state: State, role: int) -> list[Term]:
        slots = self._legal_slots(state)
        begin, end = self.programs.role_start[role : role + 2]
        open_moves = np.flatnonzero(slots[self.programs.legal_slot[begin:end]] & np.uint64(1))
        moves = self.game.moves[role]
        return [moves[i] for i in open_moves]

    def next(self, state: State, joint_move: Sequence[Term]) -> State:
        """The state after one move per role, legal or not: the manager's joint move is the truth.

        Raises `IllegalMoveError` for a wrong number of moves, and for a move that is never legal for its role (unless
        the role has no legal move in this state: it does nothing then).
        """
        if len(joint_move) != len(self.roles):
            raise IllegalMoveError(f"a joint move has {len(self.roles)} moves, not {len(joint_move)}")
        slots = self._legal_slots(state)
        joint = np.full((1, len(self.roles)), -1, np.int32)
        start = self.programs.role_start
        for role, move in enumerate(joint_move):
            if (slots[self.programs.legal_slot[start[role] : start[role + 1]]] & np.uint64(1)).any():
                joint[0, role] = self.move_index(role, move)
        enter_lanes(self.programs, slots, joint)
        kernels.evaluate(self.programs.next, slots, NARROW)
        return self._pack(slots[self.programs.next_slot] & np.uint64(1))

    def terminal(self, state: State) -> bool:
        return bool(self._legal_slots(state)[self.programs.terminal_slot] & np.uint64(1))

    def goal_values(self, state: State, role: int) -> list[int]:
        slots = self._goal_slots(self.pack(state)[None, :])
        mine = self.programs.goal_slot[self.programs.goal_role == role]
        holds = slots[mine] & np.uint64(1)
        return sorted({value for value, held in zip(self.game.goals[role], holds.tolist(), strict=True) if held})

    def facts(self, state: State) -> frozenset[Term]:
        bits = np.unpackbits(np.frombuffer(self._bytes(state), np.uint8), bitorder="little")
        return self._always.union(self.game.fluents[i] for i in np.flatnonzero(bits))

    def state(self, facts: Iterable[Term]) -> State:
        holds = np.zeros(len(self.game.fluents), np.bool_)
        known = set()
        for fact in facts:
            index = self._index.get(fact)
            if index is not None:
                holds[index] = True
            elif fact in self._always:
                known.add(fact)
            else:
                raise UnknownFactError(f"no state of this game can hold {fact!r}")
        if len(known) < len(self._always):
            raise UnknownFactError(f"every state of this game holds {next(iter(self._always - known))!r}")
        return packed(holds).tobytes()

    def move_index(self, role: int, move: Term) -> int:
        """The index of a move in `game.moves[role]`. Raises `IllegalMoveError` if it is never legal for the role."""
        index = self._move_index[role].get(move)
        if index is None:
            raise IllegalMoveError(f"role {self.roles[role]!r} can never play {move!r}")
        return index

    def pack(self, state: State) -> NDArray[np.uint64]:
        """A state for the kernels: uint64[words]."""
        return self._unpack(state).copy()

    def unpack(self, words: NDArray[np.uint64]) -> State:
        """The state of packed words; the inverse of `pack`."""
        return np.ascontiguousarray(words, np.uint64).tobytes()

    def lean_state(self, state: State) -> State:
        """The state of the `lean` machine in a state of this one."""
        return self.unpack(self.lean_states(self._unpack(state)))

    # -- batches ------------------------------------------------------------------------------------------------------

    def legal_of(self, states: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Legal moves (n, moves of all roles in order) and terminal (n) of packed states (n, words)."""
        legal = np.zeros((len(states), len(self.programs.legal_slot)), np.bool_)
        terminal = np.zeros(len(states), np.bool_)
        slots = self._new_slots(self.programs.n_slots)
        for begin in range(0, len(states), 64):
            part = states[begin : begin + 64]
            load_lanes(len(self.game.fluents), slots, part)
            kernels.evaluate(self.programs.legal, slots, NARROW)
            read_lanes(slots, self.programs.legal_slot, legal[begin : begin + 64])
            over = slots[self.programs.terminal_slot : self.programs.terminal_slot + 1]
            terminal[begin : begin + 64] = bits_of(over)[0, : len(part)]
        return legal, terminal

    def next_of(self, states: NDArray[np.uint64], joint: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Successors (n, words) of packed states under joint moves (n, roles) of move indices; -1 for no move."""
        result = np.zeros((len(states), self.words), np.uint64)
        slots = self._new_slots(self.programs.n_slots)
        for begin in range(0, len(states), 64):
            part = states[begin : begin + 64]
            load_lanes(len(self.game.fluents), slots, part)
            kernels.evaluate(self.programs.legal, slots, NARROW)
            enter_lanes(self.programs, slots, joint[begin : begin + 64])
            kernels.evaluate(self.programs.next, slots, NARROW)
            facts = np.empty((len(part), len(self.game.fluents)), np.bool_)
            read_lanes(slots, self.programs.next_slot, facts)
            result[begin : begin + 64] = packed(facts)
        return result

    def lean_states(self, states: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Packed states (..., words) as those of the `lean` machine."""
        return packed(facts_in(states, len(self.game.fluents))[..., self._lean_facts])

    def worths(self, role: int) -> list[float]:
        """The worths, 0..100 on `goal_scale`, of what a role can get, ascending: of 0 points, too, if others are
        negative."""
        without = {0} if self.goal_scale.least < 0 or not self.game.goals[role] else set()
        return sorted(map(self.goal_scale.worth, without.union(self.game.goals[role])))

    def worths_of(self, states: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Worths (n, roles) of the goals of packed states (n, words), 0..100 on `goal_scale`."""
        return self.programs.goal_value[self._goal_numbers(states)]

    def goals_of(self, states: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Goals (n, roles) of packed states (n, words); NaN where `goal` would be None."""
        return self._goals[self._goal_numbers(states)]

    def _goal_numbers(self, states: NDArray[np.uint64]) -> NDArray[np.intp]:
        """See `read_goals_of_lanes`."""
        result = np.zeros((len(states), len(self.roles)), np.intp)
        for begin in range(0, len(states), 64):
            part = states[begin : begin + 64]
            result[begin : begin + 64] = read_goals_of_lanes(self.programs, self._goal_slots(part), len(part))
        return result

    def _goal_slots(self, states: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The slots after the goal program with packed states (n <= 64, words) in lanes 0, 1, ..."""
        slots = self._new_slots(self.programs.n_goal_slots)
        load_lanes(len(self.game.fluents), slots, states)
        kernels.evaluate(self.programs.goal, slots, NARROW)
        return slots

    @cached_property
    def sample(self) -> MatchPositions:
        """Random matches, as of `random_matches`: what a look at random play tells of a game, it tells of these.

        They are played once, and are the same on every machine: as many as take about 0.1 s, up to `SAMPLED_MATCHES`.
        """
        # A position costs a byte for each fact, and time for each gate input: some 256 of them as much as a fact.
        most = SAMPLED_FACTS // (len(self.game.fluents) + self.game.edges // 256 + 1)
        return self.random_matches(SAMPLED_MATCHES, 1, max_plies=SAMPLED_PLIES, most_positions=most)

    def random_matches(
        self, matches: int, seed: int, *, max_plies: int = 1000, most_positions: float = math.inf
    ) -> MatchPositions:
        """All positions of `matches` uniformly random matches, each cut after `max_plies` plies or at a dead end.

        Fewer matches once there are `most_positions`: they are played 64 at a time, the first 64 in any case.
        """
        parts = list(self._match_parts(matches, seed, max_plies, most_positions))
        order = np.argsort(np.concatenate([part.match for part in parts]), kind="stable")
        return MatchPositions(*(np.concatenate([part[i] for part in parts])[order] for i in range(4)))

    def _match_parts(self, matches: int, seed: int, max_plies: int, most: float) -> Iterator[MatchPositions]:
        slots = aligned_words(self.programs.n_slots)
        workspace = new_move_workspace(self.programs, 1, seed)
        played = 0
        for begin in range(0, matches, 64):
            if begin and played >= most:
                return
            lanes = min(64, matches - begin)
            active = (1 << lanes) - 1
            load_initial(self.programs, slots)
            for ply in range(max_plies + 1):
                if not active:
                    break
                positions, active = random_ply(self.programs, slots, workspace, active)
                if ply == max_plies:
                    positions.joint[:] = -1
                played += len(positions.match)
                yield positions._replace(match=positions.match + begin)

    def random_playouts(
        self,
        *,
        playouts: int | None = None,
        seconds: float | None = None,
        seed: int = 1,
        stop: NDArray[np.uint8] | None = None,
    ) -> PlayoutStatistics:
        """Plays random matches from the initial state to the end.

        Either `playouts` of them (at least one per lane), or for `seconds` of this thread's CPU time. Setting `stop`
        (uint8[1]) ends it. Eight words of lanes are faster than one on circuits of every size.
        """
        n_roles = len(self.roles)
        # Sums are of the rules' own numbers.
        programs = self.programs._replace(goal_value=self._goals)
        workspace = new_playout_workspace(self.programs, len(WIDE), seed)
        sums, squares = np.zeros(n_roles), np.zeros(n_roles)
        if stop is None:
            stop = np.zeros(1, np.uint8)
        count = playouts if playouts is not None else 64 * len(WIDE)
        total = np.zeros(3, np.int64)
        begin = time.thread_time()
        while True:
            played = play_out(programs, WIDE, workspace, count, sums, squares, stop)
            total += played
            spent = time.thread_time() - begin
            if stop[0] or seconds is None or spent >= seconds:
                break
            rate = played[0] * max(1, total[0] // max(1, played[0])) / max(spent, 1e-9)
            count = max(64 * len(WIDE), min(8 * count, int(rate * (seconds - spent))))
        return PlayoutStatistics(int(total[0]), int(total[1]), int(total[2]), sums, squares, spent)

    # -- internals ----------------------------------------------------------------------------------------------------

    @staticmethod
    def _bytes(state: State) -> bytes:
        assert isinstance(state, bytes)
        return state

    def _unpack(self, state: State) -> NDArray[np.uint64]:
        return np.frombuffer(self._bytes(state), np.uint64)

    def _pack(self, bits: NDArray[np.uint64]) -> State:
        return packed(bits != 0).tobytes()

    def _new_slots(self, n_slots: int) -> NDArray[np.uint64]:
        slots = aligned_words(n_slots)
        slots[SLOT_TRUE] = ALL
        return slots

    def _legal_slots(self, state: State) -> NDArray[np.uint64]:
        """The slots after the legal program with this state in lane 0, cached per thread."""
        cached: _Evaluated | None = getattr(self._own, "cached", None)
        if cached is not None and cached.state == state:
            return cached.slots
        slots = self._new_slots(self.programs.n_slots) if cached is None else cached.slots
        self._own.cached = None
        load_lanes(len(self.game.fluents), slots, self.pack(state)[None, :])
        kernels.evaluate(self.programs.legal, slots, NARROW)
        self._own.cached = _Evaluated(state, slots)
        return slots

    def __getstate__(self) -> CompiledGame:
        return self.game

    def __setstate__(self, game: CompiledGame) -> None:
        self.__init__(game)  # type: ignore[misc]
