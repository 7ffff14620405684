"""What helpers are said to bring: the arithmetic of it, and that it can be measured."""

from __future__ import annotations

import math

import pytest

from agent.cluster.searching.messages import ANSWERS_PER_SECOND, MOST_OFTEN, pause
from agent.measuring.speed.helper_cost import bench_helpers, merge_costs, split_costs
from agent.measuring.speed.helper_gain import HELPERS, learnt, makespan, split_gain, tree_gain
from games.gdl.compile import compile_rules
from games.gdl.rules.check import check
from games.rulesheets import text
from protocol.kif import read_rulesheet


def test_the_engine_joins_after_the_first_move() -> None:
    """Whoever is free takes the next move; the first one is nobody's but the engine's."""
    assert makespan([4, 2, 2, 2, 2], 0) == 12
    assert makespan([4, 2, 2, 2, 2], 1) == 6
    assert makespan([4, 2, 2, 2, 2], 4) == 4
    assert makespan([1, 9, 1], 2) == 9
    assert makespan([5], 3) == 5


def test_all_helpers_together_answer_so_often() -> None:
    """The more there are, the seldomer each of them."""
    assert pause(1) == MOST_OFTEN
    assert 600 / pause(600) == ANSWERS_PER_SECOND


def test_costs_and_gains_of_a_small_game() -> None:
    """All numbers of helpers are there, and nothing costs nothing."""
    machine = compile_rules(check(read_rulesheet(text("tic_tac_toe"))))
    costs = merge_costs(machine, 0, 0.01)
    assert [cost.helpers for cost in costs] == list(HELPERS[1:])
    assert all(cost.milliseconds > 0 and cost.kilobytes > 0 for cost in costs)
    prepared = learnt(machine, 0, 0.0)
    assert prepared is not None
    messages = split_costs(machine, 0, prepared, 0.01)
    assert messages is not None
    assert [cost.helpers for cost in messages] == list(HELPERS[1:])
    assert all(cost.milliseconds > 0 and cost.kilobytes > 0 for cost in messages)
    gain = tree_gain(machine, 0, 1, 0.002)
    assert gain.positions == 1
    assert all(0 <= regret <= 1 for regret in (*gain.apart.values(), *gain.together.values()))
    assert all(math.isnan(error) for error in gain.errors.values())


def test_no_position_is_begun_that_there_is_no_time_for(capsys: pytest.CaptureFixture[str]) -> None:
    """What has been left out is said, with what it would take."""
    machine = compile_rules(check(read_rulesheet(text("tic_tac_toe"))))
    assert tree_gain(machine, 0, 3, 0.002, until=0.0).positions == 0
    prepared = learnt(machine, 0, 0.0)
    assert prepared is not None
    assert split_gain(machine, 0, prepared, 3, 0.002, until=0.0) is None
    results = bench_helpers(["tic_tac_toe"], 1.0, 0.01)
    assert results["tic_tac_toe"]["trees"]["positions"] == 0
    assert "no position was simulated; one takes 192 s or more" in capsys.readouterr().out
