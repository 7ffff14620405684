"""`BlokboxEngine`: plays any recognised member of the Blokbox family."""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import NDArray

from agent.engine import Engine, EngineMismatchError, Opinion, Report, StopFlag
from agent.search.blokbox.tree import LEAF, WON, Tree, best_child, clear, grow, keep_subtree, new_tree
from agent.search.blokbox.tuning import default_tuning
from games.gdl.machine import CircuitMachine
from games.machine import State, StateMachine, Term
from games.native.blokbox.binding import Binding, BindingError
from games.native.blokbox.recognise import recognise
from games.native.blokbox.rules import new_scratch, play
from games.native.blokbox.variant import TURN

CAPACITY = 6_000_000
"""Nodes of the tree, 25 bytes each; there are two trees, one of them only while a subtree is being kept."""
VISITS_PER_CALL = 4_000
"""Visits between two looks at whether the best move changed: 20..40 ms."""

_GO = np.zeros(1, np.uint8)


def make_engine(machine: StateMachine, role: int) -> BlokboxEngine | None:
    """The engine for a compiled game of the family; None for any other game."""
    if not isinstance(machine, CircuitMachine):
        return None
    binding = recognise(machine)
    return None if binding is None else BlokboxEngine(machine, binding, role)


class BlokboxEngine(Engine):
    """Tree search on the native board. The reference machine is only asked for the facts of its states."""

    name = "blokbox"

    def __init__(self, machine: StateMachine, binding: Binding, role: int, *, capacity: int = CAPACITY) -> None:
        self._machine = machine
        self._binding = binding
        self._player = binding.player(role)
        self._tables = binding.variant.tables
        self._tuning = default_tuning(binding.variant)
        self._scratch = new_scratch(binding.variant, 4)
        self._seed = np.array([secrets.randbits(63)], np.uint64)
        self._tree = new_tree(capacity)
        self._spare: Tree = new_tree(capacity)
        self._position = binding.variant.start.copy()

    def begin(self, state: State) -> None:
        self._position = self._read(state)
        clear(self._tree)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        player = int(self._position[TURN])
        move = self._binding.moves[player].get(joint_move[self._binding.roles[player]])
        if move is None:
            raise EngineMismatchError(f"no native move is {joint_move[self._binding.roles[player]]!r}")
        play(self._tables, self._position, move)
        if not np.array_equal(self._position, self._read(state)):
            raise EngineMismatchError("the native position is not the reference machine's")
        child = self._child(move)
        if child is None:
            clear(self._tree)
        else:
            keep_subtree(self._tree, child, self._spare)
            self._tree, self._spare = self._spare, self._tree

    def think(self, stop: StopFlag, report: Report, seconds: float | None) -> None:
        # The first visit expands the root, so that there is an opinion even where `stop` is set already.
        visits = self._grow(1, _GO)
        last: Opinion | None = None
        step = 50
        while True:
            visits += self._grow(step, stop)
            opinion = self._opinion(visits)
            if last is None or (opinion.move, opinion.proven) != (last.move, last.proven) or stop[0]:
                report(opinion)
                last = opinion
            if stop[0] or opinion.proven or self._tree.proof[0] != 0:
                return
            step = VISITS_PER_CALL

    def _grow(self, visits: int, stop: StopFlag) -> int:
        done = grow(self._tables, self._position, self._tree, self._tuning, visits, stop, self._scratch, self._seed)
        return int(done)

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

    def _opinion(self, visits: int) -> Opinion:
        """The best move so far: the only one while the other player is in control."""
        tree = self._tree
        # Values are those of the player who moved into a node: at the root, of the one who is not in control.
        in_control = int(self._position[TURN]) == self._player
        info: dict[str, object] = {"visits": int(tree.visits[0]), "new_visits": visits, "nodes": int(tree.used[0])}
        if not in_control:
            value = 100.0 * tree.wins[0] / max(1, tree.visits[0])
            if tree.proof[0]:
                value = 100.0 if tree.proof[0] == WON else 0.0
            return Opinion(self._binding.waiting[self._player], float(value), bool(tree.proof[0]), info)
        child = best_child(tree)
        if child < 0:
            raise EngineMismatchError("nothing can be placed in a match that goes on")
        value = 100.0 * tree.wins[child] / max(1, tree.visits[child])
        if tree.proof[child]:
            value = 100.0 if tree.proof[child] == WON else 0.0
        proven = tree.proof[child] == WON or tree.proof[0] != 0
        move = self._binding.terms[self._player][int(tree.move[child])]
        return Opinion(move, float(value), bool(proven), info)
