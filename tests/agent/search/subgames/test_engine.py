"""Games that are played part by part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest

from agent.search.choosing.general import GeneralSearch, make_engine
from agent.search.engine import UNLIMITED, Candidate, Engine, Limit, Opinion, Report, Score, StopFlag
from agent.search.subgames import engine as playing
from agent.search.subgames.division import Subgame, find_subgames
from agent.search.subgames.engine import SubgameSearch
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term
from tests.agent.search.thinking import opinions_of
from tests.circuits import Compile, own_machine
from tests.heaps import ALTERNATING


@pytest.fixture
def heaps(machine_of: Compile) -> CircuitMachine:
    return machine_of(ALTERNATING)


class Noting(Engine):
    """Chooses the last legal move and says that it is proven; what it was asked is noted."""

    name, reason = "noting", "it was asked to"

    def __init__(self, machine: CircuitMachine, role: int) -> None:
        self._machine, self._role = machine, role
        self.states: list[State] = []
        self.joint_moves: list[Sequence[Term]] = []
        self.limits: list[Limit] = []

    def begin(self, state: State) -> None:
        self.states.append(state)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self.joint_moves.append(joint_move)
        self.states.append(state)

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        self.limits.append(limit)
        move = self._machine.legal(self.states[-1], self._role)[-1]
        proven = Score(70.0, proven=True)
        report(Opinion(move, proven, True, {}, (Candidate(move, proven),), (move,)))


def noting(machine: CircuitMachine, role: int) -> tuple[SubgameSearch, list[Noting], Noting]:
    """A search whose engines are noted."""
    found = find_subgames(machine)
    engines = [Noting(part.machine, role) for part in found]
    whole = Noting(machine, role)
    search = SubgameSearch(machine, role, list(zip(found, engines, strict=True)), lambda: whole)
    search.begin(machine.initial())
    return search, engines, whole


@pytest.mark.parametrize("role", [0, 1])
@pytest.mark.usefixtures("little_memory")
def test_each_part_is_played_well(heaps: CircuitMachine, role: int) -> None:
    """Whoever leaves three or six things wins the heap: of seven the first move is to take one."""
    search = make_engine(heaps, role)
    assert isinstance(search, SubgameSearch)
    search.begin(heaps.initial())
    search.prepare(np.zeros(1, np.uint8), lambda opinion: None, Limit(0.2))
    assert not search.uses_start_clock
    opinions = opinions_of(search, Limit(nodes=2000))
    assert opinions[-1].move == ("take", str(1 + role), "1")
    assert not any(opinion.final for opinion in opinions)
    assert "2 parts" in search.reason


def test_the_turn_says_which_part(heaps: CircuitMachine) -> None:
    """All follow each joint move, one answers; what it has proven is proven of its part alone."""
    search, engines, whole = noting(heaps, 0)
    (opinion,) = opinions_of(search, Limit(0.1), lambda: bool(engines[1].limits))
    assert opinion.move == heaps.legal(heaps.initial(), 0)[-1]
    assert (opinion.score, opinion.final, opinion.line) == (Score(70.0), False, ())
    assert [one.score for one in opinion.candidates] == [Score(70.0)]
    assert Limit(0.1) in engines[0].limits
    assert set(engines[1].limits) == {UNLIMITED}
    joint = (("take", "1", "2"), ("take", "2", "1"))
    state = heaps.next(heaps.initial(), joint)
    search.advance(joint, state)
    assert [engine.joint_moves for engine in engines] == [[(joint[0], "(wait)")], [("(wait)", joint[1])]]
    (opinion,) = opinions_of(search, Limit(0.1), lambda: Limit(0.1) in engines[1].limits)
    assert opinion.move == heaps.legal(state, 0)[-1]
    assert opinion.move[1] == "2"
    assert Limit(0.1) in engines[1].limits
    assert not whole.limits


def test_parts_are_pondered_by_turns(heaps: CircuitMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for those that are over, and no longer than until the stop."""
    monkeypatch.setattr(playing, "IDLE_SECONDS", 0.001)
    search, engines, _ = noting(heaps, 0)
    assert opinions_of(search, UNLIMITED, lambda: len(engines[1].limits) > 2) == []
    counts = [len(engine.limits) for engine in engines]
    assert abs(counts[0] - counts[1]) <= 1 < counts[0]
    # The first heap is empty: the match is over, and so is that part.
    state = heaps.state([("heap", "1", "0"), ("heap", "2", "3"), ("turn", "w", "2"), ("turn", "b", "1")])
    search.begin(state)
    opinions_of(search, UNLIMITED, lambda: len(engines[1].limits) > counts[1] + 2)
    assert len(engines[0].limits) == counts[0]


class Elsewhere:
    """A part in which no move of the game is."""

    def __init__(self, part: Subgame) -> None:
        self.machine, self.state, self.joint_move = part.machine, part.state, part.joint_move

    def has(self, role: int, move: Term) -> bool:
        return False


def test_whole_game_is_searched_where_no_part_can_tell(heaps: CircuitMachine) -> None:
    """Its engine is made then, and follows from there on."""
    found, whole = find_subgames(heaps), Noting(heaps, 0)
    parts = [(cast(Subgame, Elsewhere(part)), Noting(part.machine, 0)) for part in found]
    made: list[Engine] = []

    def make() -> Engine:
        made.append(whole)
        return whole

    search = SubgameSearch(heaps, 0, parts, make)
    search.begin(heaps.initial())
    assert not made
    for _ in range(2):
        (opinion,) = opinions_of(search, Limit(0.1))
        assert opinion.final
        assert (search.name, search.reason) == ("noting", "it was asked to")
    assert (made, whole.states, whole.limits) == ([whole], [heaps.initial()], [Limit(0.1), Limit(0.1)])
    joint = (("take", "1", "2"), ("take", "2", "1"))
    state = heaps.next(heaps.initial(), joint)
    search.advance(joint, state)
    assert (whole.joint_moves, whole.states[-1]) == ([joint], state)


@pytest.mark.usefixtures("little_memory")
def test_other_games_have_one_engine() -> None:
    assert isinstance(make_engine(own_machine("tic_tac_toe"), 0), GeneralSearch)
