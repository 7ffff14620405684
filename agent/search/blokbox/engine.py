"""`BlokboxEngine`: plays any recognised member of the Blokbox family."""

from __future__ import annotations

import os
import secrets
import threading
import time

import numpy as np
from numpy.typing import NDArray

from agent.search.blokbox.guiding.evaluation import room
from agent.search.blokbox.guiding.judgement import hardest_move
from agent.search.blokbox.guiding.tuning import tuning_for
from agent.search.blokbox.proving.alphabeta import WIN
from agent.search.blokbox.proving.prover import BlokboxProver
from agent.search.blokbox.tree import (
    LEAF,
    MOVED_IN_LOSES,
    MOVED_IN_WINS,
    PuctTree,
    best_child,
    clear,
    grow,
    keep_subtree,
    new_tree,
    new_tree_workspace,
)
from agent.search.blokbox.weights import general
from agent.search.blokbox.weights.networks import shipped_network
from agent.search.engine import (
    LONGEST_LINE,
    MOST_CANDIDATES,
    Candidate,
    Engine,
    EngineMismatchError,
    Limit,
    Opinion,
    Report,
    Score,
    StopFlag,
)
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine, Term
from games.native.blokbox import verify
from games.native.blokbox.binding import BindingError, BlokboxBinding
from games.native.blokbox.recognise import recognise
from games.native.blokbox.rules import play
from games.native.blokbox.variant import TURN, BlokboxVariant, Shape

CAPACITY = 12_000_000
"""Nodes of the tree, 25 bytes each; there are two trees, one of them only while a subtree is being kept."""
VISITS_PER_CALL = 2_000
"""Visits between two checks whether the best move changed: 20..40 ms."""

PROVABLE_ROOM = 230
"""Cells left to both players (see `evaluation.room`) from which on the second thread proves results.

On 14x14 cells, with 380 at the start, that is after some ten plies; within 5 s, results are proven after eleven at
best: set by these measurements."""
PROVABLE_ROOM_BESIDE = 160
"""The same where both threads share one core, so that the prover costs the tree search half of its time.

Taken on weak evidence: 24 of 40 games (45-74 %) against the earlier start."""

REPORT_SECONDS = 0.25
"""An unchanged opinion is reported again after this time, with newer figures."""

LEAST_VISITS = 8
"""Visits from which on a move is part of the line that is shown. Set by hand; not tuned."""

_GO = np.zeros(1, np.uint8)


def make_engine(machine: StateMachine, role: int) -> BlokboxEngine | None:
    """The engine for a compiled game of the family; None for any other game."""
    if not isinstance(machine, CircuitMachine):
        return None
    binding = recognise(machine)
    return None if binding is None else BlokboxEngine(machine, binding, role)


def _score(proof: int, estimate: float) -> Score:
    """The worth of a node to the player who moved into it; `estimate` is 0..100."""
    goal = {MOVED_IN_WINS: 100.0, MOVED_IN_LOSES: 0.0}.get(proof)
    return Score(estimate) if goal is None else Score(goal, proven=True)


def warm_kernels() -> None:
    """Compile all kernels of the search, or load them from the cache, by thinking about a board of four cells."""
    cell = Shape(0, ((0, 0),), frozenset({(0, 1), (1, 0)}))
    starts = frozenset({(0, 0)}), frozenset({(1, 1)})
    variant = BlokboxVariant(2, 2, (cell,), (frozenset({0}), frozenset({0})), starts)
    verify.warm_kernels(variant)
    tuning = tuning_for(variant, general.load())
    tree, spare = new_tree(16), new_tree(16)
    workspace = new_tree_workspace(variant, 1)
    grow(variant.tables, variant.start, tree, 0, tuning, 4, _GO, workspace)
    keep_subtree(tree, best_child(tree), spare)
    hardest_move(variant.tables, variant.start, tuning, _GO, workspace.scratch, workspace.network)
    BlokboxProver(variant, tuning, entries=2).run(variant.start, _GO)


