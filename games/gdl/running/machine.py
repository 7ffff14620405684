"""`CircuitMachine`: the `StateMachine` of a game compiled to a circuit, for one state and for batches of states."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from games.bits.words import aligned_words
from games.gdl.circuit.circuit import Circuit
from games.gdl.running import kernels
from games.gdl.running.goals import evaluate_goals, read_goals
from games.gdl.running.kernels import ALL, WIDTHS, Net, make_net
from games.gdl.running.layout import FIRST_FLUENT, SLOT_TRUE
from games.gdl.running.playouts import choose_random, make_chooser, play_out
from games.machine import IllegalMoveError, State, StateMachine, Term, UnknownFactError


@dataclass(frozen=True)
class CompiledGame:
    """All that is needed to play a compiled game; plain data, cheap to send from one process to another."""

    roles: tuple[Term, ...]
    fluents: list[Term]
    """Facts that change, by bit of the packed state."""
    always: list[Term]
    """Facts that are true in every reachable state."""
    moves: list[list[Term]]
    """Per role, by index."""
    goals: list[list[int]]
    net: Net

    @property
    def edges(self) -> int:
        """Gate inputs of all three programs: the size of the circuit."""
        return len(self.net.legal.inputs) + len(self.net.next.inputs) + len(self.net.goal.inputs)


def compiled_game(circuit: Circuit) -> CompiledGame:
    """Lays a circuit out for the kernels."""
    return CompiledGame(circuit.roles, circuit.fluents, circuit.always, circuit.moves, circuit.goals, make_net(circuit))


class Positions(NamedTuple):
    """Positions of random matches, as parallel arrays of length n."""

    states: NDArray[np.uint64]
    """(n, words) packed states."""
    joint: NDArray[np.int32]
    """(n, roles) move indices per role; -1 in positions where the match ended."""
    match: NDArray[np.int32]
    """Number of the match; positions of one match are in order."""
    terminal: NDArray[np.bool_]


class PlayoutStatistics(NamedTuple):
    """What `CircuitMachine.random_playouts` counted."""

    playouts: int
    transitions: int
    dead_ends: int
    """Playouts in which a role had no legal move before the end; they stop there."""
    goal_sums: NDArray[np.float64]
    goal_squares: NDArray[np.float64]
    cpu_seconds: float


class CircuitMachine(StateMachine):
    """States are packed bits: `bytes` of ceil(n_fluents / 64) little-endian words. Safe to use from several threads."""

    def __init__(self, game: CompiledGame) -> None:
        self.game = game
        self.net = game.net
        self.roles = game.roles
        self.words = (len(game.fluents) + 63) // 64 or 1
        self._index = {fact: i for i, fact in enumerate(game.fluents)}
        self._always = frozenset(game.always)
        self._move_index = [{move: i for i, move in enumerate(moves)} for moves in game.moves]
        self._own = threading.local()

    # -- one state ----------------------------------------------------------------------------------------------------

    def initial(self) -> State:
        bits = np.zeros(64 * self.words, np.uint8)
        bits[: len(self.game.fluents)] = self.net.initial != 0
        return np.packbits(bits, bitorder="little").tobytes()

    def legal(self, state: State, role: int) -> list[Term]:
        slots = self._legal_slots(state)
        begin, end = self.net.role_start[role : role + 2]
        open_moves = np.flatnonzero(slots[self.net.legal_slot[begin:end]] & np.uint64(1))
        moves = self.game.moves[role]
        return [moves[i] for i in open_moves]

    def next(self, state: State, joint_move: Sequence[Term]) -> State:
        """The state after one move per role, whether or not the moves are legal: the manager's joint move is the truth.

        Raises `IllegalMoveError` for a number of moves other than that of the roles, and for a move that is never legal
        for its role (unless the role has no legal move in this state: what is sent then changes nothing).
        """
        if len(joint_move) != len(self.roles):
            raise IllegalMoveError(f"a joint move has {len(self.roles)} moves, not {len(joint_move)}")
        slots = self._legal_slots(state)
        kernels.clear_sets(self.net, slots, WIDTHS[1])
        for role, move in enumerate(joint_move):
            if move not in self._move_index[role] and not self.legal(state, role):
                continue
            number = int(self.net.role_start[role]) + self.move_index(role, move)
            kernels.enter_move(self.net, slots, WIDTHS[1], 0, number, ALL)
        kernels.evaluate(self.net.next, slots, WIDTHS[1])
        return self._pack(slots[self.net.next_slot] & np.uint64(1))

    def terminal(self, state: State) -> bool:
        return bool(self._legal_slots(state)[self.net.terminal_slot] & np.uint64(1))

    def goal(self, state: State, role: int) -> int | None:
        value = int(self.goals_of(self._unpack(state)[None, :])[0, role])
        return value if value >= 0 else None

    def facts(self, state: State) -> frozenset[Term]:
        bits = np.unpackbits(np.frombuffer(self._bytes(state), np.uint8), bitorder="little")
        return self._always.union(self.game.fluents[i] for i in np.flatnonzero(bits))

    def state(self, facts: Iterable[Term]) -> State:
        bits = np.zeros(64 * self.words, np.uint8)
        known = set()
        for fact in facts:
            index = self._index.get(fact)
            if index is not None:
                bits[index] = 1
            elif fact in self._always:
                known.add(fact)
            else:
                raise UnknownFactError(f"no state of this game can hold {fact!r}")
        if len(known) < len(self._always):
            raise UnknownFactError(f"every state of this game holds {next(iter(self._always - known))!r}")
        return np.packbits(bits, bitorder="little").tobytes()

    def move_index(self, role: int, move: Term) -> int:
        """The index of a move among `game.moves[role]`; `IllegalMoveError` for one that is never legal for the role."""
        index = self._move_index[role].get(move)
        if index is None:
            raise IllegalMoveError(f"role {self.roles[role]!r} can never play {move!r}")
        return index

    def pack(self, state: State) -> NDArray[np.uint64]:
        """A state as the kernels take it: uint64[words]."""
        return self._unpack(state).copy()

    def unpack(self, words: NDArray[np.uint64]) -> State:
        """The state of packed words; the inverse of `pack`."""
        return np.ascontiguousarray(words, np.uint64).tobytes()

    # -- batches ------------------------------------------------------------------------------------------------------

    def legal_of(self, states: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Legal moves (n, moves of all roles one after the other) and terminal (n) of packed states (n, words)."""
        legal = np.zeros((len(states), len(self.net.legal_slot)), np.bool_)
        terminal = np.zeros(len(states), np.bool_)
        slots = self._scratch(self.net.n_slots)
        for begin in range(0, len(states), 64):
            part = states[begin : begin + 64]
            _load_lanes(self.net, slots, part)
            kernels.evaluate(self.net.legal, slots, WIDTHS[1])
            _read_lanes(slots, self.net.legal_slot, legal[begin : begin + 64])
            _read_lanes(slots, np.array([self.net.terminal_slot], np.int32), terminal[begin : begin + 64, None])
        return legal, terminal

    def next_of(self, states: NDArray[np.uint64], joint: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Successors (n, words) of packed states under joint moves (n, roles) of move indices."""
        result = np.zeros_like(states)
        slots = self._scratch(self.net.n_slots)
        for begin in range(0, len(states), 64):
            part = states[begin : begin + 64]
            _load_lanes(self.net, slots, part)
            kernels.evaluate(self.net.legal, slots, WIDTHS[1])
            _enter_lanes(self.net, slots, joint[begin : begin + 64])
            kernels.evaluate(self.net.next, slots, WIDTHS[1])
            bits = np.zeros((len(part), 64 * self.words), np.bool_)
            _read_lanes(slots, self.net.next_slot, bits[:, : len(self.game.fluents)])
            result[begin : begin + 64] = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
        return result

    def goals_of(self, states: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Goals (n, roles) of packed states (n, words); -1 where `goal` would be None."""
        result = np.zeros((len(states), len(self.roles)), np.int32)
        slots = self._scratch(self.net.n_goal_slots)
        for begin in range(0, len(states), 64):
            part = states[begin : begin + 64]
            _load_lanes(self.net, slots, part)
            evaluate_goals(self.net, slots, WIDTHS[1])
            _read_goals_of_lanes(self.net, slots, result[begin : begin + 64])
        return result

    def random_matches(self, matches: int, seed: int, *, max_plies: int = 1000) -> Positions:
        """All positions of `matches` uniformly random matches, each cut after `max_plies` plies or at a dead end."""
        parts = list(self._match_parts(matches, seed, max_plies))
        order = np.argsort(np.concatenate([part.match for part in parts]), kind="stable")
        return Positions(*(np.concatenate([part[i] for part in parts])[order] for i in range(4)))

    def _match_parts(self, matches: int, seed: int, max_plies: int) -> Iterator[Positions]:
        rng = np.array([seed], np.uint64)
        slots = aligned_words(self.net.n_slots)
        chooser = make_chooser(self.net)
        for begin in range(0, matches, 64):
            lanes = min(64, matches - begin)
            active = np.array([(1 << lanes) - 1], np.uint64)
            kernels.reset(self.net, slots, WIDTHS[1])
            for ply in range(max_plies + 1):
                n = int(active[0]).bit_count()
                if n == 0:
                    break
                states = np.zeros((n, self.words), np.uint64)
                joint = np.full((n, len(self.roles)), -1, np.int32)
                match = np.zeros(n, np.int32)
                over = np.zeros(n, np.bool_)
                _random_ply(self.net, slots, chooser, rng, active, states, joint, match, over)
                if ply == max_plies:
                    joint[:] = -1
                yield Positions(states, joint, match + begin, over)

    def random_playouts(
        self,
        *,
        playouts: int | None = None,
        seconds: float | None = None,
        seed: int = 1,
        width: int = 8,
        stop: NDArray[np.uint8] | None = None,
    ) -> PlayoutStatistics:
        """Plays random matches from the initial state to the end.

        Either `playouts` of them (at least one per lane), or for so many CPU seconds of this thread. `width` is in
        words of 64 lanes; 8 is faster than 1 on nets of every size. `stop` (uint8[1]) ends it when it is set.
        """
        n_roles = len(self.roles)
        slots = aligned_words(self.net.n_slots * width)
        goal_slots = aligned_words(self.net.n_goal_slots * width)
        chooser = make_chooser(self.net)
        rng = np.array([seed], np.uint64)
        sums, squares = np.zeros(n_roles), np.zeros(n_roles)
        if stop is None:
            stop = np.zeros(1, np.uint8)
        count = playouts if playouts is not None else 64 * width
        total = np.zeros(3, np.int64)
        begin = time.thread_time()
        while True:
            played = play_out(self.net, WIDTHS[width], slots, goal_slots, chooser, rng, count, sums, squares, stop)
            total += played
            spent = time.thread_time() - begin
            if stop[0] or seconds is None or spent >= seconds:
                break
            rate = played[0] * max(1, total[0] // max(1, played[0])) / max(spent, 1e-9)
            count = max(64 * width, min(8 * count, int(rate * (seconds - spent))))
        return PlayoutStatistics(int(total[0]), int(total[1]), int(total[2]), sums, squares, spent)

    # -- helpers ------------------------------------------------------------------------------------------------------

    @staticmethod
    def _bytes(state: State) -> bytes:
        assert isinstance(state, bytes)
        return state

    def _unpack(self, state: State) -> NDArray[np.uint64]:
        return np.frombuffer(self._bytes(state), np.uint64)

    def _pack(self, bits: NDArray[np.uint64]) -> State:
        padded = np.zeros(64 * self.words, np.uint8)
        padded[: len(bits)] = bits
        return np.packbits(padded, bitorder="little").tobytes()

    def _scratch(self, slots: int) -> NDArray[np.uint64]:
        scratch = aligned_words(slots)
        scratch[SLOT_TRUE] = ALL
        return scratch

    def _legal_slots(self, state: State) -> NDArray[np.uint64]:
        """The slots after the legal program with this state in lane 0; kept for the thread's next question about it."""
        cached = getattr(self._own, "cached", None)
        if cached is not None and cached[0] == state:
            return cached[1]
        slots = self._scratch(self.net.n_slots) if cached is None else cached[1]
        self._own.cached = None
        kernels.load_state(self.net, slots, WIDTHS[1], 0, self._unpack(state))
        kernels.evaluate(self.net.legal, slots, WIDTHS[1])
        self._own.cached = (state, slots)
        return slots

    def __getstate__(self) -> CompiledGame:
        return self.game

    def __setstate__(self, game: CompiledGame) -> None:
        self.__init__(game)  # type: ignore[misc]


@njit(cache=True, nogil=True)
def _load_lanes(net, slots, states):
    """States (at most 64) into lanes 0, 1, ... of slots one word wide."""
    for f in range(len(net.next_slot)):
        word = np.uint64(0)
        for lane in range(len(states)):
            word |= ((states[lane, f >> 6] >> np.uint64(f & 63)) & np.uint64(1)) << np.uint64(lane)
        slots[FIRST_FLUENT + f] = word


@njit(cache=True, nogil=True)
def _read_lanes(slots, which, result):
    """`result[lane, i]` = bit `lane` of slot `which[i]`."""
    for i in range(len(which)):
        word = slots[which[i]]
        for lane in range(len(result)):
            result[lane, i] = (word >> np.uint64(lane)) & np.uint64(1) != np.uint64(0)


@njit(cache=True, nogil=True)
def _read_goals_of_lanes(net, goal_slots, result):
    """`result[lane]` (int32[lanes, roles]) = the goals of lanes 0, 1, ...; -1 for a role without one."""
    for lane in range(len(result)):
        read_goals(net, goal_slots, lane, -1, result[lane])


@njit(cache=True, nogil=True)
def _enter_lanes(net, slots, joint):
    """Enters one joint move (indices per role) per lane."""
    kernels.clear_sets(net, slots, (0,))
    for lane in range(len(joint)):
        for role in range(joint.shape[1]):
            if joint[lane, role] >= 0:
                move = net.role_start[role] + joint[lane, role]
                kernels.enter_move(net, slots, (0,), 0, move, np.uint64(1) << np.uint64(lane))


@njit(cache=True, nogil=True)
def _random_ply(net, slots, chooser, rng, active, states, joint, match, over):
    """One random ply in the active lanes, told in the other arrays; lanes that end or are stuck become inactive."""
    width = (0,)
    kernels.evaluate(net.legal, slots, width)
    kernels.clear_sets(net, slots, width)
    rest = active[0]
    index = np.full(64, -1, np.int64)
    n = 0
    for lane in range(64):
        if rest >> np.uint64(lane) & np.uint64(1):
            index[lane] = n
            match[n] = lane
            kernels.store_state(net, slots, width, lane, states[n])
            n += 1
    ended = slots[net.terminal_slot] & rest
    stuck = np.uint64(0)
    for role in range(len(net.role_start) - 1):
        n_moves, dead = choose_random(net, slots, width, 0, role, rest & ~ended, rng, chooser)
        stuck |= dead
        for i in range(n_moves):
            lanes = chooser.chosen[i]
            if lanes != np.uint64(0):
                kernels.enter_move(net, slots, width, 0, chooser.move[i], lanes)
                for lane in range(64):
                    if lanes >> np.uint64(lane) & np.uint64(1):
                        joint[index[lane], role] = chooser.move[i] - net.role_start[role]
    for lane in range(64):
        if (ended | stuck) >> np.uint64(lane) & np.uint64(1):
            if ended >> np.uint64(lane) & np.uint64(1):
                over[index[lane]] = True
            joint[index[lane], :] = -1
    active[0] = rest & ~ended & ~stuck
    kernels.evaluate(net.next, slots, width)
    keep = np.empty(1, np.uint64)
    keep[0] = active[0]
    kernels.advance(net, slots, width, keep)
