"""Circuits with one gate that reads another signal: when a match notices, and what it answers until then."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from agent.playing.messages import Thought
from agent.playing.situation import describe, legal_moves
from agent.search.engine import Opinion
from agent.serving.turn import MatchTurn
from games import rulesheets
from games.gdl.compile import compile_rules
from games.gdl.running.layout import FIRST_FLUENT
from games.gdl.running.machine import CircuitMachine
from games.machine import NO_MOVE, State, StateMachine
from tests.matches import own_interpreter, rules_of

CIRCUITS = 60


def with_one_wrong_gate(machine: CircuitMachine, rng: random.Random) -> CircuitMachine:
    """Returns a machine in whose legal moves, next state or goals one gate reads a constant or a fact."""
    programs = machine.game.programs
    part = rng.choice([name for name in ("legal", "next", "goal") if len(getattr(programs, name).inputs)])
    inputs = getattr(programs, part).inputs.copy()
    inputs[rng.randrange(len(inputs))] = rng.randrange(FIRST_FLUENT + len(machine.game.fluents))
    wrong = programs._replace(**{part: getattr(programs, part)._replace(inputs=inputs)})
    return CircuitMachine(replace(machine.game, programs=wrong, lean=None, freed=None))


def turn_of(number: int, right: tuple[StateMachine, State], wrong: tuple[StateMachine, State]) -> MatchTurn:
    """Returns a turn in which both processes have spoken; the search wants the last move that it takes for legal."""
    here, there = (
        describe(machine, state, 0, number, legal_moves(machine, state), None) for machine, state in (right, wrong)
    )
    turn = MatchTurn(number, reference=here, search=there)
    if there.legal:
        turn.thought = Thought(number, there.digest, Opinion(there.legal[-1], final=True), "fake")
    return turn


@pytest.mark.parametrize(("name", "at_most"), [("tic_tac_toe", 9), ("connect_four", 42), ("breakthrough", 80)])
def test_wrong_circuit_is_noticed_in_the_first_wrong_turn(name: str, at_most: int) -> None:
    """Its state, legal moves or goals differ there, and every answer is legal; what differs in no turn does no harm."""
    machine, reference, rng = compile_rules(rules_of(rulesheets.text(name))), own_interpreter(name), random.Random(1)
    noticed = []
    for _ in range(CIRCUITS):
        wrong = with_one_wrong_gate(machine, rng)
        state, mistaken, number = reference.initial(), wrong.initial(), 0
        while True:
            turn, legal = turn_of(number, (reference, state), (wrong, mistaken)), legal_moves(reference, state)
            assert not legal[0] or turn.best_move() in legal[0]
            if turn.search_is_wrong:
                noticed.append(number)
                break
            assert wrong.facts(mistaken) == reference.facts(state)
            if reference.terminal(state):
                break
            joint_move = [rng.choice(moves or [NO_MOVE]) for moves in legal]
            state, mistaken = reference.next(state, joint_move), wrong.next(mistaken, joint_move)
            number += 1
    assert len(noticed) > CIRCUITS // 5
    assert max(noticed) <= at_most
