"""Work of each searching thread: search the tree, or enumerate the states of a puzzle."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from agent.search.engine import StopFlag
from agent.search.tree.best_lines import BestLines
from agent.search.tree.breadth import BreadthFirst
from agent.search.tree.kernels import search
from agent.search.tree.store import SearchTree
from agent.search.tree.workspace import Parameters, SearchWorkspace
from games.gdl.running.machine import CircuitMachine
from games.machine import State

EXPLORATION = 0.55
"""Exploration weight per standard deviation of a role's goals in random play (0.5 for win or loss). Twice as much lost
in most games (see docs/experiments.md)."""

LEAST_EXPLORATION = 0.1
"""Least exploration weight."""

FEWEST_PLAYOUTS = 32
"""Fewest finished playouts to measure the deviation of goals."""

SLICE_SECONDS = 0.03
"""Running time of a kernel before it returns to Python, where opinions are reported."""
FIRST_BUDGET, MIN_BUDGET = 256, 16
"""Playouts (or enumerated states) of a first slice, and the fewest of any."""

TREE_SHARE, CLOSING_SHARE = 0.25, 0.1
"""The tree's share of slices beside the enumeration on a single thread, and when the enumeration is closing. The
enumeration solves more puzzles, and ends."""


class Scheduler:
    """Gives each thread its next slice of work.

    All threads search the tree. The last one enumerates the states of a one-player game instead, while that may help
    (a single thread alternates). Exploration weights are written into the shared `parameters`.
    """

    def __init__(
        self,
        machine: CircuitMachine,
        tree: SearchTree,
        workspaces: Sequence[SearchWorkspace],
        parameters: Parameters,
        *,
        enumeration: BreadthFirst | None,
        lines: BestLines,
    ) -> None:
        self._machine = machine
        self._tree = tree
        self._workspaces = workspaces
        self._parameters = parameters
        self._enumeration = enumeration
        self._lines = lines
        self._budgets = [FIRST_BUDGET] * len(workspaces)
        """Playouts of each thread's next slice of tree search."""
        self._enumeration_budget = FIRST_BUDGET
        """States of the enumeration's next slice; a state and a playout take very different times."""
        self._parameters.exploration[:] = EXPLORATION * 0.5
        self._enumerating = False
        self._slices_for_tree = 0.0
        """Slices that a single thread owes the tree."""
        self._scaled = False
        """Whether the exploration weights suit the game."""

    def _scale_exploration(self) -> None:
        """Sets the exploration weights once, by the deviation of the goals of the first playouts."""
        number, sums, squares = np.sum([workspace.moments for workspace in self._workspaces], axis=0)
        if number[0] >= FEWEST_PLAYOUTS:
            deviation = np.sqrt(np.maximum(0.0, squares / number - (sums / number) ** 2))
            self._parameters.exploration[:] = np.maximum(LEAST_EXPLORATION, EXPLORATION * deviation)
            self._scaled = True

    def enumerate_from(self, state: State) -> None:
        """Restarts the enumeration of a one-player game from a new root; does nothing in other games."""
        if self._enumeration is not None:
            self._enumeration.begin(state)
            self._enumerating = True

    def run_slice(self, thread: int, stop: StopFlag, most: int | None = None) -> None:
        """Runs a thread's (0 .. workspaces - 1) next slice of about `SLICE_SECONDS`, of at most `most` playouts."""
        begin = time.monotonic()
        if self._enumerates_now(thread):
            done = self._enumerate(
                self._workspaces[thread], stop, self._enumeration_budget if most is None else FIRST_BUDGET
            )
            self._enumeration_budget = _next_budget(self._enumeration_budget, done, time.monotonic() - begin)
        else:
            # A search by number must not depend on the machine's speed.
            budget = self._budgets[thread] if most is None else min(FIRST_BUDGET, most)
            done = search(self._machine.programs, self._tree, self._workspaces[thread], self._parameters, stop, budget)
            self._budgets[thread] = _next_budget(budget, done, time.monotonic() - begin)
            if not self._scaled:
                self._scale_exploration()

    def _enumerates_now(self, thread: int) -> bool:
        if self._enumeration is None or not self._enumerating or thread != len(self._workspaces) - 1:
            return False
        if len(self._workspaces) > 1:
            return True
        # A single thread alternates.
        self._slices_for_tree += CLOSING_SHARE if self._enumeration.closing else TREE_SHARE
        if self._slices_for_tree >= 1.0:
            self._slices_for_tree -= 1.0
            return False
        return True

    def _enumerate(self, workspace: SearchWorkspace, stop: StopFlag, states: int) -> int:
        """Expands that many more states in breadth-first order; returns their number."""
        enumeration = self._enumeration
        assert enumeration is not None
        done = enumeration.run(stop, states)
        self._lines.add_enumerated(workspace)
        if enumeration.complete or enumeration.full or self._lines.solved:
            self._enumerating = False
        return done


def _next_budget(budget: int, done: int, seconds: float) -> int:
    """The budget for `SLICE_SECONDS` after `done` of `budget` took `seconds`; at most about four times as much."""
    rate = done / max(seconds, 1e-6)
    return int(min(max(float(MIN_BUDGET), rate * SLICE_SECONDS), 4.0 * budget + MIN_BUDGET))
