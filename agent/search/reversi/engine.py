"""The engine that plays recognised games of the Reversi family."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from agent.search.alphabeta.table import look_up
from agent.search.engine import (
    LONGEST_LINE,
    WATCHED_SECONDS,
    Contenders,
    Engine,
    EngineMismatchError,
    Limit,
    Opinion,
    Report,
    Score,
    StopFlag,
)
from agent.search.reversi.analysis import ReversiAnalyser, ReversiVerdict
from agent.search.reversi.table import NO_MOVE
from agent.search.reversi.training.quick import learn_quickly
from agent.search.reversi.weights.shipped import HEURISTIC, WeightSet, weights_for
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine, Term, UnknownFactError
from games.native.reversi import verify
from games.native.reversi.binding import ReversiBinding
from games.native.reversi.recognise import recognise
from games.native.reversi.rules import ReversiPosition, ReversiVariant

SOLVED_CELLS = 20
"""Size of the largest board without evaluation: it is solved at once."""

_WORD = (1 << 64) - 1
_FIRST = 32
"""Bit of an entry's best move, see `table`."""


class ReversiEngine(Engine):
    """Alpha-beta for one role of a recognised game. Plays for the goal: a proven win beats a larger margin."""

    name = "reversi"
    reason = "the rules behave like Reversi: alpha-beta on bitboards, with trained patterns"

    def __init__(
        self,
        machine: StateMachine,
        role: int,
        binding: ReversiBinding,
        *,
        threads: int | None = None,
        megabytes: int = 128,
        weights: WeightSet | None = None,
        max_depth: int = 64,
    ) -> None:
        """`threads` defaults to all cores, `weights` to the best at hand; `max_depth` weakens it, for measurements."""
        self._machine, self._role, self._binding = machine, role, binding
        self._threads, self._megabytes = threads or len(os.sched_getaffinity(0)), megabytes
        self._max_depth = max_depth
        given, weights = weights is not None, weights or weights_for(binding.variant)
        self._learnt: WeightSet | None = None
        if not given and weights.source == HEURISTIC and binding.variant.cells > SOLVED_CELLS:
            threading.Thread(target=self._learn, args=(weights,), name="reversi-learning", daemon=True).start()
        self._analyser = self._make_analyser(weights)
        self._position = binding.variant.initial()

    def begin(self, state: State) -> None:
        self._position = self._view(state)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        before = self._position
        after = self._view(state)
        cell = self._binding.cell(before.turn, joint_move[before.turn])
        passed = ReversiPosition(before.discs, 1 - before.turn)
        expected = passed if cell is None else self._binding.variant.play(before, cell)
        # The turn does not matter once the match is over.
        if after != expected and not (after.discs == expected.discs and self._machine.terminal(state)):
            raise EngineMismatchError(f"the board after {joint_move!r} is {after}, not {expected}")
        self._position = after

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        if self._learnt is not None:
            self._analyser.close()
            self._analyser, self._learnt = self._make_analyser(self._learnt), None
        position, variant = self._position, self._binding.variant
        if variant.terminal(position):
            return
        moves = variant.moves(position)
        max_depth = self._max_depth if limit.plies is None else min(self._max_depth, limit.plies)
        if position.turn == self._role and moves:
            only = moves & (moves - 1) == 0
            first = self._binding.move(self._role, moves.bit_length() - 1)
            report(Opinion(first, final=only))
            publish = self._mover(report, only)
            self._analyser.analyse(
                position.player, position.opponent, stop, publish, max_depth=max_depth, max_nodes=limit.nodes
            )
            return
        # Nothing to decide: warm the table up for the next turn.
        idle = self._binding.passes if position.turn == self._role else self._binding.waits
        report(Opinion(idle[self._role], final=True))
        player, opponent = (position.player, position.opponent) if moves else (position.opponent, position.player)
        self._analyser.analyse(player, opponent, stop, lambda verdict: None, max_depth=max_depth, max_nodes=limit.nodes)

    def _make_analyser(self, weights: WeightSet) -> ReversiAnalyser:
        evaluation, coefficients = weights.evaluation, weights.coefficients
        return ReversiAnalyser(
            self._binding.variant, evaluation, coefficients, threads=self._threads, megabytes=self._megabytes
        )

    def _learn(self, start: WeightSet) -> None:
        """Make better weights for the next turn, in a thread of its own."""
        self._learnt = learn_quickly(self._binding.variant, start, np.zeros(1, np.uint8))

    def _view(self, state: State) -> ReversiPosition:
        try:
            return self._binding.position(self._machine.facts(state))
        except UnknownFactError as error:
            raise EngineMismatchError(str(error)) from error

    def _mover(self, report: Report, only: bool) -> Callable[[ReversiVerdict], None]:
        """A callback that reports the verdicts of a search for the side to move."""
        goals = self._binding.goals[self._role]
        empties = self._binding.variant.empty(self._position).bit_count()
        contenders, begun = Contenders(), time.monotonic()

        def publish(verdict: ReversiVerdict) -> None:
            info = {"depth": verdict.step.depth, "level": verdict.step.level, "score": verdict.score}
            if verdict.proven:
                score = Score(float(goals[1 + int(np.sign(verdict.score))]), proven=True)
            else:
                score = Score(expected_goal(verdict.score, empties, goals))
            move = self._binding.move(self._role, verdict.cell)
            candidates = contenders.add(move, score)
            # Nobody watches shorter searches.
            line = self._line(verdict.cell) if time.monotonic() - begun >= WATCHED_SECONDS else ()
            info["nodes"] = verdict.nodes
            report(Opinion(move, score, verdict.proven or only, info, candidates, line))

        return publish

    def _line(self, cell: int) -> tuple[Term, ...]:
        """The principal variation from a cell on."""
        line = principal_variation(self._analyser.table, self._binding.variant, self._position, cell)
        return tuple(self._binding.move(colour, cell) for colour, cell in line)