class BlokboxEngine(Engine):
    """Tree search on the native board, with a second thread: the tree's early in the match, the prover's later.

    The reference machine is only asked for the facts of its states.
    """

    name = "blokbox"
    reason = "the rules behave like Blokbox: tree search on bitboards, guided by a trained network"

    def __init__(
        self,
        machine: StateMachine,
        binding: BlokboxBinding,
        role: int,
        *,
        capacity: int = CAPACITY,
        threads: int | None = None,
    ) -> None:
        self._machine = machine
        self._binding = binding
        self._player = binding.player(role)
        self._tables = binding.variant.tables
        self._tuning = tuning_for(binding.variant, general.load(), shipped_network(binding.variant))
        cores = threads or len(os.sched_getaffinity(0))
        self._workspaces = [new_tree_workspace(binding.variant, secrets.randbits(63)) for _ in range(min(2, cores))]
        self._helper: threading.Thread | None = None
        self._prover = BlokboxProver(binding.variant, self._tuning)
        self._tree = new_tree(capacity, len(self._workspaces))
        self._spare: PuctTree = new_tree(capacity, len(self._workspaces))
        self._position = binding.variant.start.copy()

    def begin(self, state: State) -> None:
        self._join_helper()
        self._position = self._read(state)
        self._prover.forget()
        clear(self._tree)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._join_helper()
        player = int(self._position[TURN])
        move = self._binding.moves[player].get(joint_move[self._binding.roles[player]])
        if move is None:
            raise EngineMismatchError(f"no native move is {joint_move[self._binding.roles[player]]!r}")
        play(self._tables, self._position, move)
        if not np.array_equal(self._position, self._read(state)):
            raise EngineMismatchError("the native position is not the reference machine's")
        self._prover.forget()
        child = self._child(move)
        if child is None:
            clear(self._tree)
        else:
            keep_subtree(self._tree, child, self._spare)
            self._tree, self._spare = self._spare, self._tree
            self._forget_unsupported_proof()

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        self._join_helper()
        before = int(self._tree.visits[0])
        # The first visit expands the root, so that there is an opinion even where `stop` is set already.
        self._grow(0, 1, _GO)
        last = self._opinion(before, stop)
        report(last)
        reported = time.monotonic()
        # The other thread has a flag of its own: it also has to stop when this one has come to a proof.
        halt = np.zeros(1, np.uint8)
        self._helper = threading.Thread(target=self._help, args=(halt,), name="blokbox helper", daemon=True)
        self._helper.start()
        try:
            left = 1 << 62 if limit.nodes is None else limit.nodes
            while not stop[0] and not last.final and left > 0:
                visits = min(VISITS_PER_CALL, left)
                left -= visits
                self._grow(0, visits, stop)
                self._take_proofs()
                opinion = self._opinion(before, stop)
                now = time.monotonic()
                changed = (opinion.move, opinion.final) != (last.move, last.final)
                if stop[0] or left <= 0 or changed or now - reported >= REPORT_SECONDS:
                    report(opinion)
                    reported = now
                last = opinion
        finally:
            halt[0] = 1

    def _join_helper(self) -> None:
        """Wait for the second thread; only at the next call, as on a busy machine it takes long to stop."""
        if self._helper is not None:
            self._helper.join()
            self._helper = None

    def _help(self, halt: StopFlag) -> None:
        """What the second thread does: prove where that can succeed, else grow the tree if there is a core for it."""
        provable = PROVABLE_ROOM if len(self._workspaces) > 1 else PROVABLE_ROOM_BESIDE
        if room(self._position) <= provable:
            self._prover.run(self._position, halt)
        elif len(self._workspaces) > 1:
            self._grow(1, 1 << 40, halt)

    def _forget_unsupported_proof(self) -> None:
        """Forget that the root is proven unless the tree shows what to play; the prover will soon know again."""
        tree = self._tree
        children = slice(int(tree.first[0]), int(tree.first[0] + tree.size[0]))
        expanded = tree.first[0] != LEAF
        if not expanded or (tree.proof[0] == MOVED_IN_LOSES and not (tree.proof[children] == MOVED_IN_WINS).any()):
            tree.proof[0] = 0

    def _take_proofs(self) -> None:
        """Take what the prover knows about the root and its moves into the tree."""
        tree, prover = self._tree, self._prover
        first, size = int(tree.first[0]), int(tree.size[0])
        if first == LEAF:
            return
        moves = tree.move[first : first + size]
        proofs = tree.proof[first : first + size]
        proofs[(prover.lost[moves] != 0) & (proofs == 0)] = MOVED_IN_LOSES
        if prover.score == WIN:
            proofs[moves == prover.best_move] = MOVED_IN_WINS
            tree.proof[0] = MOVED_IN_LOSES
        elif prover.score == -WIN or (proofs == MOVED_IN_LOSES).all():
            tree.proof[0] = MOVED_IN_WINS

    def _hardest_move(self, most_visited: int, stop: StopFlag) -> int:
        """What to play when all is lost: the opponent may not know."""
        workspace = self._workspaces[0]
        move = hardest_move(self._tables, self._position, self._tuning, stop, workspace.scratch, workspace.network)
        return most_visited if move < 0 else int(move)

    def _grow(self, thread: int, visits: int, stop: StopFlag) -> None:
        grow(
            self._tables,
            self._position,
            self._tree,
            thread,
            self._tuning,
            visits,
            stop,
            self._workspaces[thread],
        )

    def _read(self, state: State) -> NDArray[np.uint64]:
        try:
            return self._binding.position(self._machine.facts(state))
        except BindingError as error:
            raise EngineMismatchError(str(error)) from error

    def _child(self, move: int) -> int | None:
        first = int(self._tree.first[0])
        if first == LEAF:
            return None
        children = np.flatnonzero(self._tree.move[first : first + int(self._tree.size[0])] == move)
        return first + int(children[0]) if len(children) else None

    def _opinion(self, visits_before: int, stop: StopFlag) -> Opinion:
        """The best move so far: the only one while the other player is in control."""
        tree = self._tree
        # Values are those of the player who moved into a node: at the root, of the one who is not in control.
        in_control = int(self._position[TURN]) == self._player
        info: dict[str, object] = {
            "visits": int(tree.visits[0]),
            "new_visits": int(tree.visits[0]) - visits_before,
            "nodes": tree.nodes,
            "depth": self._prover.depth,
        }
        if in_control:
            child = best_child(tree)
            if child < 0:
                raise EngineMismatchError("nothing can be placed in a match that goes on")
            number = int(tree.move[child])
            if tree.proof[0] == MOVED_IN_WINS:
                number = self._hardest_move(number, stop)
            move = self._binding.terms[self._player][number]
            value = float(tree.wins[child] / max(1, tree.visits[child]))
        else:
            move = self._binding.waiting[self._player]
            value = float(tree.wins[0] / max(1, tree.visits[0]))
        candidates, line = (self._candidates(child), self._line(child)) if in_control else ((), ())
        proof = int(tree.proof[0])
        if proof:
            value = 1.0 if (proof == MOVED_IN_WINS) != in_control else 0.0
        return Opinion(move, Score(100.0 * value, bool(proof)), bool(proof), info, candidates, line)

    def _candidates(self, best: int) -> tuple[Candidate, ...]:
        """The best child of the root, then the most visited ones."""
        tree, terms = self._tree, self._binding.terms[self._player]
        children = np.arange(int(tree.first[0]), int(tree.first[0] + tree.size[0]))
        by_visits = children[np.argsort(-tree.visits[children], kind="stable")]
        order = [best, *(int(child) for child in by_visits if child != best and tree.visits[child])]
        return tuple(
            Candidate(
                terms[int(tree.move[child])],
                _score(int(tree.proof[child]), 100.0 * float(tree.wins[child] / max(1, tree.visits[child]))),
                int(tree.visits[child]),
            )
            for child in order[:MOST_CANDIDATES]
        )

    def _line(self, child: int) -> tuple[Term, ...]:
        """The principal variation: from a child of the root, the most visited moves."""
        tree, position = self._tree, self._position.copy()
        line: list[Term] = []
        while len(line) < LONGEST_LINE:
            player, number = int(position[TURN]), int(tree.move[child])
            line.append(self._binding.terms[player][number])
            play(self._tables, position, number)
            first, size = int(tree.first[child]), int(tree.size[child])
            if first == LEAF or not size:
                break
            child = first + int(tree.visits[first : first + size].argmax())
            if tree.visits[child] < LEAST_VISITS:
                break
        return tuple(line)
