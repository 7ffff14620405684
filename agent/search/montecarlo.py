"""Monte-Carlo tree search in plain Python on any machine: plays while, or because, there is no circuit.

UCT (Kocsis and Szepesvari: Bandit based Monte-Carlo planning, 2006) with one set of statistics per role at each node,
so that simultaneous moves and any number of roles need nothing special (Finnsson and Bjornsson: Simulation-based
approach to general game playing, 2008).
"""

from __future__ import annotations

import heapq
import math
import time
from contextlib import suppress
from random import Random

from agent.search.engine import MOST_CANDIDATES, Candidate, Engine, Limit, Opinion, Report, Score, StopFlag
from games.machine import NO_MOVE, GoalScale, Interrupted, State, StateMachine, Term, points

EXPLORATION = 0.7
"""Weight of the exploration term, on goals scaled to 0..1."""

RANDOM_CHOICES = 0.2
"""Share of random choices where several roles choose at once. Without them the roles' bounds move in step, and a move
meets one answer only."""

UNKNOWN_GOAL = 0.5
"""Goal (0..1 of the range) of a role that has none where a playout is cut off. The match was not over: 0 points would
be unfair."""

PLAYOUT_SECONDS = 1.0
"""Longer playouts are cut off: on a slow machine many short playouts tell more than one long one."""


class Node:
    """A state in the tree, with the statistics of each role's moves."""

    __slots__ = ("children", "goals", "moves", "state", "totals", "visits", "visits_of")

    def __init__(self, machine: StateMachine, state: State) -> None:
        roles = range(len(machine.roles))
        self.state = state
        self.goals: list[float] | None = _final_goals(machine, state) if machine.terminal(state) else None
        """Goal of each role in a terminal state."""
        self.moves: list[list[Term]] = []
        """Legal moves per role."""
        if self.goals is None:
            self.moves = [machine.legal(state, role) or [NO_MOVE] for role in roles]
        self.visits = 0
        self.visits_of = [[0] * len(moves) for moves in self.moves]
        """Visits per role and move."""
        self.totals = [[0.0] * len(moves) for moves in self.moves]
        """Sum of the role's own goals, per role and move."""
        self.children: dict[tuple[int, ...], Node] = {}
        """Children by each role's index into its moves."""

    def select(self, scale: GoalScale, random: Random) -> tuple[int, ...]:
        """The joint move to try next: each role's upper confidence bound, untried moves first."""
        log_visits = math.log(self.visits + 1)
        simultaneous = sum(len(moves) > 1 for moves in self.moves) > 1
        choice = []
        for counts, totals in zip(self.visits_of, self.totals, strict=True):
            untried = [i for i, count in enumerate(counts) if not count]
            if untried:
                choice.append(random.choice(untried))
                continue
            if simultaneous and random.random() < RANDOM_CHOICES:
                choice.append(random.randrange(len(counts)))
                continue
            bounds = [
                scale.worth(total / count) / 100 + EXPLORATION * math.sqrt(log_visits / count)
                for total, count in zip(totals, counts, strict=True)
            ]
            choice.append(bounds.index(max(bounds)))
        return tuple(choice)

    def joint_move(self, choice: tuple[int, ...]) -> tuple[Term, ...]:
        """The terms of a choice."""
        return tuple(moves[i] for moves, i in zip(self.moves, choice, strict=True))


class MonteCarlo(Engine):
    """Upper confidence trees, one playout at a time, for one role.

    With a `seed` nothing depends on the machine's speed in searches by number of nodes: no playout is cut off.
    """

    name = "monte-carlo"
    reason = "there is no circuit of the rules (yet): random matches on the interpreter"

    def __init__(self, machine: StateMachine, role: int, seed: int | None = None) -> None:
        self._machine = machine
        self._role = role
        self._random = Random(seed)
        self._playout_seconds = PLAYOUT_SECONDS if seed is None else math.inf
        self._scale = machine.goal_scale
        """The range of the goals seen."""
        self._root: Node | None = None

    def begin(self, state: State) -> None:
        self._root = Node(self._machine, state)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        old, self._root = self._root, None
        if old is not None and old.goals is None:
            for choice, child in old.children.items():
                if old.joint_move(choice) == joint_move and child.state == state:
                    self._root = child
        if self._root is None:
            self._root = Node(self._machine, state)

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        root = self._root
        if root is None or root.goals is not None:
            return
        moves = root.moves[self._role]
        if moves == [NO_MOVE]:
            return
        if len(moves) == 1:
            report(Opinion(moves[0], final=True))
            return
        if not root.visits:
            report(Opinion(self._random.choice(moves)))
        # The machine may need seconds for one step.
        with self._machine.interruptible(lambda: bool(stop[0])), suppress(Interrupted):
            end = math.inf if limit.nodes is None else root.visits + limit.nodes
            while not stop[0] and root.visits < end:
                self._iterate(root, stop)
                report(self._opinion(root))

    def _opinion(self, root: Node) -> Opinion:
        counts, totals = root.visits_of[self._role], root.totals[self._role]
        best = max(range(len(counts)), key=lambda i: (counts[i], totals[i]))
        score = Score(totals[best] / counts[best]) if counts[best] else None
        order = heapq.nlargest(MOST_CANDIDATES, range(len(counts)), key=lambda i: (counts[i], totals[i]))
        candidates = tuple(
            Candidate(root.moves[self._role][i], Score(totals[i] / counts[i]), counts[i]) for i in order if counts[i]
        )
        return Opinion(root.moves[self._role][best], score, info={"playouts": root.visits}, candidates=candidates)

    def _iterate(self, root: Node, stop: StopFlag) -> None:
        """Descends to a new node, plays out from it, and takes the result back to the root."""
        node = root
        path: list[tuple[Node, tuple[int, ...]]] = []
        while node.goals is None:
            _check(stop)
            choice = node.select(self._scale, self._random)
            path.append((node, choice))
            child = node.children.get(choice)
            if child is None:
                state = self._machine.next(node.state, node.joint_move(choice))
                _check(stop)
                child = node.children[choice] = Node(self._machine, state)
                node = child
                break
            node = child
        goals = node.goals if node.goals is not None else self._play_out(node, stop)
        self._scale = self._scale.including(goals)
        for visited, choice in path:
            visited.visits += 1
            for role, i in enumerate(choice):
                visited.visits_of[role][i] += 1
                visited.totals[role][i] += goals[role]

    def _play_out(self, node: Node, stop: StopFlag) -> list[float]:
        """The goals of a random match from a node on."""
        machine = self._machine
        roles = range(len(machine.roles))
        end = time.monotonic() + self._playout_seconds
        state, moves = node.state, node.moves
        while True:
            _check(stop)
            state = machine.next(state, [self._random.choice(options) for options in moves])
            _check(stop)
            if machine.terminal(state):
                return _final_goals(machine, state)
            if time.monotonic() > end:
                goals = [machine.goal(state, role) for role in roles]
                return [self._scale.goal(100 * UNKNOWN_GOAL) if goal is None else goal for goal in goals]
            moves = []
            for role in roles:
                _check(stop)
                moves.append(machine.legal(state, role) or [NO_MOVE])


def _final_goals(machine: StateMachine, state: State) -> list[float]:
    """Each role's goal in a terminal state."""
    return [points(machine.goal(state, role)) for role in range(len(machine.roles))]


def _check(stop: StopFlag) -> None:
    if stop[0]:
        raise Interrupted
