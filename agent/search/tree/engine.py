"""`TreeSearch`: the general engine, one tree searched by all cores."""

from __future__ import annotations

import os
import random
import threading
import time

import numpy as np

from agent.search.engine import Engine, Opinion, Report, StopFlag
from agent.search.tree.breadth import BreadthFirst
from agent.search.tree.judge import judge
from agent.search.tree.kernels import finish, root_node, search
from agent.search.tree.lanes import Lanes, Parameters, clear_lanes, new_lanes
from agent.search.tree.store import (
    FIRST,
    GOAL,
    N_EDGES,
    N_NODES,
    N_PLAYOUTS,
    OPEN,
    PROVEN,
    ROOT,
    SIZE,
    STATUS,
    TOTAL,
    VISITS,
    clear_tree,
    find_node,
    keep_reachable,
    new_tree,
)
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine, Term

MEMORY_BYTES = 1 << 30
"""Upper bound on the tree's arrays."""

EXPLORATION = 1.1
"""Exploration weight per standard deviation of the goals that random play brings a role (0.5 for win or loss)."""

LIKE_WEIGHT = 300.0
"""All-moves-as-first: RAVE's equivalence parameter."""

SLICE_SECONDS = 0.03
"""How long a kernel runs before it returns to Python, where opinions are reported."""

REPORT_SECONDS = 0.25
"""An unchanged opinion is reported again after this time, with newer figures."""

MIXING_SHARE = 0.3
"""Where several roles choose at once, moves with this share of the most tried one's playouts are all candidates."""

LEARNING_SHARE = 0.25
"""How much of its time the first thread learns to judge positions, until it has learnt enough."""

HORIZON = 4
"""Random plies between the tree and a judged state."""


