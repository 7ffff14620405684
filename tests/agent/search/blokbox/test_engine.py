"""The Blokbox engine: opinions, following a match, proofs, the stop flag."""

from __future__ import annotations

import numpy as np
import pytest

from agent.search.blokbox import engine as blokbox_engine
from agent.search.blokbox.engine import BlokboxEngine, make_engine, warm_kernels
from agent.search.engine import UNLIMITED, EngineMismatchError, Limit, Opinion
from games import rulesheets
from games.gdl.interpreter.machine import Interpreter
from games.gdl.running.machine import CircuitMachine
from games.machine import State
from games.native.blokbox.binding import BlokboxBinding
from tests.agent.search.blokbox.sheet import own_binding
from tests.agent.search.stopping import StopWhen
from tests.agent.search.thinking import opinions_of, play_match
from tests.circuits import own_machine
from tests.matches import rules_of

CAPACITY = 300_000


@pytest.fixture(scope="module")
def machine() -> CircuitMachine:
    return own_machine("blokbox")


@pytest.fixture(scope="module")
def binding() -> BlokboxBinding:
    warm_kernels()
    return own_binding()


def late_state(machine: CircuitMachine, plies_left: int, seed: int) -> State:
    """A state some plies before the end of a random match."""
    sample = machine.random_matches(1, seed)
    return machine.unpack(sample.states[-1 - plies_left])


def test_match_between_two_engines(machine: CircuitMachine, binding: BlokboxBinding) -> None:
    """Two engines play a whole match by legal moves and agree on the winner."""
    engines = {role: BlokboxEngine(machine, binding, role, capacity=CAPACITY) for role in (0, 1)}
    turns, _ = play_match(machine, engines, lambda engine: opinions_of(engine, Limit(nodes=20))[-1])
    sure = [turn for turn in turns if turn[0].final and turn[1].final]
    assert len(sure) > 1
    assert all(turn[0].score.goal + turn[1].score.goal == 100 for turn in sure)  # type: ignore[union-attr]


def test_one_opinion_even_if_stopped_before(machine: CircuitMachine, binding: BlokboxBinding) -> None:
    """With the stop flag already set the engine still reports a legal move, for either role, and returns."""
    state = machine.initial()
    stop = np.ones(1, np.uint8)
    for role in (0, 1):
        engine = BlokboxEngine(machine, binding, role, capacity=CAPACITY)
        engine.begin(state)
        opinions: list[Opinion] = []
        engine.think(stop, opinions.append, UNLIMITED)
        assert opinions
        assert opinions[-1].move in machine.legal(state, role)


def test_endings_are_solved(machine: CircuitMachine, binding: BlokboxBinding) -> None:
    """A few plies before the end the result is proven, and agrees with exhaustive search of the rules."""
    # Exhaustive search takes long from the last plies of other matches.
    for seed in (1, 2, 3, 7, 11):
        state = late_state(machine, 4, seed)
        role = int(len(machine.legal(state, 0)) == 1)
        engine = BlokboxEngine(machine, binding, role, capacity=CAPACITY)
        engine.begin(state)
        opinions = opinions_of(engine)
        assert opinions[-1].final
        assert opinions[-1].score.goal == (100 if wins(machine, state, role) else 0)
        if opinions[-1].score.goal == 100:
            joint = [machine.legal(state, other)[0] for other in (0, 1)]
            joint[role] = opinions[-1].move
            assert not wins(machine, machine.next(state, joint), 1 - role)


def wins(machine: CircuitMachine, state: State, role: int) -> bool:
    """Whether the role in control wins, by exhaustive search."""
    if machine.terminal(state):
        return machine.goal(state, role) == 100
    joint = [machine.legal(state, other)[0] for other in (0, 1)]
    for move in machine.legal(state, role):
        joint[role] = move
        if not wins(machine, machine.next(state, joint), 1 - role):
            return True
    return False


@pytest.mark.parametrize("threads", [1, 2])
def test_stop_is_obeyed(
    machine: CircuitMachine, binding: BlokboxBinding, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """Endless kernels return after the current visit."""
    monkeypatch.setattr(blokbox_engine, "VISITS_PER_CALL", 1 << 40)
    engine = BlokboxEngine(machine, binding, 0, capacity=CAPACITY, threads=threads)
    engine.begin(machine.initial())
    visits = engine._tree.visits
    for _ in range(5):
        enough = visits[0] + 100
        with StopWhen(lambda enough=enough: bool(visits[0] >= enough), lambda: int(visits[0])) as stop:
            engine.think(stop.flag, lambda opinion: None, UNLIMITED)
            engine._join_side_thread()
        assert stop.counted is not None
        # The side thread goes on until the first one has returned.
        assert threads == 2 or visits[0] - stop.counted <= 1


def test_searched_subtree_is_kept(machine: CircuitMachine, binding: BlokboxBinding) -> None:
    """After a move that was searched, its visits are still there."""
    engine = BlokboxEngine(machine, binding, 0, capacity=CAPACITY)
    state = machine.initial()
    engine.begin(state)
    opinions = opinions_of(engine, Limit(nodes=2_000))
    joint = opinions[-1].move, machine.legal(state, 1)[0]
    engine.advance(joint, machine.next(state, joint))
    kept = opinions_of(engine, Limit(nodes=1))
    visits, new = kept[-1].info["visits"], kept[-1].info["new_visits"]
    assert isinstance(visits, int)
    assert isinstance(new, int)
    assert visits > new


def test_differences_are_noticed(machine: CircuitMachine, binding: BlokboxBinding) -> None:
    """A state that does not follow from the joint move is refused."""
    engine = BlokboxEngine(machine, binding, 0, capacity=CAPACITY)
    state = machine.initial()
    engine.begin(state)
    first, second = machine.legal(state, 0)[:2]
    waiting = machine.legal(state, 1)[0]
    with pytest.raises(EngineMismatchError):
        engine.advance((first, waiting), machine.next(state, (second, waiting)))


def test_only_compiled_games_are_recognised() -> None:
    """A machine without a circuit gets no native engine."""
    checked = rules_of(rulesheets.text("tic_tac_toe"))
    assert make_engine(Interpreter(checked), 0) is None
