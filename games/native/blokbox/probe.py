"""Experiments on a compiled game: the effects of each move, and the facts that block it.

The machine is queried about states that need not be reachable: set a few facts, and see which moves become legal or
illegal. Nothing depends on names, on any order, or on how the rules are written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from games.gdl.running.batches import MatchPositions, facts_in, packed
from games.gdl.running.machine import CircuitMachine
from games.native.blokbox.variant import BOARD_CELLS, MAX_PIECES
from games.native.midway import Undoing
from games.native.recognition import NotRecognised

Bits = NDArray[np.bool_]

MAX_PLIES = 2 * MAX_PIECES + 1
"""Bound on plies; no match of the family is as long."""


@dataclass(frozen=True)
class Effects:
    """Effects of the moves of one role, as bits of the machine's fluents."""

    base: Bits
    """[fluents]: the first position, with this role in control; of a freed machine, an empty board."""
    waiting: int
    """This role's move while the other is in control."""
    adds: Bits
    """[moves, fluents]: facts that a move makes true."""
    removes: Bits
    """[moves, fluents]: facts that a move makes false."""


@dataclass(frozen=True)
class Obstacles:
    """Conditions of the moves of one role. `own` are facts of its colour, `other` those of the other colour."""

    at_once: Bits
    """[moves]: legal in the first position."""
    enabled: Bits
    """[own, moves]: legal in the first position with one more own cell."""
    blocked: Bits
    """[moves, own]: own cells that block the move; only for moves that are legal somewhere."""
    blocked_by_other: Bits
    """[moves, other]: the other colour's cells that block it."""

    @property
    def live(self) -> Bits:
        """[moves]: legal somewhere."""
        return self.at_once | self.enabled.any(axis=0)


class Watched(NamedTuple):
    """Findings in random matches."""

    first: int
    """The role that moves first."""
    waiting: list[int]
    """Per role, its move while it is not in control."""
    states: NDArray[np.uint64]
    """[2, words]: the first position, and one after a move."""


