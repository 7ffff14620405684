"""The reference process: it tells the truth about every turn, and needs no kernels."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing import Pipe

import pytest

from agent.playing.messages import (
    MOST_SHOWN,
    MOST_STATES,
    MOST_TERMS,
    Alive,
    Begin,
    Channel,
    Checkpoint,
    Judged,
    Refused,
    Rewind,
    Situation,
    Turn,
    Unseen,
)
from agent.playing.reference import SAMPLES
from agent.playing.truth import Truth
from agent.record.spelling import states_from_json
from games import rulesheets
from games.machine import Interrupted
from tests.agent.playing.hidden_games import MONTY_HALL
from tests.agent.playing.line import Line, begin_of, running
from tests.agent.playing.test_reference import RULES as COUNTING
from tests.matches import own_interpreter

SOURCE = rulesheets.text("tic_tac_toe")

MANY = "(role x) (init go) (succ 0 1) (goal x 0) (<= terminal (true stop))" + "".join(
    f"(<= (legal x m{number}) (true go))" for number in range(MOST_SHOWN + 1)
)


@pytest.fixture
def tell() -> Iterator[Callable[[Begin], Line]]:
    """Begins references, and ends them."""
    with contextlib.ExitStack() as stack:

        def tell(begin: Begin) -> Line:
            line = Line()
            return stack.enter_context(running(Truth(line, begin), line))

        yield tell


def test_reference_process_imports_no_numpy() -> None:
    """So it is ready a moment after a START."""
    code = "import sys, agent.playing.main as main; main._reference(); print({'numpy', 'numba'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_situation_tells_all_that_others_need(tell: Callable[[Begin], Line]) -> None:
    """Legal moves for the server, a checkpoint for the journal, and the state for the search."""
    line = tell(begin_of(SOURCE))
    machine = own_interpreter("tic_tac_toe")
    told = line.situation(0)
    facts = machine.facts(machine.initial())
    assert set(told.legal) == set(machine.legal(machine.initial(), 0))
    assert (told.role, told.choices, told.terminal, told.goals, told.states) == (0, 9, False, None, 1)
    assert states_from_json(told.possible) == [(facts, 1.0)]
    assert told.checkpoint is not None
    other = tell(begin_of(SOURCE, checkpoint=told.checkpoint))
    assert other.situation(0) == told


def test_joint_moves_are_followed_to_the_end(tell: Callable[[Begin], Line]) -> None:
    """At the end there are goals."""
    line = tell(begin_of(SOURCE))
    cells = [(1, 1), (2, 2), (1, 2), (3, 3), (1, 3)]
    for number, (column, row) in enumerate(cells):
        mark = ("mark", str(column), str(row))
        line.say(Turn((mark, "noop") if number % 2 == 0 else ("noop", mark), None if number == 4 else 1.0))
    told = [line.situation(number) for number in range(6)]
    assert len({one.digest for one in told}) == 6
    assert [one.terminal for one in told] == [False] * 5 + [True]
    assert told[5].goals == (100, 0)


def test_illegal_joint_move_changes_no_state(tell: Callable[[Begin], Line]) -> None:
    """The digest is that of the state before; only the number of the turn is another."""
    line = tell(begin_of(COUNTING, "left"))
    first = line.situation(0)
    line.say(Turn(("add", "add"), 1.0))
    second = line.situation(1)
    assert second.digest == first.digest
    assert second.checkpoint is not None
    assert second.checkpoint.disputed == ("add", "add")


def test_match_that_begins_again_is_followed_from_the_start(tell: Callable[[Begin], Line]) -> None:
    """As if nothing had happened."""
    line = tell(begin_of(SOURCE))
    first = line.situation(0)
    line.say(Turn((("mark", "1", "1"), "noop"), 1.0))
    line.situation(1)
    line.say(Rewind())
    assert line.situation(0) == first


def test_doubt_is_told_as_a_sample_of_states(tell: Callable[[Begin], Line]) -> None:
    """Three doors may hide the car."""
    line = tell(begin_of(MONTY_HALL, "guest"))
    line.say(Turn(Unseen("wait", ()), 1.0))
    told = line.situation(1)
    sample = states_from_json(told.possible)
    assert told.states == 3
    cars = {fact for facts, weight in sample for fact in facts if fact[0] == "car"}
    assert len(cars) == 3
    assert [weight for facts, weight in sample] == pytest.approx([1 / 3] * 3)


def test_missed_turns_leave_a_doubt(tell: Callable[[Begin], Line]) -> None:
    """Some of the possible states are the checkpoint, from which another reference goes on in the same doubt."""
    line = tell(begin_of(SOURCE))
    first = line.situation(0)
    line.say(Turn(Judged(("noop", ("mark", "1", "1")), ("mark", "2", "2"), True), 1.0))
    told = line.situation(1)
    assert told.states > 1
    assert 1 < len(states_from_json(told.possible)) <= SAMPLES[0]
    other = tell(begin_of(SOURCE, checkpoint=told.checkpoint)).situation(1)
    assert other.states == min(told.states, SAMPLES[0])
    assert set(other.legal) <= set(first.legal)


def test_rules_without_meaning_are_refused(tell: Callable[[Begin], Line]) -> None:
    """The process may take another match."""
    line = tell(begin_of("(role x) (init s) (<= (init u) (true s))"))
    assert line.next(Refused).reason
    line = tell(begin_of(SOURCE, "nobody"))
    assert "nobody" in line.next(Refused).reason


def test_state_that_takes_for_ever_is_passed_over(
    tell: Callable[[Begin], Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the interpreter cannot tell, the process lives on, in silence, until the match begins again."""
    from games.gdl.interpreter.machine import Interpreter

    legal, fails = Interpreter.legal, [True]

    def limited(self: Interpreter, state: object, role: int) -> object:
        if fails[0]:
            raise Interrupted
        return legal(self, state, role)  # type: ignore[arg-type]

    monkeypatch.setattr(Interpreter, "legal", limited)
    line = tell(begin_of(SOURCE))
    line.next(Alive)
    line.next(Alive)
    fails[0] = False
    line.say(Rewind())
    assert line.situation(0).choices == 9


