"""A native family is one entry of `families.FAMILIES`: recognition, engine and kernels hang on it."""

from __future__ import annotations

import pytest

from agent.lab.tournament.engine_player import EnginePlayer
from agent.refereeing.record import MatchRecord
from agent.refereeing.referee import Participant, Referee
from agent.search.kernel_groups import kernel_groups, playing
from agent.search.registry import engines_for
from games import families
from games.machine import StateMachine
from protocol.kif import read_rulesheet
from protocol.scramble import make_scrambler
from tests.agent.search.heap_family import engine as heaps
from tests.circuits import Compile

HEAP = """
(role left) (role right) (init (things 10)) (init (turn left))
(other left right) (other right left)
(less 1 0) (less 2 1) (less 3 2) (less 4 3) (less 5 4) (less 6 5) (less 7 6) (less 8 7) (less 9 8) (less 10 9)
(<= (fewer 1 ?n ?m) (less ?n ?m))
(<= (fewer 2 ?n ?m) (less ?n ?k) (less ?k ?m))
(<= (fewer 3 ?n ?m) (less ?n ?k) (fewer 2 ?k ?m))
(<= (legal ?role (take ?k)) (true (turn ?role)) (true (things ?n)) (fewer ?k ?n ?m))
(<= (legal ?role wait) (role ?role) (not (true (turn ?role))))
(<= (next (things ?m)) (true (things ?n)) (does ?role (take ?k)) (fewer ?k ?n ?m))
(<= (next (turn ?role)) (true (turn ?last)) (other ?last ?role))
(<= terminal (true (things 0)))
(<= (goal ?role 100) (true (things 0)) (role ?role) (not (true (turn ?role))))
(<= (goal ?role 0) (true (turn ?role)))
"""


@pytest.fixture(autouse=True)
def _third_family(monkeypatch: pytest.MonkeyPatch) -> None:
    package = "tests.agent.search.heap_family"
    heap = families.Family("heap", "Heaps", f"{package}.rules", f"{package}.engine")
    monkeypatch.setattr(families, "FAMILIES", (*families.FAMILIES, heap))


def player(machine: StateMachine, role: int) -> EnginePlayer:
    """The engine that the registry holds to be best."""
    return EnginePlayer(next(engines_for(machine, role)), 10.0)


async def test_plays_a_match_by_its_engine(machine_of: Compile) -> None:
    """Of ten things the first player takes two, and wins; its kernels are loaded before."""
    machine = machine_of(HEAP)
    first, second = player(machine, 0), player(machine, 1)
    assert heaps.loaded
    participants = [Participant("left", "heap", first), Participant("right", "heap", second)]
    record = MatchRecord("heap", "heap.1", machine.roles, ("heap", "heap"), 10, 10, "none", 1)
    await Referee(machine, read_rulesheet(HEAP), make_scrambler("none", 1), participants, record).run()
    assert record.moves[0] == (("take", "2"), "wait")
    assert record.goals == [100, 0]
    assert not record.errors


def test_leaves_other_games_alone(machine_of: Compile) -> None:
    """What behaves otherwise is refused, with a reason."""
    greedier = "(<= (legal ?role (take 5)) (true (turn ?role)))"
    machine = machine_of(HEAP + greedier)
    assert families.FAMILIES[-1].recognise(machine) is None
    assert families.FAMILIES[-1].refusal(machine)


def test_its_kernels_are_compiled_ahead() -> None:
    """Its group is one of those that matches need."""
    assert "heap" in playing()
    assert kernel_groups()["heap"] is heaps.KERNELS
