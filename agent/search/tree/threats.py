"""Wins by threats: the attacker threatens to win at once with every move, so that few answers have to be looked at.

Threat-space search (Allis, van den Herik & Huntjens 1993), order 1 of lambda search (Thomsen 2000), for any game of two
roles whose decisive moves are known.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.search.engine import StopFlag
from agent.search.tree.decisive.kernels import ROW, DecisiveMoves
from agent.search.tree.decisive.makers import with_groups
from agent.search.tree.root_policy import RootStatistics
from agent.search.tree.store import OPEN, PROVEN, ROOT, SearchTree, find_node
from agent.search.tree.workspace import Parameters
from games.gdl.running.batches import facts_in
from games.gdl.running.machine import CircuitMachine

SHARE = 0.1
"""Share of the first thread's time; with half as much a tenth fewer wins are proven (see docs/experiments.md)."""

BATCH = 64
"""Threats made together: the lanes of a word."""

MOST_POSITIONS = 2000
"""Most positions of a search that the attacker goes on from."""

LINE = 4
"""Plies of the main line in which wins are looked for."""

_MISSING = 9
"""Stands for any number of missing facts where an ending is out of reach."""


class _Rows(NamedTuple):
    """Moves that carry threats out, or stop them: rows of `DecisiveMoves`, as columns."""

    threat: NDArray[np.intp]
    """(n)"""
    move: NDArray[np.int32]
    """(n) numbered over all roles."""
    fact: NDArray[np.int32]
    other: NDArray[np.int32]
    """(n, conditions) see `makers.Condition`."""

    def hold(self, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(states, n): whether the conditions hold; `known` (states, 1 + fluents + groups) begins with false."""
        some = known[:, np.abs(self.fact)] | known[:, self.other]
        holding: NDArray[np.bool_] = (some == (self.fact > 0)).all(axis=2)
        return holding


class _View(NamedTuple):
    """Legal moves, ends and threats of some positions."""

    legal: NDArray[np.bool_]
    """(n, moves of all roles)"""
    over: NDArray[np.bool_]
    """(n)"""
    one: NDArray[np.bool_]
    two: NDArray[np.bool_]
    """(n, threats) whether the threat's fact is the only one missing in an ending, or one of two."""
    wins: NDArray[np.bool_]
    blocks: NDArray[np.bool_]
    """(n, rows) whether the conditions of these moves hold."""


class Threats:
    """The threats of a game of two roles."""

    def __init__(self, machine: CircuitMachine, moves: DecisiveMoves) -> None:
        self.machine = machine
        self.role = moves.role
        self.win, self.block = _rows(moves.win_first, moves.win), _rows(moves.block_first, moves.block)
        self._moves = moves
        self._ending = _owners(moves.first)
        self._spoilt = _owners(moves.absent_first)
        groups = np.split(moves.group, moves.group_first[1:-1]) if len(moves.group_first) > 1 else []
        self._groups = [group.tolist() for group in groups]

    def view(self, states: NDArray[np.uint64]) -> _View:
        """Looks at packed states (n, words)."""
        moves = self._moves
        facts = facts_in(states, len(self.machine.game.fluents))
        missing = ~facts[:, moves.fact]
        lacking = np.add.reduceat(missing, moves.first[:-1], axis=1, dtype=np.int8)
        row, place = np.nonzero(facts[:, moves.absent])
        lacking[row, self._spoilt[place]] = _MISSING
        of_place = np.where(missing, lacking[:, self._ending], 0)
        one, two = np.zeros((2, len(states), len(self.role)), np.bool_)
        for wanted, number in ((one, 1), (two, 2)):
            row, place = np.nonzero(of_place == number)
            wanted[row, moves.threat[place]] = True
        known = np.pad(with_groups(facts, self._groups), ((0, 0), (1, 0)))
        return _View(*self.machine.legal_of(states), one, two, self.win.hold(known), self.block.hold(known))

    def stopping(self, view: _View, at: int, role: int) -> set[int] | None:
        """A role's legal moves that stop all that the other one threatens at once; None if that is nothing."""
        able = view.blocks[at] & view.legal[at, self.block.move]
        threats = np.unique(self.win.threat[view.wins[at] & view.one[at, self.win.threat]])
        stops = [set(self.block.move[able & (self.block.threat == threat)].tolist()) for threat in threats]
        # What no move stops is no threat: the place is taken.
        stops = [moves for moves, of in zip(stops, self.role[threats], strict=True) if moves and of != role]
        return reduce(set.intersection, stops) if stops else None

    def carrying_out(self, view: _View, at: int, role: int, threats: NDArray[np.bool_]) -> list[int]:
        """A role's legal moves that make the fact of one of some `threats` (threats) true."""
        able = view.wins[at] & view.legal[at, self.win.move] & threats[self.win.threat]
        return sorted(set(self.win.move[able & (self.role[self.win.threat] == role)].tolist()))


def _owners(first: NDArray[np.int32]) -> NDArray[np.intp]:
    """The group of each element, where group g has the elements `first[g] : first[g + 1]`."""
    return np.repeat(np.arange(len(first) - 1), np.diff(first))


def _rows(first: NDArray[np.int32], table: NDArray[np.int32]) -> _Rows:
    return _Rows(_owners(first), table[:, 0], table[:, 1:ROW:2], table[:, 2:ROW:2])


@dataclass
class _Position:
    """The attacker moves."""

    state: NDArray[np.uint64]
    attacks: list[int] = field(default_factory=list)
    """Moves that threaten, numbered over all roles."""
    idle: int = -1
    """The defender's only move."""
    won: int = -1
    """A move that wins."""
    reached: list[_Threat] = field(default_factory=list)
    """The threats that are answered by what leads here."""


@dataclass
class _Threat:
    """The defender moves."""

    position: _Position
    """Where it was made."""
    move: int
    state: NDArray[np.uint64]
    idle: int
    """The attacker's only move."""
    replies: list[int]
    """Those to look at next, numbered over all roles."""
    legal: list[int]
    """All replies, to look at once the others have lost."""
    complete: bool = False
    """Whether all were looked at."""
    open: set[bytes] = field(default_factory=set)
    """States after a reply that are not won yet."""


class ThreatSearch:
    """Looks for a win of the one who moves in a state (words) by threats alone; `goals` are (roles), 0..100, of a win.

    A win counts only if the circuit says so, and a threat only after all legal replies: what was learnt of threats and
    of what stops them decides merely where to look.
    """

    def __init__(self, known: Threats, state: NDArray[np.uint64], attacker: int, goals: NDArray[np.float64]) -> None:
        self.state, self.goals = state, goals
        self._known = known
        self._machine = known.machine
        self._attacker = attacker
        self._starts = self._machine.programs.role_start[:-1]
        self._positions: dict[bytes, _Position] = {}
        self._waiting: list[tuple[int, int, _Position]] = []
        """Positions to go on from, those with the most threats first."""
        self._order = count()
        self._expanded = 0
        self._root = self._positions_of(state[None, :])[0]

    @property
    def won(self) -> bool:
        """Whether the win is proven."""
        return self._root.won >= 0

    @property
    def over(self) -> bool:
        """Whether there is nothing left to do."""
        return self.won or not self._waiting or self._expanded >= MOST_POSITIONS

    def moves(self) -> dict[bytes, int]:
        """The winning move, numbered over all roles, in each state in which the attacker moves and wins."""
        return {state: position.won for state, position in self._positions.items() if position.won >= 0}

    def expand(self) -> None:
        """Makes the threats of some more positions."""
        chosen: list[tuple[_Position, int]] = []
        while self._waiting and len(chosen) < BATCH:
            position = heapq.heappop(self._waiting)[2]
            self._expanded += 1
            chosen += [(position, move) for move in position.attacks]
        states = self._step([(position.state, move, position.idle) for position, move in chosen])
        threats = []
        view = self._known.view(states)
        for at, (position, move) in enumerate(chosen):
            defender = 1 - self._attacker
            legal, idle = self._legal(view, at, defender), self._legal(view, at, self._attacker)
            stops = self._known.stopping(view, at, defender)
            if view.over[at] or stops is None or len(idle) != 1:
                continue
            if not self._known.carrying_out(view, at, defender, view.one[at]):
                threats.append(_Threat(position, move, states[at], idle[0], sorted(stops), legal))
        self._answer(threats)

    def _answer(self, threats: Sequence[_Threat]) -> None:
        """Looks at the replies to threats, and at what follows."""
        while threats:
            made = [(threat, move) for threat in threats for move in threat.replies]
            states = self._step([(threat.state, move, threat.idle) for threat, move in made])
            for (threat, _), position in zip(made, self._positions_of(states), strict=True):
                if position.won < 0:
                    threat.open.add(position.state.tobytes())
                    position.reached.append(threat)
            for threat in threats:
                threat.complete = threat.replies is threat.legal
            threats = [further for threat in threats for further in self._settle(threat)]

    def _settle(self, threat: _Threat) -> list[_Threat]:
        """Notes a win where every reply loses; returns the threats of which all replies are to be looked at now."""
        position = threat.position
        if threat.open or position.won >= 0:
            return []
        if not threat.complete:
            # It may be waiting for them already.
            waits, threat.replies = threat.replies is threat.legal, threat.legal
            return [] if waits else [threat]
        position.won = threat.move
        found = []
        for earlier in position.reached:
            earlier.open.discard(position.state.tobytes())
            found += self._settle(earlier)
        return found

    def _positions_of(self, states: NDArray[np.uint64]) -> list[_Position]:
        """The positions of packed states (n, words), looked at if they are new."""
        new = {key: at for at, key in enumerate(map(bytes, states)) if key not in self._positions}
        rows = states[list(new.values())]
        view = self._known.view(rows)
        tried: list[tuple[_Position, int]] = []
        for at, key in enumerate(new):
            position = self._positions[key] = _Position(rows[at])
            idle = self._legal(view, at, 1 - self._attacker)
            if view.over[at] or len(idle) != 1:
                continue
            position.idle = idle[0]
            wins = self._known.carrying_out(view, at, self._attacker, view.one[at])
            tried += [(position, move) for move in wins]
            if wins:
                continue
            stops = self._known.stopping(view, at, self._attacker)
            attacks = self._known.carrying_out(view, at, self._attacker, view.two[at])
            position.attacks = [move for move in attacks if stops is None or move in stops]
            if position.attacks:
                heapq.heappush(self._waiting, (-len(position.attacks), next(self._order), position))
        after = self._step([(position.state, move, position.idle) for position, move in tried])
        ended = self._machine.legal_of(after)[1] & np.isclose(self._machine.worths_of(after), self.goals).all(axis=1)
        for (position, move), won in zip(tried, ended.tolist(), strict=True):
            if won:
                position.won = move
        return [self._positions[key] for key in map(bytes, states)]

    def _legal(self, view: _View, at: int, role: int) -> list[int]:
        begin, end = self._machine.programs.role_start[role : role + 2]
        return [int(move) for move in begin + np.flatnonzero(view.legal[at, begin:end])]

    def _step(self, moves: Sequence[tuple[NDArray[np.uint64], int, int]]) -> NDArray[np.uint64]:
        """States (n, words) after moves of both roles, numbered over all roles, in any order."""
        if not moves:
            return np.zeros((0, self._machine.words), np.uint64)
        joint = np.sort(np.array([pair for _, *pair in moves], np.int32), axis=1) - self._starts
        return self._machine.next_of(np.stack([state for state, *_ in moves]), joint.astype(np.int32))


class ForcedWins:
    """Proves wins by threats at nodes of the main line; nothing where results may not depend on the machine's speed
    (`timeless`)."""

    def __init__(
        self, machine: CircuitMachine, parameters: Parameters, decisive: DecisiveMoves, *, timeless: bool
    ) -> None:
        self._known = None
        if len(machine.roles) == 2 and not timeless and len(decisive.role):
            self._known = Threats(machine, decisive)
        self._best, self._worst = parameters.best_goal, parameters.worst_goal
        self.forget()

    def forget(self) -> None:
        """Begins anew, for another match."""
        self._search: ThreatSearch | None = None
        self._seen: set[bytes] = set()
        self._moves: dict[bytes, int] = {}
        """The winning move, numbered over all roles, in states that are won."""
        self._saved = 0.0
        """Seconds that may be spent."""

    def look(self, tree: SearchTree, seconds: float, stop: StopFlag) -> None:
        """Looks for wins for a share of `seconds`, and marks their nodes as proven."""
        if self._known is None:
            return
        self._saved += SHARE * seconds
        while self._saved > 0.0 and not stop[0]:
            begin = time.thread_time()
            if self._search is None and not self._begin(tree, self._known):
                self._saved = 0.0
                return
            search = self._search
            assert search is not None
            if not search.over:
                search.expand()
            if search.won:
                self._moves.update(search.moves())
                self._mark(tree, search.state, search.goals / 100)
            if search.over:
                self._search = None
            self._saved -= time.thread_time() - begin

    def add(self, tree: SearchTree, root: RootStatistics) -> RootStatistics:
        """The statistics of a root with the move that was found to win there, if it is that role's."""
        move = self._moves.get(tree.state[tree.counts[ROOT]].tobytes(), -1)
        proven = np.where(root.moves == move, root.value if root.proven else 0.0, root.proven_goals)
        return root._replace(proven_goals=proven) if root.proven else root

    def _begin(self, tree: SearchTree, known: Threats) -> bool:
        """Begins a search at the first node of the main line that was not looked at; whether there is one."""
        node = int(tree.counts[ROOT])
        for _ in range(LINE):
            if node < 0 or tree.node["status"][node] != OPEN:
                break
            counts = tree.stats["n_edges"][node]
            chooser = int(counts.argmax())
            if (counts > 1).sum() != 1:
                break
            state = tree.state[node].copy()
            goals = np.where(np.arange(2) == chooser, self._best, self._worst)
            if state.tobytes() in self._moves:
                self._mark(tree, state, goals)
                break
            if state.tobytes() not in self._seen:
                self._seen.add(state.tobytes())
                self._search = ThreatSearch(known, state, chooser, 100 * goals)
                return True
            first = int(tree.stats["first_edge"][node, chooser])
            edges = tree.edge[first : first + int(counts[chooser])]
            node = int(edges["child"][edges["visits"].argmax()])
        return False

    def _mark(self, tree: SearchTree, state: NDArray[np.uint64], goals: NDArray[np.float64]) -> None:
        node, _ = find_node(tree, state)
        if node >= 0 and tree.node["status"][node] == OPEN:
            tree.stats["goal"][node] = goals
            tree.node["status"][node] = PROVEN