@pytest.mark.parametrize("facts", [b"{", b'[[1,["f"]]]', b"[[1,[[]]]]"])
def test_checkpoint_of_another_game_is_passed_over(tell: Callable[[Begin], Line], facts: bytes) -> None:
    """A journal may be damaged. The process lives on."""
    line = tell(begin_of(SOURCE, checkpoint=Checkpoint(3, facts)))
    line.next(Alive)
    line.say(Rewind())
    assert line.situation(0).choices == 9


def test_many_legal_moves_are_counted_and_not_all_named(tell: Callable[[Begin], Line]) -> None:
    """The server shows some, and needs one."""
    told = tell(begin_of(MANY)).situation(0)
    assert (len(told.legal), told.choices) == (MOST_SHOWN, MOST_SHOWN + 1)


def test_large_state_is_not_told(tell: Callable[[Begin], Line]) -> None:
    """Nothing that the server gets is as large as a stranger likes."""
    facts = "".join(f"(init (f {number} {'x' * 600}))" for number in range(1000))
    told = tell(begin_of("(role x) (legal x go) (goal x 0) (<= terminal (true stop))" + facts)).situation(0)
    assert (told.checkpoint, told.legal) == (None, ("go",))


def test_report_is_shortened_until_it_is_small_enough() -> None:
    """Legal moves are left out; states do not count, as the server does not read them."""
    long = tuple(letter * (MOST_TERMS // 2) for letter in "xyz")
    situation = Situation(3, 0, b"", long, 3, False, None, False, None, 1, bytes(MOST_STATES))
    ours, theirs = Pipe()
    with contextlib.closing(ours), contextlib.closing(theirs):
        threading.Thread(target=Channel(theirs).send, args=[situation]).start()
        assert ours.recv() == replace(situation, legal=long[:1])