class TreeSearch(Engine):
    """Monte-Carlo tree search on a compiled game, for any number of roles."""

    name = "tree search"

    def __init__(
        self,
        machine: CircuitMachine,
        role: int,
        *,
        threads: int | None = None,
        memory_bytes: int = MEMORY_BYTES,
        like_weight: float = LIKE_WEIGHT,
        judging: bool = True,
        seed: int | None = None,
    ) -> None:
        self._machine = machine
        self._role = role
        self._random = random.Random(seed)
        self._tree = new_tree(machine.programs, machine.words, memory_bytes)
        n_threads = threads or len(os.sched_getaffinity(0))
        self._lanes = [new_lanes(machine.programs, self._random.getrandbits(63)) for _ in range(n_threads)]
        values = [sorted(values) or [0] for values in machine.game.goals]
        roles = [str(name).lower() for name in machine.roles]
        self._playout_exploration = np.full(len(roles), EXPLORATION * 0.5)
        self._parameters = Parameters(
            exploration=self._playout_exploration.copy(),
            best_goal=np.array([v[-1] / 100 for v in values]),
            worst_goal=np.array([v[0] / 100 for v in values]),
            random_role=roles.index("random") if "random" in roles else -1,
            like_weight=like_weight,
            horizon=np.full(1, -1),
            judge_weights=np.zeros((len(machine.game.fluents), len(roles)), np.float32),
            judge_bias=np.zeros(len(roles)),
        )
        self._learner: judge.Learner | None = None
        if judging and len(roles) > 1 and len(machine.game.fluents) <= judge.MAX_FLUENTS:
            self._learner = judge.Learner(machine, self._random.getrandbits(63))
        self._learning_debt = 0.0
        """Seconds that the first thread has yet to learn, for its share."""
        self._scaled = False
        self._budget = 256
        self._breadth = BreadthFirst(machine, memory_bytes // 4) if len(machine.roles) == 1 else None
        self._enumerating = False
        """Whether breadth-first search may still find something; then the last thread does that."""
        self._tree_next = False
        clear_tree(self._tree)

    # -- the engine contract ------------------------------------------------------------------------------------------

    def begin(self, state: State) -> None:
        clear_tree(self._tree)
        for lanes in self._lanes:
            lanes.best_goal[0], lanes.best_line[0] = -1.0, 0
        self._tree.counts[ROOT] = self._make_root(self._machine.pack(state))
        self._begin_breadth(state)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        packed = self._machine.pack(state)
        tree = self._tree
        root, _ = find_node(tree, packed)
        crowded = 2 * tree.counts[N_NODES] > len(tree.node) or 2 * tree.counts[N_EDGES] > len(tree.edge)
        if root >= 0 and crowded:
            root = keep_reachable(tree, root)
            crowded = 4 * tree.counts[N_NODES] > 3 * len(tree.node) or 4 * tree.counts[N_EDGES] > 3 * len(tree.edge)
        if root < 0 and crowded:
            clear_tree(tree)
        tree.counts[ROOT] = root if root >= 0 else self._make_root(packed)
        if len(joint_move) == 1:
            followed = self._follow_best_line(joint_move[0])
            if not (followed and self._solved):
                self._begin_breadth(state)

    def think(self, stop: StopFlag, report: Report, seconds: float | None) -> None:
        root = int(self._tree.counts[ROOT])
        if self._tree.node[root, SIZE + 4 * self._role] == 0:
            return
        if not self._scaled:
            report(self._opinion())
            self._scale_exploration(stop)
        done = np.zeros(1, np.uint8)
        helpers = [
            threading.Thread(target=self._run, args=(lanes, stop, done, None), daemon=True) for lanes in self._lanes[1:]
        ]
        for helper in helpers:
            helper.start()
        try:
            self._run(self._lanes[0], stop, done, report)
        finally:
            done[0] = 1
            for helper in helpers:
                helper.join()
            for lanes in self._lanes:
                finish(self._machine.programs, self._tree, lanes, self._parameters)
        report(self._opinion())

    # -- searching ----------------------------------------------------------------------------------------------------

    def _run(self, lanes: Lanes, stop: StopFlag, done: StopFlag, report: Report | None) -> None:
        tree = self._tree
        budget = self._budget
        reported = 0.0
        last: Opinion | None = None
        while not stop[0] and not done[0] and tree.node[tree.counts[ROOT], STATUS] == OPEN:
            begin = time.monotonic()
            if report is not None and self._learner is not None and self._learning_debt >= 0.0:
                self._learn(stop)
                now = time.monotonic()
                self._learning_debt -= now - begin
                begin = now
            played = self._slice(lanes, stop, budget)
            now = time.monotonic()
            if report is not None:
                self._learning_debt += (now - begin) * LEARNING_SHARE / (1.0 - LEARNING_SHARE)
            rate = played / max(now - begin, 1e-6)
            budget = int(min(max(16.0, rate * SLICE_SECONDS), 4.0 * budget + 16))
            if report is not None:
                opinion = self._opinion()
                if last is None or opinion.move != last.move or opinion.proven or now - reported >= REPORT_SECONDS:
                    report(opinion)
                    last, reported = opinion, now
                if opinion.proven:
                    break
        if report is not None:
            self._budget = budget

    def _slice(self, lanes: Lanes, stop: StopFlag, budget: int) -> int:
        """One kernel call: playouts, or states of a one-player game in breadth-first order; returns how many."""
        if self._enumerating and lanes is self._lanes[-1]:
            # A thread that is alone does both by turns.
            self._tree_next = not self._tree_next and len(self._lanes) == 1
            if not self._tree_next:
                assert self._breadth is not None
                self._breadth.run(stop, budget)
                self._take_breadth_line(lanes)
                return budget
        return search(self._machine.programs, self._tree, lanes, self._parameters, stop, budget)

    def _learn(self, stop: StopFlag) -> None:
        """Learns to judge positions for a moment, and judges by what it has learnt where that is good enough."""
        learner, tree = self._learner, self._tree
        assert learner is not None
        if learner.work(tree.state[tree.counts[ROOT]], stop):
            judgement = learner.judgement
            assert judgement is not None
            parameters = self._parameters
            parameters.judge_weights[:] = judgement.weights
            parameters.judge_bias[:] = judgement.bias
            parameters.horizon[0] = HORIZON if judgement.good else -1
            judged = np.clip(EXPLORATION * judgement.spread, 0.02, 0.7)
            parameters.exploration[:] = judged if judgement.good else self._playout_exploration
        if learner.done:
            self._learner = None

    def _begin_breadth(self, state: State) -> None:
        if self._breadth is not None:
            self._breadth.begin(state)
            self._enumerating = True

    def _take_breadth_line(self, lanes: Lanes) -> None:
        """Makes the best match that breadth-first search has found the thread's best line, if it is better."""
        breadth = self._breadth
        assert breadth is not None
        goal = breadth.best_goal
        if goal is not None and goal / 100 > lanes.best_goal[0]:
            line = breadth.best_line()
            if len(line) < len(lanes.best_line):
                lanes.best_line[1 : len(line) + 1] = line
                lanes.best_line[0] = len(line)
                lanes.best_goal[0] = goal / 100
        if breadth.complete or breadth.full or self._solved:
            self._enumerating = False

    @property
    def _solved(self) -> bool:
        """Whether no better match of a single player can be found than the best line."""
        best = max(float(lanes.best_goal[0]) for lanes in self._lanes)
        exhausted = self._breadth is not None and self._breadth.complete and best >= 0
        return exhausted or best >= self._parameters.best_goal[0]

    def _make_root(self, packed: np.ndarray) -> int:
        lanes = self._lanes[0]
        clear_lanes(self._machine.programs, lanes)
        root = root_node(self._machine.programs, self._tree, lanes, packed)
        if root < 0:
            clear_tree(self._tree)
            root = root_node(self._machine.programs, self._tree, lanes, packed)
        clear_lanes(self._machine.programs, lanes)
        return int(root)

    def _scale_exploration(self, stop: StopFlag) -> None:
        """Sets the exploration weights from how much goals differ in random play."""
        sample = self._machine.random_playouts(playouts=64, seed=self._random.getrandbits(63), width=1, stop=stop)
        if sample.playouts >= 32:
            mean = sample.goal_sums / sample.playouts
            deviation = np.sqrt(np.maximum(sample.goal_squares / sample.playouts - mean**2, 0.0)) / 100
            self._playout_exploration = np.clip(EXPLORATION * deviation, 0.1, 0.7)
            if self._parameters.horizon[0] < 0:
                self._parameters.exploration[:] = self._playout_exploration
            self._scaled = True

    # -- opinions -----------------------------------------------------------------------------------------------------

    def _opinion(self) -> Opinion:
        tree, role = self._tree, self._role
        root = int(tree.counts[ROOT])
        begin = int(tree.node[root, FIRST + 4 * role])
        edges = np.arange(begin, begin + int(tree.node[root, SIZE + 4 * role]))
        tried = tree.edge["tried"][edges].astype(float)
        visits = max(1, int(tree.node[root, VISITS]))
        info: dict[str, object] = {"playouts": int(tree.counts[N_PLAYOUTS]), "nodes": int(tree.counts[N_NODES])}
        mean = tree.edge["won"][edges] / np.maximum(tried, 1)
        if len(edges) == 1:
            proven = tree.node[root, STATUS] == PROVEN
            value = tree.value[root, GOAL + 4 * role] if proven else tree.value[root, TOTAL + 4 * role] / visits
            return self._say(edges[0], 100 * float(value), bool(proven), info)
        if len(self._machine.roles) == 1:
            line = max((lanes for lanes in self._lanes), key=lambda lanes: float(lanes.best_goal[0]))
            if line.best_goal[0] >= 0 and line.best_line[0] > 0:
                edge = begin + int(np.flatnonzero(tree.edge["move"][edges] == line.best_line[1])[0])
                if tree.node[root, STATUS] != PROVEN or line.best_goal[0] >= tree.value[root, GOAL + 4 * 0]:
                    return self._say(
                        edge, 100 * float(line.best_goal[0]), self._solved or tree.node[root, STATUS] == PROVEN, info
                    )
        simultaneous = int((tree.node[root, SIZE::4] > 1).sum()) > 1
        children = np.full(len(edges), -1) if simultaneous else tree.edge["child"][edges]
        known = (children >= 0) & (tree.node[np.maximum(children, 0), STATUS] == PROVEN)
        goals = np.where(known, tree.value[np.maximum(children, 0), GOAL + 4 * role], -1.0)
        # Of equally good moves the one most tried: where all lose, the one that is hardest to refute.
        exact = int(np.lexsort((tried, goals))[-1])
        if tree.node[root, STATUS] == PROVEN or (known.all() and not simultaneous):
            return self._say(edges[exact], 100 * float(goals[exact]), True, info)
        open_tries = np.where(known, -1.0, tried)
        favourite = int(open_tries.argmax())
        if simultaneous:
            candidates = np.flatnonzero(tried >= MIXING_SHARE * tried.max())
            favourite = self._random.choices(candidates.tolist(), weights=(tried[candidates] + 1).tolist())[0]
        elif goals[exact] > self._parameters.worst_goal[role] and goals[exact] >= mean[favourite]:
            return self._say(edges[exact], 100 * float(goals[exact]), False, info)
        return self._say(edges[favourite], 100 * float(mean[favourite]), False, info)

    def _say(self, edge: int, value: float, proven: bool, info: dict[str, object]) -> Opinion:
        move = int(self._tree.edge["move"][edge]) - int(self._machine.programs.role_start[self._role])
        return Opinion(self._machine.game.moves[self._role][move], value, proven, info)

    def _follow_best_line(self, move: Term) -> bool:
        """Keeps the rest of the best lines that start with the move that a single player has made; whether any does."""
        index = self._machine.move_index(0, move)
        followed = False
        for lanes in self._lanes:
            length = int(lanes.best_line[0])
            if length > 1 and lanes.best_line[1] == index:
                lanes.best_line[1:length] = lanes.best_line[2 : length + 1]
                lanes.best_line[0] = length - 1
                followed = True
            else:
                lanes.best_goal[0], lanes.best_line[0] = -1.0, 0
        return followed


def make_engine(machine: StateMachine, role: int) -> TreeSearch | None:
    """The engine for a compiled game; None for a machine without a circuit."""
    return TreeSearch(machine, role) if isinstance(machine, CircuitMachine) else None


def warm_kernels(machine: CircuitMachine) -> None:
    """Makes this process compile the search's kernels, or load them from the cache, by searching a small game."""
    engine = TreeSearch(machine, 0, threads=1, memory_bytes=1 << 20)
    engine.begin(machine.initial())
    stop = np.zeros(1, np.uint8)
    timer = threading.Timer(0.05, stop.fill, (1,))
    timer.start()
    engine.think(stop, lambda opinion: None, None)
    timer.cancel()
    joint_move = tuple(machine.legal(machine.initial(), role)[0] for role in range(len(machine.roles)))
    engine.advance(joint_move, machine.next(machine.initial(), joint_move))
    keep_reachable(engine._tree, int(engine._tree.counts[ROOT]))
    breadth = BreadthFirst(machine, 1 << 16)
    breadth.begin(machine.initial())
    breadth.run(np.zeros(1, np.uint8), 64)
    judge.warm_kernels(machine)
