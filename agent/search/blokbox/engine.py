"""`BlokboxEngine`: plays any recognised member of the Blokbox family."""

from __future__ import annotations

import os
import secrets
import threading
import time

import numpy as np
from numpy.typing import NDArray

from agent.search.blokbox import tree as puct
from agent.search.blokbox.guiding.evaluation import room
from agent.search.blokbox.guiding.tuning import tuning_for
from agent.search.blokbox.proving.alphabeta import WIN
from agent.search.blokbox.proving.prover import BlokboxProver
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
"""Nodes of a tree, 25 bytes each; a second tree takes subtrees that are kept."""
VISITS_PER_CALL = 2_000
"""Visits between two checks whether the best move changed: 20..40 ms."""

PROVABLE_ROOM = 230
"""Room (see `evaluation.room`) below which the side thread proves results: on 14x14 cells after some ten plies, just
before the first proofs succeed within 5 s."""
PROVABLE_ROOM_BESIDE = 160
"""The same where both threads share one core, and the prover costs half of the tree search: 60 % (see
docs/experiments.md)."""

REPORT_SECONDS = 0.25
"""An unchanged opinion is reported again after this time, with newer figures."""

LEAST_VISITS = 8
"""Fewest visits of a move of the principal variation."""

_GO = np.zeros(1, np.uint8)


def make_engine(machine: StateMachine, role: int) -> BlokboxEngine | None:
    """The engine for a compiled game of the family; None for any other game."""
    if not isinstance(machine, CircuitMachine):
        return None
    binding = recognise(machine)
    return None if binding is None else BlokboxEngine(machine, binding, role)


def _score(proof: int, estimate: float) -> Score:
    """The score of a node for the player who moved into it; `estimate` is 0..100."""
    goal = {puct.MOVED_IN_WINS: 100.0, puct.MOVED_IN_LOSES: 0.0}.get(proof)
    return Score(estimate) if goal is None else Score(goal, proven=True)


def warm_kernels() -> None:
    """Compile all kernels of the search, or load them from the cache, by searching a board of four cells."""
    cell = Shape(0, ((0, 0),), frozenset({(0, 1), (1, 0)}))
    starts = frozenset({(0, 0)}), frozenset({(1, 1)})
    variant = BlokboxVariant(2, 2, (cell,), (frozenset({0}), frozenset({0})), starts)
    verify.warm_kernels(variant)
    tuning = tuning_for(variant, general.load())
    tree, spare = puct.new_tree(16), puct.new_tree(16)
    workspace = puct.new_tree_workspace(variant, 1)
    puct.grow(variant.tables, variant.start, tree, 0, tuning, 4, _GO, workspace)
    puct.keep_subtree(tree, puct.best_child(tree), spare)
    BlokboxProver(variant, tuning, entries=2).run(variant.start, _GO)


