"""A person in the terminal: output and input."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from functools import partial

import pytest

from agent.record.thinking import Thinking
from agent.refereeing import human
from agent.refereeing.human import Keyboard, PersonAtTerminal, find_move, list_moves
from agent.search.engine import Opinion, Score
from agent.sheet import load
from games.gdl.interpreter.machine import Interpreter
from games.machine import State, Term

MACHINE = Interpreter(load("tic_tac_toe").checked)


class Typist:
    """Types into a pipe."""

    def __init__(self) -> None:
        self.reading, self._writing = os.pipe()

    def type(self, text: str) -> None:
        """Types it."""
        os.write(self._writing, text.encode())

    def leave(self) -> None:
        """Ends the input."""
        os.close(self._writing)
        self._writing = -1

    def close(self) -> None:
        """Frees both ends."""
        os.close(self.reading)
        if self._writing >= 0:
            os.close(self._writing)


@pytest.fixture
def typist() -> Iterator[Typist]:
    typist = Typist()
    yield typist
    typist.close()


def person(typist: Typist, said: list[str], **options: object) -> PersonAtTerminal:
    """A person who plays the first role of tic-tac-toe."""
    keyboard = Keyboard(typist.reading, prompt="")
    known = partial(MACHINE.facts, MACHINE.initial())
    return PersonAtTerminal(MACHINE, 0, keyboard, known, say=said.append, **options)  # type: ignore[arg-type]


async def choice(typist: Typist, typed: str, said: list[str] | None = None) -> Term:
    """Returns the person's move in the first position after typing this."""
    typist.type(typed)
    state = MACHINE.initial()
    return await person(typist, [] if said is None else said).choose(MACHINE.legal(state, 0), state)


@pytest.mark.parametrize(
    ("typed", "move"),
    [
        ("5\n", "2 2"),
        ("(mark 3 1)\n", "3 1"),
        ("mark 3 1\n", "3 1"),
        ("MARK  3 1 \n", "3 1"),
        ("0\n10\nnonsense\n9\n", "3 3"),
        ("3 2\n8\n", "3 2"),
        ("3 2\n\n", "3 2"),
        ("mark 3\n\n", None),
        ("?\nf\nh\n", None),
    ],
)
async def test_what_may_be_typed(typist: Typist, typed: str, move: str | None) -> None:
    """Numbers of the whole list, moves in full, or parts; anything else is rejected, and the question repeated."""
    if move is None:
        typed += "\n2\n"
    found = await choice(typist, typed)
    assert found in MACHINE.legal(MACHINE.initial(), 0)
    if move is not None:
        assert found == ("mark", *move.split())


async def test_parts_show_fewer_moves_with_their_numbers(typist: Typist) -> None:
    """A number means the same move all the time."""
    said: list[str] = []
    assert await choice(typist, "mark 3\n7\n", said) == ("mark", "3", "1")
    assert "x" in said[0]
    assert said[1].splitlines() == [
        "  mark 1  1: 1  2: 2  3: 3",
        "  mark 2  4: 1  5: 2  6: 3",
        "  mark 3  7: 1  8: 2  9: 3",
    ]
    assert said[2].splitlines() == ["  mark 3  7: 1  8: 2  9: 3"]


async def test_facts_help_and_hint(typist: Typist) -> None:
    """A hint that fails does not harm the match."""
    said: list[str] = []

    async def hint(state: State) -> Thinking:
        if state != MACHINE.initial():
            raise RuntimeError("there is no hint")
        return Thinking("", opinion=Opinion(("mark", "2", "2"), Score(55.4)))

    typist.type("?\nf\nh\n1\n")
    player = person(typist, said, hint=hint)
    await player.choose(MACHINE.legal(MACHINE.initial(), 0), MACHINE.initial())
    assert any("Ctrl-D" in text for text in said)
    assert "  (control x)" in said
    assert "  5: (mark 2 2), which is worth 55" in said
    state = MACHINE.next(MACHINE.initial(), [("mark", "1", "1"), "noop"])
    state = MACHINE.next(state, ["noop", ("mark", "1", "2")])
    typist.type("h\n1\n")
    await player.choose(MACHINE.legal(state, 0), state)
    assert "  there is no hint" in said


async def test_only_move_is_played_without_asking(typist: Typist) -> None:
    """Nothing is typed, and nothing said."""
    said: list[str] = []
    assert await person(typist, said).choose(["noop"], MACHINE.initial()) == "noop"
    assert said == []


async def test_waiting_can_be_cancelled_and_ends_with_the_clock(typist: Typist) -> None:
    """Later input is for the next question."""
    state = MACHINE.initial()
    legal = MACHINE.legal(state, 0)
    said: list[str] = []
    with pytest.raises(TimeoutError):
        await person(typist, said, seconds=0.01).choose(legal, state)
    assert "within 0.01 s" in said[0]
    asked = asyncio.Event()
    player = person(typist, said)
    player._say = lambda text: asked.set()
    waiting = asyncio.create_task(player.choose(legal, state))
    await asked.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await choice(typist, "3\n") == legal[2]


async def test_end_of_input_is_as_an_interrupt(typist: Typist, monkeypatch: pytest.MonkeyPatch) -> None:
    """The match is aborted."""
    interrupted = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)
    try:
        typist.leave()
        waiting = asyncio.create_task(choice_at_end(typist))
        await interrupted.wait()
        assert not waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    finally:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)


async def choice_at_end(typist: Typist) -> Term:
    """Returns the move after the end of input."""
    state = MACHINE.initial()
    return await person(typist, []).choose(MACHINE.legal(state, 0), state)


def test_lists_of_moves() -> None:
    """Groups share as many leading arguments as keep the list small; long lists are cut."""
    steps: list[Term] = [("move", "wp", file, "2", file, rank) for file in "abcd" for rank in "34"]
    text = list_moves(dict(enumerate([*steps, "resign"], 1)))
    assert "  move wp a 2 a  1: 3       2: 4" in text.splitlines()
    assert "9: resign" in text
    many: list[Term] = [("go", str(number)) for number in range(1000)]
    text = list_moves(dict(enumerate(many, 1)))
    assert f"... and {1000 - human.MOST_SHOWN} more" in text
    assert list_moves({1: "noop", 2: ("f", ("g", "a"))}).splitlines() == ["     1: noop", "  f  2: (g a)"]


def test_letter_case_counts_where_it_has_to() -> None:
    """Moves may differ in letter case alone."""
    assert find_move("go a", [("go", "a"), ("go", "A")]) == ("go", "a")
    assert find_move("GO A", [("go", "a"), ("go", "A")]) is None
    assert find_move("GO B", [("go", "a"), ("go", "b")]) == ("go", "b")