def expected_goal(score: float, empties: int, goals: tuple[int, int, int]) -> float:
    """The goal to expect of a heuristic score with a normal error, which grows with the number of empty cells."""
    win = 0.5 * (1 + math.erf(score / (1.4 * (2 + 0.2 * empties))))
    return goals[0] + (goals[2] - goals[0]) * win


def warm_kernels() -> None:
    """Compile all kernels or load them from the cache."""
    verify.warm_kernels()
    variant = ReversiVariant()
    weights = weights_for(variant)
    analyser = ReversiAnalyser(variant, weights.evaluation, weights.coefficients, megabytes=1)
    start = variant.initial()
    analyser.analyse(start.player, start.opponent, np.zeros(1, np.uint8), lambda verdict: None, max_depth=8)


def make_engine(machine: StateMachine, role: int) -> Engine | None:
    """The engine for a compiled game of the family; None for any other game."""
    if not isinstance(machine, CircuitMachine):
        return None
    binding = recognise(machine)
    return ReversiEngine(machine, role, binding) if binding is not None else None


def key_of(player: int, opponent: int) -> int:
    """`table.position_key` in Python."""
    first = player * 0x9E3779B97F4A7C15 & _WORD
    first ^= first >> 32
    second = (opponent ^ 0x5851F42D4C957F2D) * 0xBF58476D1CE4E5B9 & _WORD
    second ^= second >> 29
    key = (first + (second << 1)) * 0x94D049BB133111EB & _WORD
    key ^= key >> 31
    key = key * 0xD6E8FEB86659FD93 & _WORD
    return key ^ key >> 32


def best_known(table: NDArray[np.uint64], player: int, opponent: int) -> int:
    """The cell of the table's (uint64[entries, 2]) best move in a position, or `NO_MOVE`."""
    data = look_up(table, key_of(player, opponent))
    return data >> _FIRST & 0xFF if data else NO_MOVE


def principal_variation(
    table: NDArray[np.uint64], variant: ReversiVariant, position: ReversiPosition, cell: int
) -> list[tuple[int, int]]:
    """The colours and cells of the expected moves, beginning with a legal one, without passes.

    Threads may be writing to the table: an illegal move ends the line.
    """
    line: list[tuple[int, int]] = []
    while len(line) < LONGEST_LINE:
        line.append((position.turn, cell))
        position = variant.play(position, cell)
        if variant.noop and not variant.moves(position):
            position = variant.play(position, None)
        cell = best_known(table, position.player, position.opponent)
        if cell == NO_MOVE or not variant.moves(position) >> cell & 1:
            break
    return line
