"""A native family is one entry of `families.FAMILIES`: recognition, engine and kernels hang on it."""

from __future__ import annotations

import pytest

from agent.lab.tournament.engine_player import EnginePlayer
from agent.record.match import MatchRecord
from agent.refereeing.referee import Referee
from agent.search.kernel_groups import kernel_groups, playing
from agent.search.registry import engines_for
from games import families
from games.machine import StateMachine
from protocol.kif import read_rulesheet
from protocol.scramble import make_scrambler
from tests.agent.search.heap_family import engine as heaps
from tests.circuits import Compile
from tests.heaps import one_heap

HEAP = one_heap(10, 3)


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
    record = MatchRecord("heap", "heap.1", machine.roles, ("heap", "heap"), 10, 10, rules=read_rulesheet(HEAP))
    await Referee(machine, make_scrambler("none", 1), [first, second], record).run()
    assert record.moves[0] == (("take", "2"), "noop")
    assert record.goals == [100, 0]
    assert not record.errors


def test_leaves_other_games_alone(machine_of: Compile) -> None:
    """What behaves otherwise is refused, with a reason."""
    greedier = "(<= (legal ?role (take 5)) (true (control ?role)))"
    machine = machine_of(HEAP + greedier)
    assert families.FAMILIES[-1].recognise(machine) is None
    assert families.FAMILIES[-1].refusal(machine)


def test_its_kernels_are_compiled_ahead() -> None:
    """Its group is one of those that matches need."""
    assert "heap" in playing()
    assert kernel_groups()["heap"] is heaps.KERNELS
