"""The principal variation, read off the transposition table for display.

In plain Python: it is wanted too seldom to compile a kernel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agent.search.alphabeta.table import look_up
from agent.search.engine import LONGEST_LINE
from agent.search.pvs.table import SIDE_KEY, child_of
from games.gdl.running.batches import facts_in
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term


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
