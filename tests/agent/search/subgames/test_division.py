"""Parts of games as separate games."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from agent.search.subgames.division import WAIT, find_subgames
from games import rulesheets
from games.gdl.compile import warm_kernels
from games.gdl.running.machine import CircuitMachine
from tests.circuits import machine_of
from tests.heaps import ALTERNATING, BOTH_NEEDED, FREE_CHOICE
from tests.matches import random_match


def follow(machine: CircuitMachine, expected: int, matches: int) -> None:
    """Plays random matches, with this many parts alongside."""
    subgames = find_subgames(machine)
    assert len(subgames) == expected
    assert [part.state(machine.initial()) for part in subgames] == [part.machine.initial() for part in subgames]
    chosen = random.Random(1)
    for _ in range(matches):
        for state, joint, following in random_match(machine, chosen):
            for part in subgames:
                own = part.state(state)
                for role in (0, 1):
                    legal = [move for move in machine.legal(state, role) if part.has(role, move)]
                    assert part.machine.legal(own, role) == (legal or [WAIT])
                assert part.machine.next(own, part.joint_move(joint)) == part.state(following)


def test_two_heaps_are_two_games() -> None:
    """Each has half of the facts, and whose turn it is."""
    machine = machine_of(ALTERNATING)
    follow(machine, 2, 10)
    # A heap has seven things only at the beginning: no move leads there.
    heaps = [
        {fact[1] for fact in part.machine.game.fluents if fact[0] == "heap" and fact[2] != "7"}
        for part in find_subgames(machine)
    ]
    assert sorted(map(sorted, heaps)) == [["1"], ["2"]]
    for part in find_subgames(machine):
        assert sum(fact[0] == "turn" for fact in part.machine.game.fluents) == 4


@pytest.mark.parametrize("name", ["connectFourSimultaneous", "chinook"])
def test_real_sheets_fall_apart(corpus: Path, name: str) -> None:
    """Needs the corpus. Two boards each, on which the roles move alternately."""
    follow(machine_of((corpus / f"{name}.kif").read_text()), 2, 2)


def test_dual_boards_are_left_alone(corpus: Path) -> None:
    """Needs the corpus. Two boards, but the mover chooses between them."""
    assert find_subgames(machine_of((corpus / "dualConnect4.kif").read_text())) == []


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "rock_paper_scissors", "three_way_line"])
def test_other_games_are_one(name: str) -> None:
    assert find_subgames(machine_of(rulesheets.text(name))) == []


def test_what_does_not_suit_is_left_alone() -> None:
    """A choice between parts; goals that are not the sum of the parts'; recursive rules."""
    assert find_subgames(machine_of(FREE_CHOICE)) == []
    assert find_subgames(machine_of(BOTH_NEEDED)) == []
    assert find_subgames(warm_kernels()) == []
