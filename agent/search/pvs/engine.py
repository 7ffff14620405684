"""`AlphaBetaSearch`: alpha-beta for two-player games with turns, on circuits."""

from __future__ import annotations

import os
import time

import numpy as np
from numpy.typing import NDArray

from agent.search.alphabeta.table import look_up
from agent.search.engine import (
    LONGEST_LINE,
    WATCHED_SECONDS,
    Contenders,
    Engine,
    Limit,
    Opinion,
    Report,
    Score,
    StopFlag,
)
from agent.search.evaluation.features import Features
from agent.search.evaluation.network import MOST, WIN, WON, NetworkEvaluation, probability
from agent.search.pvs.analysis import MAX_DEPTH, PvsAnalyser, PvsVerdict
from agent.search.pvs.splitting import RootSplitting
from agent.search.pvs.table import SIDE_KEY, child_of
from agent.search.team import Team
from games.gdl.running.batches import facts_in
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term

TABLE_MEGABYTES = 256
"""Size of a match's transposition table."""


class CannotSearchError(Exception):
    """Alpha-beta cannot search the state: several roles choose at once, or there are too many moves."""


class AlphaBetaSearch(Engine):
    """Alpha-beta for one role of a two-player game with turns (see `survey`).

    `threads` defaults to the number of cores; `megabytes` bounds the transposition table; a `team` searches moves of
    the same root elsewhere.
    """

    name = "alpha-beta"
    reason = "two players take turns, and an evaluation was learnt from matches of it against itself"

    def __init__(
        self,
        machine: CircuitMachine,
        role: int,
        features: Features,
        *,
        threads: int | None = None,
        megabytes: int = TABLE_MEGABYTES,
        seed: int = 0,
        team: Team | None = None,
    ) -> None:
        self._machine, self._role, self._features = machine, role, features
        self._splitting = RootSplitting(team)
        threads = threads or len(os.sched_getaffinity(0))
        self._analyser = PvsAnalyser(machine, features, threads=threads, megabytes=megabytes, seed=seed)
        self._state = machine.initial()
        self._moves = [move for moves in machine.game.moves for move in moves]
        self._evaluation: NetworkEvaluation | None = None

    def use(self, evaluation: NetworkEvaluation) -> None:
        """Evaluates leaves by this evaluation from now on."""
        if evaluation is not self._evaluation:
            self._evaluation = evaluation
            self._analyser.set_evaluation(evaluation)
            self._splitting.search_like(self._features, evaluation, self._analyser)

    def begin(self, state: State) -> None:
        self._state = state

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._state = state

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        """See `Engine.think`. Raises `CannotSearchError`."""
        machine, role = self._machine, self._role
        moves = machine.legal(self._state, role)
        forced = len(moves) == 1
        if forced:
            report(Opinion(moves[0], final=True))

        contenders, begun = Contenders(), time.monotonic()

        def publish(verdict: PvsVerdict) -> None:
            if not forced:
                info = {"depth": verdict.depth, "score": verdict.score, "nodes": self._analyser.nodes}
                info |= self._splitting.info
                move = self._moves[verdict.move]
                score = self.score_of(verdict)
                candidates = contenders.add(move, score)
                # A shorter search is not watched.
                line = self._line(move) if time.monotonic() - begun >= WATCHED_SECONDS else ()
                report(Opinion(move, score, score.proven, info, candidates, line))

        with self._splitting.asked(self._state, publish) as publish_first:
            found = self._analyser.analyse(
                machine.pack(self._state), stop, publish_first, limit.plies or MAX_DEPTH, limit.nodes
            )
        if not found:
            raise CannotSearchError("several roles choose at once, or one has too many moves")

    def score_of(self, verdict: PvsVerdict) -> Score:
        """The worth of a verdict to the role."""
        goal = self._machine.goal_scale.goal
        if not verdict.proven:
            return Score(goal(100 * probability(verdict.score)))
        if abs(verdict.score) <= WON:
            return Score(goal(50 + 50 * verdict.score / MOST), proven=True)
        return Score(goal(100.0 * (verdict.score > 0)), proven=True, plies=WIN - abs(verdict.score) + 1)

    def _line(self, move: Term) -> tuple[Term, ...]:
        """The principal variation after a legal move."""
        analyser = self._analyser
        return principal_variation(self._machine, analyser.table, analyser.zobrist, self._state, self._role, move)


def key_of(packed: NDArray[np.uint64], zobrist: NDArray[np.uint64]) -> int:
    """Returns the Zobrist key of a packed state (uint64[words]) by words for each fluent (uint64[fluents])."""
    return int(np.bitwise_xor.reduce(zobrist[facts_in(packed, len(zobrist))], initial=np.uint64(0)))


def principal_variation(
    machine: CircuitMachine,
    table: NDArray[np.uint64],
    zobrist: NDArray[np.uint64],
    state: State,
    role: int,
    move: Term,
) -> tuple[Term, ...]:
    """Returns the moves expected of the roles with a choice, beginning with this legal one of `role`.

    `table` is a transposition table, `zobrist` the words (uint64[fluents]) of the search that filled it. Threads may be
    writing to the table: the line ends where it names no legal move.
    """
    line = [move]
    side = role
    while True:
        joint_move = [machine.legal(state, other)[0] for other in range(2)]
        joint_move[side] = move
        state = machine.next(state, joint_move)
        side = 1 - side
        if machine.terminal(state):
            break
        moves = [machine.legal(state, other) for other in range(2)]
        choosing = [other for other in range(2) if len(moves[other]) > 1]
        if len(choosing) == 1:
            # Where the same role moves again, the search puts a ply without a move between.
            side = choosing[0]
            if len(line) == LONGEST_LINE:
                break
            key = key_of(machine.pack(state), zobrist) ^ (int(SIDE_KEY) if side else 0)
            data = look_up(table, key)
            child = int(child_of(np.uint64(data)))
            if not data or child >= len(moves[side]):
                break
            move = moves[side][child]
            line.append(move)
        elif choosing or not (moves[0] and moves[1]):
            break
        else:
            move = moves[side][0]
    return tuple(line)
