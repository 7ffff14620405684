"""The principal variation of any game, read off the transposition table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from agent.search.engine import LONGEST_LINE
from agent.search.pvs.analysis import PvsAnalyser, PvsVerdict
from agent.search.pvs.engine import key_of, principal_variation
from agent.search.pvs.expansion import place_root
from agent.search.pvs.workspace import ROOT
from games.gdl.running.machine import CircuitMachine
from games.machine import State
from tests.agent.search.features import features_of
from tests.agent.search.pvs.sheets import heap
from tests.circuits import Compile

States = Callable[[CircuitMachine, int], list[State]]


def test_keys_are_those_of_the_search(own: Compile, random_states: States) -> None:
    """`key_of` agrees with the kernels."""
    machine = own("connect_four")
    searcher = PvsAnalyser(machine, features_of(machine), megabytes=1).searchers[0]
    for state in random_states(machine, 20):
        packed = machine.pack(state)
        assert place_root(searcher.game, packed) > 0
        assert key_of(packed, searcher.game.zobrist) == int(searcher.work.key[ROOT, 0])


def moves_of(machine: CircuitMachine) -> list[object]:
    """All moves, numbered over all roles."""
    return [move for moves in machine.game.moves for move in moves]


@pytest.mark.parametrize("name", ["connect_four", "breakthrough"])
def test_line_is_as_long_as_the_search_was_deep(own: Compile, name: str) -> None:
    """Each of its moves is legal for the role that has a choice."""
    machine = own(name)
    analyser = PvsAnalyser(machine, features_of(machine), megabytes=16)
    verdicts: list[PvsVerdict] = []
    state = machine.initial()
    analyser.analyse(machine.pack(state), np.zeros(1, np.uint8), verdicts.append, 4)
    first = machine.game.moves[0][verdicts[-1].move]
    line = principal_variation(machine, analyser.table, analyser.zobrist, state, 0, first)
    assert line[0] == first
    assert 4 <= len(line) <= LONGEST_LINE
    for ply, move in enumerate(line):
        role = ply % 2
        assert move in machine.legal(state, role)
        joint_move = [machine.legal(state, 0)[0], machine.legal(state, 1)[0]]
        joint_move[role] = move
        state = machine.next(state, joint_move)


def test_line_of_a_proven_match_leads_to_its_end(machine_of: Compile, random_states: States) -> None:
    """Also where a role moves twice, and where nobody has a choice for a ply."""
    machine = machine_of(heap(9))
    seen = set()
    for state in random_states(machine, 30):
        roles = [role for role in (0, 1) if len(machine.legal(state, role)) > 1]
        if len(roles) != 1:
            continue
        role = roles[0]
        analyser = PvsAnalyser(machine, features_of(machine), megabytes=1)
        verdicts: list[PvsVerdict] = []
        analyser.analyse(machine.pack(state), np.zeros(1, np.uint8), verdicts.append)
        move = moves_of(machine)[verdicts[-1].move]
        line = principal_variation(machine, analyser.table, analyser.zobrist, state, role, move)
        for played in line:
            legal = [machine.legal(state, other) for other in (0, 1)]
            while all(len(moves) == 1 for moves in legal):
                state = machine.next(state, [moves[0] for moves in legal])
                legal = [machine.legal(state, other) for other in (0, 1)]
            (chooser,) = (other for other in (0, 1) if len(legal[other]) > 1)
            assert played in legal[chooser]
            state = machine.next(state, [played if other == chooser else legal[other][0] for other in (0, 1)])
        seen.add(len(line) > 1)
    assert seen == {False, True}


def test_nothing_is_known_of_an_empty_table(own: Compile) -> None:
    """Without an entry in the table, the line is the first move."""
    machine = own("connect_four")
    analyser = PvsAnalyser(machine, features_of(machine), megabytes=1)
    state = machine.initial()
    move = machine.legal(state, 0)[0]
    assert principal_variation(machine, analyser.table, analyser.zobrist, state, 0, move) == (move,)