class Probe:
    """Queries a machine about made-up states, given as bits of its fluents."""

    def __init__(self, machine: CircuitMachine) -> None:
        self.machine = machine
        self.n_fluents = len(machine.game.fluents)
        self.role_start = np.cumsum([0, *(len(moves) for moves in machine.game.moves)])

    def pack(self, bits: Bits) -> NDArray[np.uint64]:
        """Packs states (n, fluents) for the machine."""
        return packed(bits)

    def unpack(self, states: NDArray[np.uint64]) -> Bits:
        """Unpacks states to bits (n, fluents)."""
        return facts_in(states, self.n_fluents)

    def legal(self, bits: Bits, role: int) -> Bits:
        """[n, moves]: the legal moves of a role."""
        legal, _ = self.machine.legal_of(self.pack(bits))
        return legal[:, self.role_start[role] : self.role_start[role + 1]]

    def observe(self) -> tuple[int, list[Effects]]:
        """Plays random matches and tries every move once. Returns the role that moves first, and all effects."""
        first, waiting, states = self._watch()
        start, second = self.unpack(states)
        effects = self._try_moves(start, first, waiting)
        touched = (effects.adds | effects.removes).any(axis=0)
        others = self._try_moves(np.where(touched, start, second), 1 - first, waiting)
        return first, [others, effects] if first else [effects, others]

    def observe_midway(self, freed: Probe) -> tuple[int, list[Effects]]:
        """The same, as the freed machine's effects on an empty board."""
        machine, other = self.machine, freed.machine
        first, waiting, states = self._watch()
        waiting = [other.move_index(role, machine.game.moves[role][move]) for role, move in enumerate(waiting)]
        found = np.stack([other.pack(other.state(machine.facts(machine.unpack(words)))) for words in states])
        boards = [Undoing(other).all_moves(bits) for bits in freed.unpack(found)]
        return first, [freed._try_moves(boards[role != first], role, waiting) for role in (0, 1)]

    def _watch(self) -> Watched:
        """Looks at random matches."""
        if len(self.machine.roles) != 2:
            roles = len(self.machine.roles)
            raise NotRecognised(f"{roles} role{'s' * (roles != 1)} instead of 2")
        most = max(len(moves) for moves in self.machine.game.moves)
        if most > BOARD_CELLS * MAX_PIECES:
            raise NotRecognised(f"{most} moves of a role, more than {MAX_PIECES} pieces have on {BOARD_CELLS} cells")
        seen = self.machine.sample
        ply = _plies(seen)
        if seen.terminal[ply == 0].any():
            raise NotRecognised("the first position is the end")
        if ply.max() > MAX_PLIES or seen.terminal.sum() < (ply == 0).sum():
            raise NotRecognised(f"a random match goes on for more than {MAX_PLIES} plies, or gets stuck")
        first, waiting = self._turns(seen, ply)
        return Watched(first, waiting, np.stack([seen.states[ply == n][0] for n in (0, 1)]))

    def _turns(self, seen: MatchPositions, ply: NDArray[np.int64]) -> tuple[int, list[int]]:
        """The role that moves first, and each role's move while it is not in control."""
        for first in (0, 1):
            waiting = []
            for role in (0, 1):
                idle = seen.joint[~seen.terminal & (ply % 2 == (role == first)), role]
                active = seen.joint[~seen.terminal & (ply % 2 != (role == first)), role]
                if len(idle) and (idle == idle[0]).all() and not (active == idle[0]).any():
                    waiting.append(int(idle[0]))
            if len(waiting) == 2:
                return first, waiting
        raise NotRecognised("the roles do not take turns, the other one waiting with always the same move")

    def _try_moves(self, base: Bits, role: int, waiting: list[int]) -> Effects:
        n_moves = len(self.machine.game.moves[role])
        joint = np.empty((n_moves, 2), np.int32)
        joint[:, role] = np.arange(n_moves)
        joint[:, 1 - role] = waiting[1 - role]
        after = self.unpack(self.machine.next_of(np.repeat(self.pack(base[None]), n_moves, axis=0), joint))
        touched = after.any(axis=0) & ~after.all(axis=0)
        adds = after & touched & ~base
        removes = ~after & touched & base
        if adds[waiting[role]].any() or removes[waiting[role]].any():
            raise NotRecognised("waiting changes something")
        return Effects(base, waiting[role], adds, removes)

    def obstacles(self, role: int, effects: list[Effects], cells: list[NDArray[np.int64]], free: Bits) -> Obstacles:
        """The obstacles of each move of a role.

        `cells` are the fluents of each role's colour; `free[f, g]`: fluent g is true where f is false.
        """
        base = effects[role].base
        own, other = cells[role], cells[1 - role]

        def with_cells(fixed: Bits, more: NDArray[np.int64]) -> Bits:
            bits = np.repeat(fixed[None], len(more), axis=0)
            bits[np.arange(len(more)), more] = True
            return bits & ~free[more]

        def blocked(fixed: Bits, more: NDArray[np.int64], moves: Bits) -> Bits:
            return ~self.legal(with_cells(fixed, more), role)[:, moves].T

        at_once = self.legal(base[None], role)[0]
        at_once[effects[role].waiting] = False
        enabled = self.legal(with_cells(base, own), role)
        enabled[:, effects[role].waiting] = False
        result = Obstacles(
            at_once=at_once,
            enabled=enabled,
            blocked=np.zeros((len(at_once), len(own)), np.bool_),
            blocked_by_other=np.zeros((len(at_once), len(other)), np.bool_),
        )
        result.blocked[at_once] = ~enabled[:, at_once].T
        result.blocked_by_other[at_once] = blocked(base, other, at_once)
        open_moves = result.live & ~at_once
        while open_moves.any():
            # The own cell that makes most remaining moves legal.
            cell = int((enabled & open_moves).sum(axis=1).argmax())
            moves = enabled[cell] & open_moves
            fixed = with_cells(base, own[cell : cell + 1])[0]
            result.blocked[moves] = blocked(fixed, own, moves)
            result.blocked_by_other[moves] = blocked(fixed, other, moves)
            open_moves &= ~moves
        return result


def _plies(positions: MatchPositions) -> NDArray[np.int64]:
    """Plies played in its match before each position."""
    n = len(positions.match)
    new = np.r_[True, positions.match[1:] != positions.match[:-1]]
    begin = np.maximum.accumulate(np.where(new, np.arange(n), 0))
    return np.arange(n) - begin
