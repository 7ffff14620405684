"""The person's seat: moves, hints and taking back."""

from __future__ import annotations

import asyncio

import pytest

from agent.record.thinking import Thinking
from agent.search.engine import Opinion, Score
from agent.web.seat import Seat, SeatError
from agent.web.transcript import Transcript


def seated(**options: object) -> tuple[Transcript, Seat]:
    """Returns a new match and its seat."""
    transcript = Transcript("game", "m", ("a", "b"), ("human", "random"), 1, 1, key="key")
    return transcript, Seat(transcript, **options)  # type: ignore[arg-type]


async def test_hint_is_one_at_a_time() -> None:
    """During the search for a hint a second one is refused, and the person can still move."""
    transcript, seat = seated()
    begun, found = asyncio.Event(), asyncio.Event()

    async def hint() -> Thinking:
        begun.set()
        await found.wait()
        thinking = Thinking("engine")
        thinking.add(Opinion(("go", "1"), Score(61.0), line=(("go", "1"), "noop")), "engine", "", 1.0)
        return thinking

    choosing = asyncio.create_task(seat.choose(0, [("go", "1"), ("go", "2")], hint=hint))
    await asyncio.sleep(0)
    assert transcript.seat is not None
    assert transcript.seat["hint"]
    asked = {"ply": 0, "role": 0}
    hinting = asyncio.create_task(seat.act("hint", asked))
    await begun.wait()
    with pytest.raises(SeatError, match="being looked for"):
        await seat.act("hint", asked)
    found.set()
    why = {"value": 61.0, "proven": False, "plies": None, "line": ["(go 1)", "noop"]}
    assert await hinting == {"ply": 0, "move": "(go 1)", **why}
    await seat.act("move", {**asked, "move": "(go 2)"})
    assert await choosing == ("go", "2")
    assert transcript.seat is None


async def test_two_people_choose_at_once() -> None:
    """If several persons are asked at once, the page has them move one after the other."""
    transcript, seat = seated()
    both = [asyncio.create_task(seat.choose(role, [("x",), ("y",)])) for role in (0, 1)]
    await asyncio.sleep(0)
    for role in (0, 1):
        assert transcript.seat is not None
        assert transcript.seat["role"] == role
        await seat.act("move", {"ply": 0, "role": role, "move": "(y)"})
    assert await asyncio.gather(*both) == [("y",), ("y",)]


async def test_taking_back_goes_to_the_last_choice() -> None:
    """Plies without a choice for the role are skipped."""
    back: list[int] = []

    def take_back(ply: int) -> bool:
        back.append(ply)
        return True

    transcript, seat = seated(take_back=take_back)
    for legal in (2, 3, 1):
        transcript.allow(0, tuple(("m", str(number)) for number in range(legal)))
        transcript.move((("m", "0"), "noop"))
    choosing = asyncio.create_task(seat.choose(0, [("x",), ("y",)]))
    await asyncio.sleep(0)
    assert transcript.view()["undo"] == {0: 1}
    await seat.act("undo", {"ply": 3, "role": 0})
    assert back == [1]
    # While others think of their moves, the own one is taken back, and while they think after it.
    await seat.act("move", {"ply": 3, "role": 0, "move": "(x)"})
    await choosing
    assert transcript.seat is None
    await seat.act("undo", {"ply": 3, "role": 0})
    transcript.move((("x",), ("y",)))
    transcript.allow(0, ("noop",))
    await seat.act("undo", {"ply": 4, "role": 0})
    assert back == [1, 3, 3]
    for role in (1, 7, -1):
        with pytest.raises(SeatError, match="nothing to take back"):
            await seat.act("undo", {"ply": 4, "role": role})
    transcript.end("finished", [0, 100])
    assert transcript.view()["undo"] == {}


async def test_person_resigns_at_any_time() -> None:
    """Also while others think; nobody resigns for another player, or after the end."""
    resigned: list[int] = []

    def resign(role: int) -> bool:
        resigned.append(role)
        return role == 0

    transcript, seat = seated(resign=resign)
    await seat.act("resign", {"role": 0})
    with pytest.raises(SeatError, match="nothing to resign"):
        await seat.act("resign", {"role": 1})
    with pytest.raises(SeatError, match="numbers"):
        await seat.act("resign", {"role": False})
    transcript.end("resigned")
    with pytest.raises(SeatError, match="nothing to resign"):
        await seat.act("resign", {"role": 0})
    assert resigned == [0, 1]
