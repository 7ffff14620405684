"""What each searching thread does next: search the tree, fit the evaluation, or enumerate the states of a puzzle."""

from __future__ import annotations

import time
from collections.abc import Sequence
from random import Random

import numpy as np

from agent.search.engine import StopFlag
from agent.search.evaluation.fit import EvaluationTrainer, LinearEvaluation
from agent.search.evaluation.sampling import in_lanes, make_sampling_workspace, play_batch
from agent.search.tree.best_lines import BestLines
from agent.search.tree.breadth import BreadthFirst
from agent.search.tree.kernels import search
from agent.search.tree.store import ROOT, SearchTree
from agent.search.tree.workspace import Parameters, SearchWorkspace
from games.gdl.running.machine import CircuitMachine
from games.machine import State

EXPLORATION = 0.55
"""Exploration weight per standard deviation of the goals that a role gets in random play (0.5 for win or loss).

Against twice as much, at 0.2 to 0.4 s a move: breakthrough 0.75 (12 matches), gomoku 0.75 (8), three-player games of
chess pieces 0.71 and 0.56, of lines 0.58 (12 each) and 0.575 (60), amazons 0.63 (8), pentago 0.60 (40), small go 0.58
(12), hex 0.53 (90), four games of simultaneous moves, lines and knights 0.42 to 0.50 (12 to 40), but 0.30 (40) in a
game of squares of stones. 0.25 did still better in amazons (0.82, 11), but worse in pentago (0.375, 12). After long
thinking there is more of it: in hex, against a third search, 0.60 instead of 0.35 (20 each) with a start of 4 s."""

PLAYOUT_EXPLORATION_RANGE = (0.1, 0.7)
JUDGED_EXPLORATION_RANGE = (0.02, 0.7)
"""Bounds of the exploration weight, where leaves are played out and where they are judged: judged goals differ less.
Set by hand; not tuned."""

FEWEST_GOALS = 32
"""Random matches that have to end before it is known how much goals differ. Set by hand; not tuned."""

SLICE_SECONDS = 0.03
"""How long a kernel runs before it returns to Python, where opinions are reported. Set by hand; not tuned."""
FIRST_BUDGET, MIN_BUDGET = 256, 16
"""Playouts (or enumerated states) of a first slice, and the fewest of any."""

LEARNING_SHARE = 0.25
"""Share of its time that the first thread spends on fitting the evaluation, until that is done. Set by hand; not
tuned."""

TREE_SHARE, CLOSING_SHARE = 0.25, 0.1
"""The tree's share of slices in which a thread that is alone could enumerate states: that ends some time, and solves
more puzzles. The second one is for when there are not many states left to come. Set by hand; not tuned."""

HORIZON = 3
"""Random plies between a leaf's child and a judged state. Set by hand; not tuned."""


