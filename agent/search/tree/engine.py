"""`TreeSearch`: Monte-Carlo tree search on circuits, one tree searched by all cores."""

from __future__ import annotations

import os
import threading
import time
from random import Random

import numpy as np
from numpy.typing import NDArray

from agent.search.engine import Engine, Limit, Opinion, Report, Score, StopFlag
from agent.search.tree.best_lines import BestLines
from agent.search.tree.breadth import BreadthFirst
from agent.search.tree.compaction import forget_least_visited, keep_reachable
from agent.search.tree.decisive.finding import decisive_moves_of, share_of_step
from agent.search.tree.decisive.kernels import no_decisive_moves
from agent.search.tree.kernels import finish, root_node, search
from agent.search.tree.move_averages import fade, forget
from agent.search.tree.root_policy import choose, read_root
from agent.search.tree.scheduler import Scheduler
from agent.search.tree.store import (
    N_NODES,
    N_PLAYOUTS,
    OPEN,
    ROOT,
    clear_tree,
    filled,
    find_node,
    new_tree,
)
from agent.search.tree.threats import ForcedWins
from agent.search.tree.variation import candidates, principal_variation
from agent.search.tree.workspace import Parameters, clear_workspace, ignore_time, make_workspace
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine, Term
from games.memory import memory_part
from games.roles import is_random_role

MEMORY_BYTES, MEMORY_SHARE = 1 << 30, 1 / 4
"""Most bytes of the tree, in total and as a share of what this process may have. Its arrays reserve half as much
again, and an engine that fails may be held while the next one is made."""

RAVE_EQUIVALENCE = 300.0
"""Visits at which an all-moves-as-first value and the move's own count alike (k of Gelly & Silver 2007). 1000 brought
nothing (docs/experiments.md)."""

DEAREST = 0.5
"""Most facts that decisive moves of playouts look at, as a share of the inputs of a step's gates: slow playouts misled
short trial matches (see docs/experiments.md)."""

FULL = 0.98
"""Used share of the tree's memory at which the least visited nodes are forgotten."""
CROWDED = 0.8
"""Used share after forgetting at which it is not worth while again."""

REPORT_SECONDS = 0.25
"""Seconds after which an unchanged opinion is reported again, with newer figures."""


def tree_memory() -> int:
    """Returns the bytes for the trees of one match."""
    return memory_part(MEMORY_BYTES, MEMORY_SHARE)


