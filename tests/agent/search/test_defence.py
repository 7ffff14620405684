"""Lost positions: the move after which a player who errs goes wrong most often."""

from __future__ import annotations

import pytest

from agent.search.engine import UNLIMITED, consider
from agent.search.leveled import LevelSearch
from agent.search.levels import Level
from games.machine import State, Term
from tests.agent.search.lost_games import HEAPS, STONE, ErringOpponent
from tests.circuits import Compile


@pytest.mark.parametrize("sheet", [STONE, HEAPS])
def test_a_lost_seat_makes_the_most_of_errors(machine_of: Compile, sheet: str) -> None:
    """Against a player who errs now and then its chances are nearly the best there are."""
    machine = machine_of(sheet)
    opponent = ErringOpponent(machine)
    assert not opponent.wins(machine.initial())
    engine = LevelSearch(machine, 0, Level(nodes=20000, seed=3))

    def move(state: State) -> Term:
        engine.begin(state)
        return consider(engine, machine.legal(state, 0), UNLIMITED).move

    assert opponent.chance(move) >= 0.95 * opponent.chance(None)
