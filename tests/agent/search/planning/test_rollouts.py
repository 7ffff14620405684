"""Nested rollouts."""

from __future__ import annotations

import numpy as np

from agent.search.planning.plan import Known, Plan
from agent.search.planning.rollouts import RATE, Rollouts, _adapt
from tests.agent.search.planning.puzzles import WALK, counting
from tests.circuits import Compile


def test_climbs_to_the_best_goal(machine_of: Compile) -> None:
    """Better and better matches with their true goals; random play hardly ever finds 16 stones on 31 cells."""
    machine = machine_of(counting(31))
    rollouts = Rollouts(machine)
    known = Known()
    plans = [found for found in rollouts.plans(machine.initial(), known) if isinstance(found, Plan)]
    assert [plan.goal for plan in plans] == sorted({plan.goal for plan in plans})
    assert plans[-1].goal == known.goal == 100
    for plan in plans:
        state = machine.initial()
        for move in plan.moves:
            assert machine.game.moves[0][move] in machine.legal(state, 0)
            state = machine.next(state, (machine.game.moves[0][move],))
        assert machine.terminal(state)
        assert machine.goal(state, 0) == plan.goal


def test_takes_over_what_others_have_found(machine_of: Compile) -> None:
    """Only matches better than the best known one are findings."""
    machine = machine_of(WALK)
    known = Known(60)
    found = Rollouts(machine).plans(machine.initial(), known)
    plan = next(finding for finding in found if finding is not None)
    assert isinstance(plan, Plan)
    assert plan.goal == 90


def test_adapting_makes_a_sequence_likelier(machine_of: Compile) -> None:
    """After a few adaptations, nearly all lanes play it."""
    machine = machine_of(WALK)
    rollouts = Rollouts(machine)
    bits = np.unpackbits(machine.pack(machine.initial()).view(np.uint8), bitorder="little")
    rollouts._work.root[:] = np.where(bits[: len(rollouts._work.root)] != 0, ~np.uint64(0), np.uint64(0))
    policy = rollouts._policies[0]
    right = machine.move_index(0, "right")
    sequence = np.full(3, right, np.int32)
    for _ in range(20):
        _adapt(machine.programs, rollouts._work, policy, sequence, RATE)
    rollouts._roll(policy)
    assert (rollouts._work.length == 3).mean() > 0.9
