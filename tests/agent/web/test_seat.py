"""The person's seat: moves, hints and taking back."""

from __future__ import annotations

import asyncio

import pytest

from agent.web.seat import Seat, SeatError
from agent.web.transcript import Transcript
from games.machine import Term


def seated(**options: object) -> tuple[Transcript, Seat]:
    """Returns a new match and its seat."""
    transcript = Transcript("game", "m", ("a", "b"), ("human", "random"), 1, 1, key="key")
    return transcript, Seat(transcript, **options)  # type: ignore[arg-type]


async def test_hint_is_one_at_a_time() -> None:
    """During the search for a hint a second one is refused, and the person can still move."""
    transcript, seat = seated()
    begun, found = asyncio.Event(), asyncio.Event()

    async def hint() -> Term:
        begun.set()
        await found.wait()
        return ("go", "1")

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
    assert await hinting == {"ply": 0, "move": "(go 1)"}
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
    transcript, seat = seated(take_back=back.append)
    for legal in (2, 3, 1):
        transcript.allow(0, tuple(("m", str(number)) for number in range(legal)))
        transcript.move((("m", "0"), "noop"))
    choosing = asyncio.create_task(seat.choose(0, [("x",), ("y",)]))
    await asyncio.sleep(0)
    await seat.act("undo", {"ply": 3, "role": 0})
    assert back == [1]
    choosing.cancel()


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
