"""Alpha-beta where both players choose at once."""

from __future__ import annotations

import math

import numpy as np
import pytest

from agent.search.choosing.general import GeneralSearch
from agent.search.choosing.preparation import Preparation
from agent.search.choosing.trials import CLEAR_LEAD
from agent.search.engine import UNLIMITED, Limit, Opinion
from agent.search.pvs.simultaneous import SimultaneousSearch
from games.gdl.running.machine import CircuitMachine
from games.machine import State
from tests.agent.search.pvs.sheets import RACE
from tests.agent.search.stopping import StopWhen
from tests.circuits import Compile

GO = np.zeros(1, np.uint8)


@pytest.fixture(scope="module")
def race(machine_of: Compile) -> CircuitMachine:
    return machine_of(RACE)


def prepared(machine: CircuitMachine, role: int) -> Preparation:
    """A preparation with a first evaluation, and no trials."""
    preparation = Preparation(machine, role, threads=1, seed=1)
    preparation.run(machine.initial(), 0.0, GO, trial=False)
    return preparation


def place(machine: CircuitMachine, white: int, black: int, *tired: str) -> State:
    """A state of the race by the players' steps, and whether each may block."""
    facts = [("at", "w", str(white)), ("at", "b", str(black)), ("step", "1"), *(("tired", role) for role in tired)]
    return machine.state(facts)


def opinions_of(search: SimultaneousSearch, state: State) -> list[Opinion]:
    found: list[Opinion] = []
    search.begin(state)
    search.think(GO, found.append, Limit(1.0))
    return found


@pytest.mark.parametrize("role", [0, 1])
def test_wins_that_nothing_stops_are_proven(race: CircuitMachine, role: int) -> None:
    """A player one step from the end wins if the other may not block; the other one is helpless, and proves nothing."""
    state = place(race, 2, 0, "b") if role == 0 else place(race, 0, 2, "w")
    search = prepared(race, role).alpha_beta(role, threads=1, megabytes=1)
    assert isinstance(search, SimultaneousSearch)
    last = opinions_of(search, state)[-1]
    assert (last.move, last.final, last.score.goal) == ("run", True, 100)
    assert not search.helpless
    losing = prepared(race, 1 - role).alpha_beta(1 - role, threads=1, megabytes=1)
    assert isinstance(losing, SimultaneousSearch)
    found = opinions_of(losing, state)
    assert found
    assert not any(opinion.final or any(one.score.proven for one in opinion.candidates) for opinion in found)
    assert losing.helpless


def test_what_the_other_one_could_answer_is_no_loss(race: CircuitMachine) -> None:
    """White would win by guessing black's move; a black that sees white's never loses, which proves nothing."""
    search = prepared(race, 0).alpha_beta(0, threads=1, megabytes=1)
    assert isinstance(search, SimultaneousSearch)
    assert not any(opinion.final and opinion.score.goal != 100 for opinion in opinions_of(search, place(race, 2, 2)))


def test_helpless_alpha_beta_leaves_the_turn_to_tree_search(race: CircuitMachine) -> None:
    """It says so."""
    search = GeneralSearch(race, 1, threads=1, seed=1, memory_bytes=1 << 22)
    search._preparation = prepared(race, 1)
    search._preparation.trials.points = search._preparation.trials.matches = 24
    found: list[Opinion] = []
    search.begin(race.initial())
    search._search(GO, found.append, UNLIMITED)
    assert search.name == "alpha-beta"
    assert not found[-1].final
    search.begin(place(race, 2, 0, "b"))
    search._search(GO, found.append, Limit(0.2))
    assert search.name == "tree search"
    assert "could not answer" in search.reason
    assert found[-1].move in {"run", "rest"}


def test_trial_matches_are_for_the_role_that_is_played(race: CircuitMachine) -> None:
    """Each is played out, and always by the same role."""
    preparation = prepared(race, 1)
    with StopWhen(lambda: preparation.trials.matches > 1) as stop:
        preparation._try_out(math.inf, stop.flag, CLEAR_LEAD)
    assert preparation.trials.matches > 1
