"""Parts of a game that are games in their own right; in each state, a role has moves in only one of them.

Random matches test the parts found by `parts`, which looks at rules only and ignores goals.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from agent.search.subgames.parts import find_parts
from games.gdl.circuit.builder import CircuitBuilder
from games.gdl.circuit.circuit import Circuit, keeping
from games.gdl.circuit.pool import FALSE, GATE, MOVE_SET
from games.gdl.running.batches import MatchPositions, facts_in, packed
from games.gdl.running.machine import CircuitMachine, compiled_game
from games.machine import State, Term

WAIT: Term = "(wait)"
"""A move that changes nothing, in parts. No rulesheet can spell it."""
MOST_GATE_INPUTS = 50_000
"""Size of the largest circuit to divide: a larger one takes a second."""
MATCHES = 64
"""Most random matches that test the parts."""
SHARE = 0.9
"""Least correlation between goals of matches and the sums of their parts' goals."""


class Subgame:
    """A part of a game of two roles: all else stays as at the beginning, and a role without moves in it waits."""

    def __init__(
        self, whole: CircuitMachine, circuit: Circuit, facts: Sequence[int], moves: Sequence[Sequence[int]]
    ) -> None:
        """`circuit` is that of the whole game, without factors. `facts` are indices of the part's fluents, `moves`
        indices of its moves by role, both ascending."""
        self._whole = whole
        self._facts = np.array(facts, np.int64)
        self.moves = moves
        """Per role, indices of the whole game's moves, which are the first ones of the part."""
        self.machine = CircuitMachine(compiled_game(_restricted(circuit, facts, moves)))
        self._terms = [{whole.game.moves[role][move] for move in some} for role, some in enumerate(moves)]

    def has(self, role: int, move: Term) -> bool:
        """Whether a move of the game is one of this part."""
        return move in self._terms[role]

    def state(self, state: State) -> State:
        """The part's state in a state of the game."""
        return self.machine.unpack(self.states(self._whole.pack(state)[None, :])[0])

    def joint_move(self, joint_move: Sequence[Term]) -> tuple[Term, ...]:
        """The joint move of this part in a joint move of the game."""
        return tuple(move if self.has(role, move) else WAIT for role, move in enumerate(joint_move))

    def states(self, states: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The part's packed states in packed states (n, words) of the game."""
        return packed(facts_in(states, 64 * states.shape[1])[:, self._facts])

    def joint(self, joint: NDArray[np.int32]) -> NDArray[np.int32]:
        """Move indices in the part for joint moves (n, 2) of the game."""
        own = np.empty_like(joint)
        for role, some in enumerate(self.moves):
            place = np.full(len(self._whole.game.moves[role]), len(some), np.int32)
            place[list(some)] = np.arange(len(some))
            own[:, role] = place[joint[:, role]]
        return own


def find_subgames(machine: CircuitMachine) -> list[Subgame]:
    """The parts of a game of two roles that can be played separately; none if there are fewer than two.

    In random matches each part obeys its own rules, no role ever has a choice between moves of several parts, and the
    difference of the goals is the sum of the parts' differences. The idea: Cox, Schkufza, Madsen and Genesereth,
    "Factoring general games using propositional automata", 2009.
    """
    if len(machine.roles) != 2 or machine.game.edges > MOST_GATE_INPUTS:
        return []
    circuit = always_moving(machine.game.circuit)
    found = find_parts(circuit)
    if len(found.parts) < 2:
        return []
    index = {fact: i for i, fact in enumerate(machine.game.fluents)}
    common = [index[fact] for fact in (*found.time, *found.idle)]
    subgames = [
        Subgame(
            machine,
            circuit,
            sorted([*common, *(index[fact] for fact in part.facts)]),
            [sorted(machine.move_index(role, move) for move in part.moves.get(role, ())) for role in (0, 1)],
        )
        for part in found.parts
    ]
    positions = machine.sample.first(MATCHES)
    if all(_follows(machine, one, positions) for one in subgames) and _leaves_no_choice(machine, subgames, positions):
        return subgames if _adds_up(machine, subgames, positions) else []
    return []


def _follows(machine: CircuitMachine, part: Subgame, positions: MatchPositions) -> bool:
    """Whether moves of a part are legal by its own rules, and change it accordingly."""
    states, going = part.states(positions.states), ~positions.terminal
    legal, own = _legal(machine, positions.states), _legal(part.machine, states)
    for role, some in enumerate(part.moves):
        if (legal[role][:, list(some)] != own[role][:, :-1])[going].any():
            return False
    inner = going[:-1] & (positions.match[:-1] == positions.match[1:])
    following = part.machine.next_of(states[:-1][inner], part.joint(positions.joint[:-1][inner]))
    return bool((following == states[1:][inner]).all())


def _leaves_no_choice(machine: CircuitMachine, subgames: Sequence[Subgame], positions: MatchPositions) -> bool:
    """Whether a role with several moves has all of them in one part."""
    for role, legal in enumerate(_legal(machine, positions.states[~positions.terminal])):
        inside = np.stack([legal[:, list(part.moves[role])].sum(axis=1) for part in subgames])
        count = legal.sum(axis=1)
        if ((count > 1) & (inside.max(axis=0) != count)).any():
            return False
    return True


def _adds_up(machine: CircuitMachine, subgames: Sequence[Subgame], positions: MatchPositions) -> bool:
    """Whether role 0's lead in goals correlates with the sum of its leads in the parts."""
    ends = positions.states[positions.terminal]
    worth = _difference(machine, ends)
    together = np.sum([_difference(part.machine, part.states(ends)) for part in subgames], axis=0)
    if len(ends) < 2 or worth.std() == 0 or together.std() == 0:
        return False
    return float(np.corrcoef(worth, together)[0, 1]) >= SHARE


def _difference(machine: CircuitMachine, states: NDArray[np.uint64]) -> NDArray[np.float64]:
    goals = machine.worths_of(states)
    return goals[:, 0] - goals[:, 1]


def _legal(machine: CircuitMachine, states: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(n, moves) legal moves, by role."""
    legal, _ = machine.legal_of(states)
    middle = int(machine.programs.role_start[1])
    return legal[:, :middle], legal[:, middle:]


def _restricted(circuit: Circuit, facts: Sequence[int], moves: Sequence[Sequence[int]]) -> Circuit:
    """The circuit with these fluents and moves, by index; a role without a legal one waits."""
    circuit = _with_moves(circuit, moves)
    builder, legal, begin = CircuitBuilder.extending(circuit.pool), list[int](), 0
    for some in moves:
        own = circuit.outputs.legal[begin : begin + len(some)].tolist()
        legal += [*own, builder.both(*(literal ^ 1 for literal in own))]
        begin += len(some)
    pool = builder.pool._replace(moves=builder.pool.moves + np.int32(1))
    outputs = circuit.outputs._replace(legal=np.array(legal, np.int32))
    waiting = [[*some, WAIT] for some in circuit.moves]
    kept = np.zeros(len(circuit.fluents), np.bool_)
    kept[list(facts)] = True
    return keeping(replace(circuit, moves=waiting, pool=pool, outputs=outputs), kept)


def always_moving(circuit: Circuit) -> Circuit:
    """The circuit in which every role makes a move in each step: rules for making none are simplified away."""
    every = [range(len(moves)) for moves in circuit.moves]
    return keeping(_with_moves(circuit, every), np.ones(len(circuit.fluents), np.bool_))


def _with_moves(circuit: Circuit, moves: Sequence[Sequence[int]]) -> Circuit:
    """The circuit with these moves alone, by role and index: no move set holds another."""
    pool, outputs = deepcopy(circuit.pool), circuit.outputs
    places = [np.full(n, -1, np.int32) for n in pool.moves.tolist()]
    for place, some in zip(places, moves, strict=True):
        place[list(some)] = np.arange(len(some), dtype=np.int32)
    for signal in np.flatnonzero(pool.kind == MOVE_SET):
        first = pool.start[signal]
        inside = places[pool.owner[signal]][pool.items[first : first + pool.size[signal]]]
        inside = inside[inside >= 0]
        if not len(inside):
            # The gate of a false input.
            inside, pool.kind[signal], pool.owner[signal] = np.array([FALSE], np.int32), GATE, -1
        pool.items[first : first + len(inside)], pool.size[signal] = inside, len(inside)
    begins = np.cumsum([0, *map(len, circuit.moves)])
    chosen = [begin + move for begin, some in zip(begins, moves, strict=False) for move in some]
    return replace(
        circuit,
        moves=[[of_role[move] for move in some] for of_role, some in zip(circuit.moves, moves, strict=True)],
        pool=pool._replace(moves=np.array([len(some) for some in moves], np.int32)),
        outputs=outputs._replace(legal=outputs.legal[chosen]),
    )