class BlokboxEngine(Engine):
    """Tree search on the native board; a side thread grows the same tree early in the match and proves results later.

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
        self._workspaces = [
            puct.new_tree_workspace(binding.variant, secrets.randbits(63)) for _ in range(min(2, cores))
        ]
        self._side_thread: threading.Thread | None = None
        self._prover = BlokboxProver(binding.variant, self._tuning)
        self._tree = puct.new_tree(capacity, len(self._workspaces))
        self._spare: puct.PuctTree = puct.new_tree(capacity, len(self._workspaces))
        self._position = binding.variant.start.copy()

    def begin(self, state: State) -> None:
        self._join_side_thread()
        self._position = self._read(state)
        self._prover.forget()
        puct.clear(self._tree)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._join_side_thread()
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
            puct.clear(self._tree)
        else:
            puct.keep_subtree(self._tree, child, self._spare)
            self._tree, self._spare = self._spare, self._tree
            self._forget_unsupported_proof()

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        self._join_side_thread()
        before = int(self._tree.visits[0])
        # The first visit expands the root: there is an opinion even if `stop` is set already.
        self._grow(0, 1, _GO)
        last = self._opinion(before)
        report(last)
        reported = time.monotonic()
        # A flag of its own: the side thread must also stop when this one has a proof.
        halt = np.zeros(1, np.uint8)
        self._side_thread = threading.Thread(
            target=self._run_side_thread, args=(halt,), name="blokbox side thread", daemon=True
        )
        self._side_thread.start()
        try:
            left = 1 << 62 if limit.nodes is None else limit.nodes
            while not stop[0] and not last.final and left > 0:
                visits = min(VISITS_PER_CALL, left)
                left -= visits
                self._grow(0, visits, stop)
                self._take_proofs()
                opinion = self._opinion(before)
                now = time.monotonic()
                changed = (opinion.move, opinion.final) != (last.move, last.final)
                if stop[0] or left <= 0 or changed or now - reported >= REPORT_SECONDS:
                    report(opinion)
                    reported = now
                last = opinion
        finally:
            halt[0] = 1

    def _join_side_thread(self) -> None:
        """Wait for the side thread, which may take long to stop on a busy machine."""
        if self._side_thread is not None:
            self._side_thread.join()
            self._side_thread = None

    def _run_side_thread(self, halt: StopFlag) -> None:
        """Prove where that can succeed, else grow the tree if there is a core for it."""
        provable = PROVABLE_ROOM if len(self._workspaces) > 1 else PROVABLE_ROOM_BESIDE
        if room(self._position) <= provable:
            self._prover.run(self._position, halt)
        elif len(self._workspaces) > 1:
            self._grow(1, 1 << 40, halt)

    def _forget_unsupported_proof(self) -> None:
        """Forget the root's proof unless the tree has a move for it; the prover will soon find it again."""
        tree = self._tree
        children = slice(int(tree.first[0]), int(tree.first[0] + tree.size[0]))
        winning = (tree.proof[children] == puct.MOVED_IN_WINS).any()
        if tree.first[0] == puct.LEAF or (tree.proof[0] == puct.MOVED_IN_LOSES and not winning):
            tree.proof[0] = 0

    def _take_proofs(self) -> None:
        """Copy the prover's results for the root and its moves into the tree."""
        tree, prover = self._tree, self._prover
        first, size = int(tree.first[0]), int(tree.size[0])
        if first == puct.LEAF:
            return
        moves = tree.move[first : first + size]
        proofs = tree.proof[first : first + size]
        proofs[(prover.lost[moves] != 0) & (proofs == 0)] = puct.MOVED_IN_LOSES
        if prover.score == WIN:
            proofs[moves == prover.best_move] = puct.MOVED_IN_WINS
            tree.proof[0] = puct.MOVED_IN_LOSES
        elif prover.score == -WIN or (proofs == puct.MOVED_IN_LOSES).all():
            tree.proof[0] = puct.MOVED_IN_WINS

    def _grow(self, thread: int, visits: int, stop: StopFlag) -> None:
        puct.grow(
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
        if first == puct.LEAF:
            return None
        children = np.flatnonzero(self._tree.move[first : first + int(self._tree.size[0])] == move)
        return first + int(children[0]) if len(children) else None

    def _opinion(self, visits_before: int) -> Opinion:
        """The best move so far: the only one while the other player is in control."""
        tree = self._tree
        # Values are of the player who moved into a node: at the root, of the one not in control.
        in_control = int(self._position[TURN]) == self._player
        info: dict[str, object] = {
            "visits": int(tree.visits[0]),
            "new_visits": int(tree.visits[0]) - visits_before,
            "nodes": tree.nodes,
            "depth": self._prover.depth,
        }
        if in_control:
            child = puct.best_child(tree)
            if child < 0:
                raise EngineMismatchError("nothing can be placed in a match that goes on")
            number = int(tree.move[child])
            move = self._binding.terms[self._player][number]
            value = float(tree.wins[child] / max(1, tree.visits[child]))
        else:
            move = self._binding.waiting[self._player]
            value = float(tree.wins[0] / max(1, tree.visits[0]))
        candidates, line = (self._candidates(child), self._line(child)) if in_control else ((), ())
        proof = int(tree.proof[0])
        if proof:
            value = 1.0 if (proof == puct.MOVED_IN_WINS) != in_control else 0.0
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
            if first == puct.LEAF or not size:
                break
            child = first + int(tree.visits[first : first + size].argmax())
            if tree.visits[child] < LEAST_VISITS:
                break
        return tuple(line)
