"""Parts of a game that are games in their own right; in each state, a role has moves in only one of them.

Random matches test the parts found by `parts`, which looks at rules only and ignores goals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agent.search.subgames.parts import find_parts
from games.gdl.circuit.circuit import Circuit
from games.gdl.circuit.pool import FALSE, TRUE
from games.gdl.running.batches import MatchPositions, facts_in, packed
from games.gdl.running.layout import FIRST_FLUENT
from games.gdl.running.machine import CircuitMachine, compiled_game
from games.gdl.running.rebuilding import WAIT, CircuitBuilder, acyclic, circuit_of, is_cyclic, set_members
from games.machine import State, Term

MOST_EDGES = 50_000
"""Most gate inputs of a circuit that is examined; this many take Python half a second."""
MATCHES = 64
"""Most random matches that test the parts."""
SHARE = 0.9
"""Least correlation between goals of matches and the sums of their parts' goals."""


class Subgame:
    """A part of a game of two roles: all else stays as at the beginning, and a role without moves in it waits."""

    def __init__(self, whole: CircuitMachine, facts: Sequence[int], moves: Sequence[Sequence[int]]) -> None:
        """`facts` are indices of the part's fluents, `moves` indices of its moves by role, both ascending."""
        self._whole = whole
        self._facts = np.array(facts, np.int64)
        self.moves = moves
        """Per role, indices of the whole game's moves, which are the first ones of the part."""
        self.machine = _restrict(whole, facts, moves)
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
    if len(machine.roles) != 2 or machine.game.edges > MOST_EDGES or is_cyclic(machine):
        return []
    found = find_parts(circuit_of(machine))
    if len(found.parts) < 2:
        return []
    index = {fact: i for i, fact in enumerate(machine.game.fluents)}
    common = [index[fact] for fact in (*found.time, *found.idle)]
    subgames = [
        Subgame(
            machine,
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


def _restrict(machine: CircuitMachine, facts: Sequence[int], moves: Sequence[Sequence[int]]) -> CircuitMachine:
    programs, game = machine.programs, machine.game
    builder = CircuitBuilder(len(facts), [len(some) + 1 for some in moves], programs.n_slots)
    literals = np.where(programs.initial != 0, TRUE, FALSE).astype(np.int32)
    literals[list(facts)] = 2 * np.arange(1, len(facts) + 1)
    slots, ends = builder.slots(programs.n_slots, 0), builder.slots(programs.n_goal_slots, 0)
    for some in (slots, ends):
        some[FIRST_FLUENT : FIRST_FLUENT + len(literals)] = literals
    for role, kept in enumerate(moves):
        place = {move: i for i, move in enumerate(kept)}
        for number, members in enumerate(set_members(machine, role)):
            if members:
                inside = [place[move] for move in members if move in place]
                slots[programs.first_set + number] = builder.move_set(role, inside)
    builder.copy(programs, slots, ends)
    legal: list[int] = []
    for begin, kept in zip(programs.role_start.tolist(), moves, strict=False):
        own = slots[programs.legal_slot[[begin + move for move in kept]]].tolist()
        legal += [*own, builder.both(*(literal ^ 1 for literal in own))]
    outputs = acyclic(
        legal=legal,
        following=slots[programs.next_slot[list(facts)]],
        terminal=int(slots[programs.terminal_slot]),
        goal=ends[programs.goal_slot],
    )
    circuit = Circuit(
        roles=game.roles,
        fluents=[game.fluents[fact] for fact in facts],
        always=game.always,
        initial=(programs.initial != 0)[list(facts)],
        moves=[[*(game.moves[role][move] for move in kept), WAIT] for role, kept in enumerate(moves)],
        goals=game.goals,
        pool=builder.pool,
        outputs=outputs,
    )
    return CircuitMachine(compiled_game(circuit))
