"""A search in a match that begins in the middle of another one."""

from __future__ import annotations

import random

import pytest

from agent.playing.messages import Begin, Checkpoint, Prepared, Situation, Thought, Turn
from agent.playing.search import Search
from agent.record.positions import from_position
from games import rulesheets
from games.gdl.compile import warm_kernels
from games.gdl.rules.check import check
from games.machine import Term
from protocol.kif import read_rulesheet, write
from protocol.messages import Start
from tests.agent.playing.line import Line, running
from tests.circuits import own_machine
from tests.processes import PATIENCE


@pytest.mark.e2e
def test_match_taken_back_is_played_by_the_native_engine() -> None:
    """A match of Reversi that begins where moves were taken back to is played by its engine to the end."""
    warm_kernels()
    machine, rulesheet = own_machine("reversi"), read_rulesheet(rulesheets.text("reversi"))
    chance = random.Random(3)
    state = machine.initial()

    def joint_move(own: Term | None = None) -> tuple[Term, ...]:
        moves = [chance.choice(sorted(machine.legal(state, role), key=write)) for role in (0, 1)]
        return (own or moves[0], moves[1])

    for _ in range(30):
        state = machine.next(state, joint_move())
    rules = from_position(rulesheet, machine.facts(state))
    assert rules is not None
    role = check(rules).roles[0]
    line = Line()
    begin = Begin(Start("m.2", role, rules, 60, 1), Checkpoint(), 60.0, True, compile=True)

    with running(Search(line, begin), line):
        reports = []
        while not any(isinstance(report, Prepared) for report in reports):
            reports.append(line.reports.get(timeout=PATIENCE))
        assert reports[-1] == Prepared("reversi", compiled=True)
        turn, last = 0, None
        while not machine.terminal(state):
            line.commands.put(Turn(last, 1.0))
            while True:
                report = line.reports.get(timeout=PATIENCE)
                assert not isinstance(report, Prepared)
                if isinstance(report, Thought) and report.turn == turn:
                    break
            assert report.engine == "reversi"
            assert report.opinion.move in machine.legal(state, 0)
            last = joint_move(report.opinion.move)
            state = machine.next(state, last)
            turn += 1
        line.commands.put(Turn(last, None))
        while not (isinstance(report := line.reports.get(timeout=PATIENCE), Situation) and report.terminal):
            pass
        assert report.goals == tuple(machine.goal(state, role) for role in (0, 1))