class TreeSearch(Engine):
    """Monte-Carlo tree search on a compiled game, for any number of roles.

    `threads` is the number of cores if it is None; `memory_bytes` (None: `tree_memory()`) bounds the tree (and a
    quarter of it the enumeration of a one-player game); `draws` is as for `draw`. With `timeless`, one thread
    and a seed, nothing depends on the machine's speed in searches by number of nodes.
    """

    name = "tree search"
    reason = "the rules are compiled to a circuit, on which random matches are cheap"

    def __init__(
        self,
        machine: CircuitMachine,
        role: int,
        *,
        threads: int | None = None,
        memory_bytes: int | None = None,
        draws: int = 1,
        timeless: bool = False,
        seed: int | None = None,
    ) -> None:
        self._machine = machine
        self._role = role
        self._random = Random(seed)
        memory_bytes = memory_bytes or tree_memory()
        self._tree = new_tree(machine.programs, machine.words, memory_bytes)
        n_threads = threads or len(os.sched_getaffinity(0))
        known = decisive_moves_of(machine, timeless=timeless)
        decisive = known
        if share_of_step(machine, len(known.fact) + len(known.absent)) > DEAREST:
            decisive = no_decisive_moves()
        self._workspaces = [
            make_workspace(machine.programs, self._random.getrandbits(63), len(decisive.role)) for _ in range(n_threads)
        ]
        if timeless:
            for workspace in self._workspaces:
                ignore_time(workspace)
        roles = machine.roles
        worths = [machine.worths(role) for role in range(len(roles))]
        self._parameters = Parameters(
            exploration=np.zeros(len(roles)),
            best_goal=np.array([w[-1] / 100 for w in worths]),
            worst_goal=np.array([w[0] / 100 for w in worths]),
            random_role=next((i for i, role in enumerate(roles) if is_random_role(role)), -1),
            rave_equivalence=RAVE_EQUIVALENCE,
            draws=np.ones(len(roles), np.int64),
            decisive=decisive,
        )
        self.draw(draws)
        self._forced_wins = ForcedWins(machine, self._parameters, known, timeless=timeless)
        enumeration = BreadthFirst(machine, memory_bytes // 4) if len(roles) == 1 else None
        self.lines = BestLines(self._workspaces, self._parameters, enumeration)
        self._scheduler = Scheduler(
            machine,
            self._tree,
            self._workspaces,
            self._parameters,
            enumeration=enumeration,
            lines=self.lines,
        )
        self._moves = [move for moves in machine.game.moves for move in moves]
        self._choice_seed = Random(seed).getrandbits(63)
        self._growing = True
        """Whether forgetting makes room in a full tree."""
        clear_tree(self._tree)

    @property
    def machine(self) -> CircuitMachine:
        """The game."""
        return self._machine

    @property
    def playouts(self) -> int:
        """Playouts finished so far."""
        return sum(int(workspace.playout_counts[0]) - 1 for workspace in self._workspaces)

    # -- the engine contract ------------------------------------------------------------------------------------------

    def begin(self, state: State) -> None:
        clear_tree(self._tree)
        for workspace in self._workspaces:
            forget(workspace)
        self._growing = True
        self._forced_wins.forget()
        self.lines.forget()
        self._tree.counts[ROOT] = self._make_root(self._machine.pack(state))
        self._scheduler.enumerate_from(state)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        packed = self._machine.pack(state)
        tree = self._tree
        root, _ = find_node(tree, packed)
        nearly_full = filled(self._tree) > 0.5
        if root >= 0 and nearly_full:
            root = keep_reachable(tree, root)
            nearly_full = filled(self._tree) > 0.75
        if root < 0 and nearly_full:
            clear_tree(tree)
        self._growing = True
        tree.counts[ROOT] = root if root >= 0 else self._make_root(packed)
        for workspace in self._workspaces:
            fade(workspace)
        if len(joint_move) == 1:
            followed = self.lines.follow(self._machine.move_index(0, joint_move[0]))
            if not (followed and self.lines.solved):
                self._scheduler.enumerate_from(state)

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        root = int(self._tree.counts[ROOT])
        if self._tree.stats["n_edges"][root, self._role] == 0:
            return
        # What is proven already is the last word.
        report(self._opinion(details=not self._open()))
        end = None if limit.nodes is None else int(self._tree.counts[N_PLAYOUTS]) + limit.nodes
        while self._search_with_all_threads(stop, report, end):
            forget_least_visited(self._tree)
            # Where hardly anything can be forgotten the search goes on with the nodes it has.
            self._growing = filled(self._tree) < CROWDED
        # A turn of some playouts has its details at its end alone.
        report(self._opinion(details=end is not None or not self._open()))

    # -- for trials ---------------------------------------------------------------------------------------------------

    def results(self) -> tuple[int, NDArray[np.float64]]:
        """Number of results below the root, and the sum of each role's goals (0..1) in them."""
        root = int(self._tree.counts[ROOT])
        return int(self._tree.node["visits"][root]), self._tree.stats["total"][root].copy()

    def draw(self, draws: int, only: int | None = None) -> None:
        """Has playouts choose the best of `draws` random moves (see `move_averages`), of one role (`only`) or all.

        1 means uniformly random, as at first, and always for a single player.
        """
        parameters = self._parameters
        for role in range(len(self._machine.roles)):
            chooses = role != parameters.random_role and only in (None, role) and len(self._machine.roles) > 1
            parameters.draws[role] = draws if chooses else 1

    # -- searching ----------------------------------------------------------------------------------------------------

    def _search_with_all_threads(self, stop: StopFlag, report: Report, end: int | None) -> bool:
        """Searches until it is stopped, there are `end` playouts, nothing is left to find out, or the tree is full.

        True where the tree is full.
        """
        done = np.zeros(1, np.uint8)
        others = [
            threading.Thread(target=self._search_beside, args=(thread, stop, done), daemon=True)
            for thread in range(1, len(self._workspaces))
        ]
        for other in others:
            other.start()
        try:
            return self._search_and_report(stop, report, end)
        finally:
            done[0] = 1
            for other in others:
                other.join()
            for workspace in self._workspaces:
                finish(self._machine.programs, self._tree, workspace, self._parameters)

    def _search_and_report(self, stop: StopFlag, report: Report, end: int | None) -> bool:
        """Searches in the first thread; returns whether the tree is full."""
        last: Opinion | None = None
        reported, detailed = 0.0, time.monotonic()
        while not stop[0] and self._open():
            left = None if end is None else end - int(self._tree.counts[N_PLAYOUTS])
            if left is not None and left <= 0:
                break
            if self._growing and filled(self._tree) >= FULL:
                return True
            begin = time.monotonic()
            self._scheduler.run_slice(0, stop, left)
            self._forced_wins.look(self._tree, time.monotonic() - begin, stop)
            opinion = self._opinion()
            now = time.monotonic()
            if last is None or opinion.move != last.move or opinion.final or now - reported >= REPORT_SECONDS:
                # Candidates and lines are for pages, and looked up now and then only.
                if opinion.final or now - detailed >= REPORT_SECONDS:
                    opinion, detailed = self._opinion(details=True), now
                report(opinion)
                last, reported = opinion, now
            if opinion.final:
                break
        return False

    def _search_beside(self, thread: int, stop: StopFlag, done: StopFlag) -> None:
        """Searches in another thread until the first one is done."""
        while not stop[0] and not done[0] and self._open():
            self._scheduler.run_slice(thread, stop)

    def _open(self) -> bool:
        """Whether the root is neither terminal nor proven."""
        return bool(self._tree.node["status"][self._tree.counts[ROOT]] == OPEN)

    def _make_root(self, packed: NDArray[np.uint64]) -> int:
        programs, workspace = self._machine.programs, self._workspaces[0]
        clear_workspace(programs, workspace)
        root = root_node(programs, self._tree, workspace, packed)
        if root < 0:
            clear_tree(self._tree)
            root = root_node(programs, self._tree, workspace, packed)
        clear_workspace(programs, workspace)
        return int(root)

    def _opinion(self, *, details: bool = False) -> Opinion:
        """`details`: with candidates and principal variation."""
        tree, role = self._tree, self._role
        root = self._forced_wins.add(tree, read_root(tree, role, self._parameters.random_role))
        line = self.lines.best() if len(self._machine.roles) == 1 else None
        # The same move at each look: how often it is looked depends on time.
        random = Random(self._choice_seed + int(tree.counts[N_PLAYOUTS]))
        choice = choose(root, line, float(self._parameters.worst_goal[role]), random)
        goal = self._machine.goal_scale.goal(100 * choice.value)
        move = int(root.moves[choice.edge]) - int(self._machine.programs.role_start[role])
        return Opinion(
            self._machine.game.moves[role][move],
            # A proven goal is exact but for the rounding of the tree.
            Score(round(goal, 4) if choice.proven else goal, choice.proven),
            choice.proven,
            {"playouts": int(tree.counts[N_PLAYOUTS]), "nodes": int(tree.counts[N_NODES])},
            candidates(root, choice.edge, self._moves, self._machine.goal_scale) if details else (),
            principal_variation(tree, role, choice.edge, self._moves) if details else (),
        )


def make_engine(machine: StateMachine, role: int) -> TreeSearch | None:
    """The engine for a compiled game; None for a machine without a circuit."""
    if not isinstance(machine, CircuitMachine):
        return None
    return TreeSearch(machine, role)


def warm_kernels(machine: CircuitMachine) -> None:
    """Compiles the search's kernels, or loads them from the cache, by searching a small game."""
    engine = TreeSearch(machine, 0, threads=1, memory_bytes=1 << 20)
    engine.begin(machine.initial())
    search(machine.programs, engine._tree, engine._workspaces[0], engine._parameters, np.zeros(1, np.uint8), 64)
    finish(machine.programs, engine._tree, engine._workspaces[0], engine._parameters)
    joint_move = tuple(machine.legal(machine.initial(), role)[0] for role in range(len(machine.roles)))
    engine.advance(joint_move, machine.next(machine.initial(), joint_move))
    keep_reachable(engine._tree, int(engine._tree.counts[ROOT]))
    breadth = BreadthFirst(machine, 1 << 16)
    breadth.begin(machine.initial())
    breadth.run(np.zeros(1, np.uint8), 64)