class Scheduler:
    """Gives each thread its next slice of work.

    All threads search the tree. Besides, the first one fits the evaluation for its `LEARNING_SHARE`, and the last one
    enumerates the states of a one-player game as long as that may find something (a thread that is alone does both by
    turns). What is learnt on the way, exploration weights and evaluation, is written into the shared `parameters`.
    """

    def __init__(
        self,
        machine: CircuitMachine,
        tree: SearchTree,
        workspaces: Sequence[SearchWorkspace],
        parameters: Parameters,
        *,
        trainer: EvaluationTrainer | None,
        enumeration: BreadthFirst | None,
        lines: BestLines,
        random: Random,
    ) -> None:
        self._machine = machine
        self._tree = tree
        self._workspaces = workspaces
        self._parameters = parameters
        self._trainer = trainer
        self._enumeration = enumeration
        self._lines = lines
        self._random = random
        self._budgets = [FIRST_BUDGET] * len(workspaces)
        """Playouts of each thread's next slice of tree search."""
        self._enumeration_budget = FIRST_BUDGET
        """States of the next slice of the enumeration: a state and a playout take very different times."""
        self._learning_debt = 0.0
        """Seconds that the first thread has yet to learn, for its share."""
        self._exploration_factor = 1.0
        """How many times the usual weight exploration has."""
        self._playout_exploration = np.full(len(machine.roles), EXPLORATION * 0.5)
        self._parameters.exploration[:] = self._playout_exploration
        self._enumerating = False
        self._slices_for_tree = 0.0
        """Of a thread that is alone: those that the tree is yet to have."""
        self.exploration_scaled = False
        """Whether the exploration weights suit the game."""

    def explore(self, factor: float) -> None:
        """Sets how many times the usual weight exploration has; 1 before."""
        self._parameters.exploration[:] *= factor / self._exploration_factor
        self._playout_exploration *= factor / self._exploration_factor
        self._exploration_factor = factor

    def scale_exploration(self, stop: StopFlag) -> None:
        """Sets the exploration weights from how much goals differ in random play; leaves them as they are if stopped,
        or if they are known meanwhile.

        64 playouts, all at once: a search on a very short clock, as in trial matches, begins with them as well.
        """
        machine = self._machine
        workspace = make_sampling_workspace(machine.programs, self._random.getrandbits(63))
        _, ended, _ = play_batch(machine.programs, workspace, machine.pack(machine.initial())[None, :], stop)
        goals = workspace.goals[in_lanes(int(ended))].astype(np.float64)
        if stop[0] or len(goals) < FEWEST_GOALS or self.exploration_scaled:
            # What another search has told meanwhile stays.
            return
        usual = np.clip(EXPLORATION * goals.std(axis=0), *PLAYOUT_EXPLORATION_RANGE)
        self._playout_exploration = self._exploration_factor * usual
        if self._parameters.horizon[0] < 0:
            self._parameters.exploration[:] = self._playout_exploration
        self.exploration_scaled = True

    def enumerate_from(self, state: State) -> None:
        """Starts the enumeration of a one-player game again, from a new root; nothing with more players."""
        if self._enumeration is not None:
            self._enumeration.begin(state)
            self._enumerating = True

    def run_slice(self, thread: int, stop: StopFlag, most: int | None = None) -> None:
        """One slice of work for a thread (0 .. number of workspaces - 1), about `SLICE_SECONDS` long."""
        if thread == 0 and self._trainer is not None and self._learning_debt >= 0.0:
            begin = time.monotonic()
            self._learn(self._trainer, stop)
            self._learning_debt -= time.monotonic() - begin
        begin = time.monotonic()
        if self._enumerates_now(thread):
            done = self._enumerate(self._workspaces[thread], stop)
            self._enumeration_budget = _next_budget(self._enumeration_budget, done, time.monotonic() - begin)
        else:
            budget = self._budgets[thread] if most is None else min(self._budgets[thread], most)
            done = search(self._machine.programs, self._tree, self._workspaces[thread], self._parameters, stop, budget)
            self._budgets[thread] = _next_budget(budget, done, time.monotonic() - begin)
        if thread == 0:
            seconds = time.monotonic() - begin
            self._learning_debt += seconds * LEARNING_SHARE / (1.0 - LEARNING_SHARE)

    def _enumerates_now(self, thread: int) -> bool:
        if self._enumeration is None or not self._enumerating or thread != len(self._workspaces) - 1:
            return False
        if len(self._workspaces) > 1:
            return True
        # A thread that is alone does both by turns.
        self._slices_for_tree += CLOSING_SHARE if self._enumeration.closing else TREE_SHARE
        if self._slices_for_tree >= 1.0:
            self._slices_for_tree -= 1.0
            return False
        return True

    def _enumerate(self, workspace: SearchWorkspace, stop: StopFlag) -> int:
        """Expands some more states in breadth-first order; returns how many."""
        enumeration = self._enumeration
        assert enumeration is not None
        done = enumeration.run(stop, self._enumeration_budget)
        self._lines.add_enumerated(workspace)
        if enumeration.complete or enumeration.full or self._lines.solved:
            self._enumerating = False
        return done

    def _learn(self, trainer: EvaluationTrainer, stop: StopFlag) -> None:
        """One step of fitting the evaluation; a new fit is used at once."""
        if trainer.step(self._tree.state[self._tree.counts[ROOT]], stop):
            assert trainer.evaluation is not None
            self._use(trainer.evaluation)
        if trainer.done:
            self._trainer = None

    def _use(self, evaluation: LinearEvaluation) -> None:
        """Judges leaves by an evaluation where that is better than playing out, and explores as its goals differ."""
        parameters = self._parameters
        parameters.judge_weights[:] = evaluation.weights
        parameters.judge_bias[:] = evaluation.bias
        if evaluation.beats_playouts:
            parameters.horizon[0] = HORIZON
            usual = np.clip(EXPLORATION * evaluation.spread, *JUDGED_EXPLORATION_RANGE)
            parameters.exploration[:] = self._exploration_factor * usual
        else:
            parameters.horizon[0] = -1
            parameters.exploration[:] = self._playout_exploration


def _next_budget(budget: int, done: int, seconds: float) -> int:
    """How much to do in `SLICE_SECONDS`, when `done` of `budget` took `seconds`: at most about four times as much."""
    rate = done / max(seconds, 1e-6)
    return int(min(max(float(MIN_BUDGET), rate * SLICE_SECONDS), 4.0 * budget + MIN_BUDGET))
