"""Games suited to alpha-beta."""

from __future__ import annotations

import numpy as np
import pytest

from agent.search.pvs.survey import _opposed, survey
from tests.agent.search.pvs.sheets import COOPERATION, MARKS, heap
from tests.circuits import Compile


def test_survey_tells_games_apart(own: Compile, machine_of: Compile) -> None:
    """Alpha-beta suits turns and opposed goals."""
    suits = {
        "tic-tac-toe": own("tic_tac_toe"),
        "heap": machine_of(heap(8)),
        "marks": machine_of(MARKS),
        "rock paper scissors": own("rock_paper_scissors"),
        "cooperation": machine_of(COOPERATION),
    }
    found = {name: survey(machine) for name, machine in suits.items()}
    assert all(found.values())
    assert {name for name, one in found.items() if one is not None and one.suits} == {"tic-tac-toe", "heap"}
    assert {name for name, one in found.items() if one is not None and not one.turns} == {"rock paper scissors"}
    assert {name for name, one in found.items() if one is not None and not one.opposed} == {"cooperation", "marks"}
    marks = found["marks"]
    assert marks is not None
    assert marks.most_moves == 144


@pytest.mark.parametrize(
    ("goals", "opposed"),
    [
        ([[100, 0], [0, 100], [50, 50]], True),
        # Draws are worth nothing, and random play mostly draws.
        ([[0, 0]] * 50 + [[100, 0], [0, 100]], True),
        # Both collect points.
        ([[20, 10], [10, 30], [30, 40], [40, 10], [0, 20]], True),
        ([[10, 10], [30, 40], [50, 50]], False),
        # Points beyond the half are not the opponent's loss.
        ([[100, 40], [40, 100], [100, 100], [40, 40]], False),
        ([[100, 60], [60, 100]], True),
        # Random play always draws, or always loses.
        ([[50, 50], [50, 50]], True),
        ([[0, 100], [0, 100]], True),
        ([[100, 100], [100, 100]], False),
        ([[100, 0], [100, 100]], False),
    ],
)
def test_who_plays_against_whom(goals: list[list[int]], opposed: bool) -> None:
    """The roles are opponents unless both do well together."""
    assert _opposed(np.array(goals, np.float64)) == opposed


@pytest.mark.parametrize("name", ["eight_puzzle", "three_way_line"])
def test_survey_is_for_two_players(own: Compile, name: str) -> None:
    """One player, or three."""
    assert survey(own(name)) is None
