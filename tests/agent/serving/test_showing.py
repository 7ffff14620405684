"""The page's transcript of a running match, and failures in it."""

from __future__ import annotations

import asyncio

import pytest

from agent.serving.clock import Clock, now
from agent.serving.match import Match, MatchOptions
from agent.serving.sheet import MatchSheet
from agent.web.gallery import Gallery
from protocol.messages import Play, Start, Stop
from tests.agent.serving.virtual import FakePool, FakeSearch, Run

RULES = (("role", "y"), ("role", "x"), ("legal", "x", "a"), ("legal", "x", "b"), ("legal", "y", "c"))
START = Start("m", "x", RULES, 60, 20)


def new_match(gallery: Gallery) -> Match:
    """Returns a match that is shown."""
    return Match(MatchSheet.of(START), FakePool(FakeSearch(1, delay=0.1)), MatchOptions(Clock(0.5), gallery=gallery))  # type: ignore[arg-type]


def test_match_is_shown_as_it_goes(in_virtual_time: Run) -> None:
    """Moves, opinions, answers and clocks are in the transcript; STOP ends it."""

    async def course() -> None:
        gallery = Gallery()
        match = new_match(gallery)
        (transcript,) = gallery.transcripts
        assert transcript.roles == ("y", "x")
        assert transcript.own == (1,)
        assert await match.start(now())
        playing = asyncio.create_task(match.play(Play("m", None), now()))
        await asyncio.sleep(1.0)
        assert transcript.clock is not None
        assert transcript.clock.due - now() == pytest.approx(18.5)
        assert transcript.clock.margin == pytest.approx(0.5)
        assert transcript.last.thinking[1].opinion is not None
        assert await playing == "b"
        assert transcript.last.answers == {1: "b"}
        assert transcript.clock is None
        await match.play(Play("m", ("c", "b")), now())
        assert transcript.last.moves == ("c", "b")
        assert len(transcript.positions) == 2
        await match.stop(Stop("m", ("c", "b")))
        await asyncio.sleep(10.0)
        assert not transcript.running

    in_virtual_time(course())


def test_match_begins_again(in_virtual_time: Run) -> None:
    """If the manager starts from the first turn, the page does."""

    async def course() -> None:
        gallery = Gallery()
        match = new_match(gallery)
        assert await match.start(now())
        await match.play(Play("m", None), now())
        await match.play(Play("m", ("c", "b")), now())
        assert await match.start(now())
        await match.play(Play("m", None), now())
        (transcript,) = gallery.transcripts
        assert len(transcript.positions) == 1
        match.abort()
        assert transcript.outcome == "aborted"

    in_virtual_time(course())


def test_page_that_fails_does_not_harm_the_match(in_virtual_time: Run, caplog: pytest.LogCaptureFixture) -> None:
    """The first failure is logged, and the match is played on without being shown."""

    async def course() -> None:
        gallery = Gallery()
        match = new_match(gallery)
        (transcript,) = gallery.transcripts

        def fail(*arguments: object) -> None:
            raise RuntimeError("out of ink")

        transcript.think = fail  # type: ignore[method-assign]
        assert await match.start(now())
        for moves in (None, ("c", "b"), ("c", "a")):
            assert await match.play(Play("m", moves), now()) == "b"
        assert len(transcript.positions) == 1
        assert not transcript.running
        match.abort()

    in_virtual_time(course())
    assert caplog.text.count("RuntimeError: out of ink") == 1
