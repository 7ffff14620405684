"""The best matches found for a single player, as moves from the root."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agent.search.tree.breadth import BreadthFirst
from agent.search.tree.workspace import Parameters, SearchWorkspace


class BestLine(NamedTuple):
    """The beginning of the best match found."""

    move: int
    """Index of its first move."""
    goal: float
    """Goal of the match, 0..1."""
    best_possible: bool
    """Whether no better match can be found."""


class _AddedLine(NamedTuple):
    """A line from outside the tree."""

    moves: tuple[int, ...]
    goal: float


_NO_LINE = _AddedLine((), -1.0)


class BestLines:
    """The best line of each thread's workspace, kept up to date as the match goes on.

    Kernels note the best lines of playouts (`backup`), `add_enumerated` those of the enumeration; `add` and `limit`
    take lines and proofs from outside, such as a planner's.
    """

    def __init__(
        self, workspaces: Sequence[SearchWorkspace], parameters: Parameters, enumeration: BreadthFirst | None
    ) -> None:
        self._workspaces = workspaces
        self._parameters = parameters
        self._enumeration = enumeration
        self._added = _NO_LINE
        self._limit = float(parameters.best_goal[0])

    def forget(self) -> None:
        """Drops all lines, and the limit."""
        self._added = _NO_LINE
        self._limit = float(self._parameters.best_goal[0])
        for workspace in self._workspaces:
            _clear(workspace)

    def follow(self, move: int) -> bool:
        """Keeps the rest of the lines that start with the move made; returns whether any does."""
        added, goal = self._added
        self._added = _AddedLine(added[1:], goal) if added[:1] == (move,) else _NO_LINE
        followed = len(self._added.moves) > 0
        for workspace in self._workspaces:
            length = int(workspace.best_line[0])
            if length > 1 and workspace.best_line[1] == move:
                workspace.best_line[1:length] = workspace.best_line[2 : length + 1]
                workspace.best_line[0] = length - 1
                followed = True
            else:
                _clear(workspace)
        return followed

    def add_enumerated(self, workspace: SearchWorkspace) -> None:
        """Makes the enumeration's best match the workspace's line if it is better."""
        assert self._enumeration is not None
        goal = self._enumeration.best_goal
        if goal is not None and goal / 100 > workspace.best_goal[0]:
            line = self._enumeration.best_line()
            if len(line) < len(workspace.best_line):
                workspace.best_line[1 : len(line) + 1] = line
                workspace.best_line[0] = len(line)
                workspace.best_goal[0] = goal / 100

    def add(self, moves: Sequence[int], goal: float) -> None:
        """Notes a line (indices of moves from the root) to the end of a match with this goal, 0..1. Thread-safe."""
        if moves and goal > self._added.goal:
            self._added = _AddedLine(tuple(moves), goal)

    def limit(self, goal: float) -> None:
        """Notes that no match from the root ends with a better goal, 0..1. Thread-safe."""
        self._limit = min(self._limit, goal)

    def best(self) -> BestLine | None:
        """The best line of all threads; None while there is none."""
        added, added_goal = self._added
        workspace = max(self._workspaces, key=lambda workspace: float(workspace.best_goal[0]))
        if added and added_goal >= workspace.best_goal[0]:
            return BestLine(added[0], added_goal, self.solved)
        if workspace.best_goal[0] < 0 or workspace.best_line[0] <= 0:
            return None
        return BestLine(int(workspace.best_line[1]), float(workspace.best_goal[0]), self.solved)

    @property
    def solved(self) -> bool:
        """Whether the best line is proven to be the best possible."""
        best = max(self._added.goal, *(float(workspace.best_goal[0]) for workspace in self._workspaces))
        exhausted = self._enumeration is not None and self._enumeration.complete and best >= 0
        return exhausted or best >= self._limit


def _clear(workspace: SearchWorkspace) -> None:
    workspace.best_goal[0], workspace.best_line[0] = -1.0, 0
