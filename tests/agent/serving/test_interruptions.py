"""Messages after an outage, and those of imperfect information, in virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from agent.playing.messages import MOST_MISSED, Begin, Checkpoint, Command, Judged, Received, Turn, Unseen
from agent.serving.clock import Clock, now
from agent.serving.journal import MatchJournal, UnfinishedMatch
from agent.serving.match import Match, MatchOptions
from agent.serving.pool import ProcessPool
from agent.serving.sheet import MatchSheet
from agent.web.gallery import Gallery
from games.machine import Term
from protocol.messages import LONGEST_CLOCK, Play, Start
from tests.agent.serving.virtual import FakePool, FakeReference, FakeSearch, Run

PLAY_CLOCK, MARGIN = 20, 0.5

RULES = (("role", "x"), ("role", "y"), ("legal", "x", "a"), ("legal", "x", "b"), ("legal", "y", "c"))

START = Start("m", "x", RULES, 60, PLAY_CLOCK)

HIDDEN = Start("m", "x", (*RULES, ("<=", ("sees", "x", "?m"), ("does", "y", "?m"))), 60, PLAY_CLOCK)


class Silent(MatchJournal):
    """A journal that is not kept."""

    def __init__(self) -> None:
        super().__init__(Path("nowhere"))
        self.lines: list[dict[str, object]] = []

    async def append(self, line: dict[str, object], *_: object, **how: object) -> None:  # type: ignore[override]
        """Nothing is written: threads know no virtual time."""
        self.lines.append(line)


def left_over(*history: Received, silence: float = 1.0, answered: Term | None = None) -> UnfinishedMatch:
    """A match that a former server left."""
    return UnfinishedMatch(START, history, 0, Silent(), answered, Checkpoint(), silence)


def pool_of(search: FakeSearch) -> ProcessPool:
    """A pool of this search and of references that are as slow."""
    return FakePool(FakeReference(delay=search.delay), search)  # type: ignore[return-value]


def revived(search: FakeSearch, found: UnfinishedMatch) -> Match:
    """Takes a match up again."""
    match = Match(MatchSheet.of(found.start), pool_of(search), MatchOptions(Clock(MARGIN)), found=found)
    match.resume()
    return match


def new_match(search: FakeSearch, start: Start = START) -> Match:
    """A match with this search."""
    return Match(MatchSheet.of(start), pool_of(search), MatchOptions(Clock(MARGIN)))


def received(commands: list[Command]) -> list[Received]:
    """Messages that a process was told."""
    told: list[Received] = []
    for command in commands:
        if isinstance(command, Begin):
            told += command.checkpoint.since
        elif isinstance(command, Turn) and command.joint_move is not None:
            told.append(command.joint_move)
    return told


def test_outage_within_a_turn_raises_no_doubt(in_virtual_time: Run) -> None:
    """If the next message comes when it is due, nothing was missed."""

    async def course() -> None:
        search = FakeSearch(1)
        match = revived(search, left_over(("a", "c"), silence=PLAY_CLOCK - 1.0, answered="b"))
        await asyncio.sleep(1.0)
        await match.play(Play("m", ("b", "c")), now())
        assert received(search.commands) == [("a", "c"), ("b", "c")]
        match.abort()

    in_virtual_time(course())


@pytest.mark.parametrize("delay", [0.0, 5.0])
@pytest.mark.parametrize(
    ("silence", "own", "interrupted"), [(60.0, "b", True), (10.0, "a", True), (20.8, "b", False), (21.0, "b", True)]
)
def test_outage_in_which_turns_may_have_been_missed(
    in_virtual_time: Run, silence: float, own: Term, interrupted: bool, delay: float
) -> None:
    """After too much time, or with another move for us, the search learns of the doubt and of our answer: also where no
    process has told our role by then."""

    async def course() -> None:
        search = FakeSearch(1, delay=delay)
        match = revived(search, left_over(("a", "c"), silence=silence, answered="b"))
        await asyncio.sleep(0.1)
        await match.play(Play("m", (own, "d")), now())
        (_, told) = received(search.commands)
        assert told == (Judged((own, "d"), "b", True) if interrupted else (own, "d"))
        match.abort()

    in_virtual_time(course())


@pytest.mark.parametrize(("seconds", "interrupted"), [(PLAY_CLOCK + 5.9, False), (PLAY_CLOCK + 6.1, True)])
def test_other_move_for_us_after_too_long_a_turn(in_virtual_time: Run, seconds: float, interrupted: bool) -> None:
    """If a turn takes longer than any manager waits and our answer was not accepted, messages may have been lost."""

    async def course() -> None:
        search = FakeSearch(1)
        match = new_match(search)
        assert await match.start(now())
        await match.play(Play("m", None), now())
        answer = await match.play(Play("m", ("b", "c")), begin := now())
        other = "a" if answer == "b" else "b"
        await asyncio.sleep(begin + seconds - now())
        await match.play(Play("m", (other, "d")), now())
        expected = Judged((other, "d"), answer, True) if interrupted else (other, "d")
        assert received(search.commands)[-1] == expected
        match.abort()

    in_virtual_time(course())


def test_answer_of_before_the_outage_is_repeated(in_virtual_time: Run) -> None:
    """A PLAY repeated after an outage gets an answer."""

    async def course() -> None:
        search = FakeSearch(1)
        match = revived(search, left_over(("a", "c"), answered="a"))
        assert await match.play(Play("m", ("a", "c")), now()) == "a"
        assert received(search.commands) == [("a", "c")]
        match.abort()

    in_virtual_time(course())


@pytest.mark.parametrize(
    ("waited", "needed", "answered"),
    [
        (0.0, 20.5, 20.5),
        (0.0, 20.75, 20.75),
        (0.0, 20.85, 20.8),
        (20.75, 20.85, 20.8),
        (20.85, 24.9, 24.9),
        (22.0, 25.1, 25.0),
    ],
)
def test_legal_moves_are_waited_for_after_an_outage(
    in_virtual_time: Run, waited: float, needed: float, answered: float
) -> None:
    """With a clock of 20 s, the answer waits for them until 20.8 s after the message: most managers wait for 21 s.

    Where the message waited longer for the server, only a manager that waits for 25 s is still there.
    """

    async def course() -> None:
        match = revived(FakeSearch(1, delay=needed - waited), left_over(("a", "c"), answered="b"))
        begin = now() - waited
        move = await match.play(Play("m", ("b", "c")), begin)
        assert now() - begin == pytest.approx(answered, abs=1e-6)
        # A guess may be any move that the rules name.
        assert move in ("b" if needed <= answered else "ab")
        match.abort()

    in_virtual_time(course())


def test_what_is_seen_is_passed_on(in_virtual_time: Run) -> None:
    """In both forms of GDL-II, the search is told percepts and our move."""

    async def course() -> None:
        search = FakeSearch(1)
        match = new_match(search, HIDDEN)
        assert await match.start(now())
        await match.play(Play("m", None), now())
        await match.play(Play("m", (("saw", "c"),)), now())
        await match.play(Play("m", None, 2, "a", ("d",)), now())
        await match.play(Play("m", None), now())
        expected = [Unseen("b", (("saw", "c"),)), Unseen("a", ("d",)), Unseen("b", ())]
        assert received(search.commands) == expected
        match.abort()

    in_virtual_time(course())


def test_number_of_a_turn_tells_how_many_were_missed(in_virtual_time: Run) -> None:
    """However many they are, a message is one command, one line of the journal and one entry on the page."""

    async def course() -> None:
        search, journal, gallery = FakeSearch(1), Silent(), Gallery()
        options = MatchOptions(Clock(MARGIN), gallery=gallery)
        match = Match(MatchSheet.of(HIDDEN), pool_of(search), options, journal)
        assert await match.start(now())
        await match.play(Play("m", None, 0, None, ()), now())
        await match.play(Play("m", None, 3, "a", ()), now())
        assert match.turn_number == 3
        await match.play(Play("m", None, LONGEST_CLOCK, "b", ()), now())
        assert match.turn_number == 3 + MOST_MISSED + 1
        assert received(search.commands) == [Unseen("a", (), 2), Unseen("b", (), MOST_MISSED)]
        assert [line["number"] for line in journal.lines if "number" in line] == [3, match.turn_number]
        (transcript,) = gallery.transcripts
        assert [step["turn"] for step in transcript.view()["steps"]] == [0, 3, match.turn_number]
        assert transcript.last.answers == {0: "b"}
        match.abort()

    in_virtual_time(course())


def test_process_that_joins_is_told_what_was_missed_since_the_last_known_state(in_virtual_time: Run) -> None:
    """A missed turn has a number, but no entry of its own."""

    async def course() -> None:
        search = FakeSearch(1)
        found = left_over(Unseen("a", (), 2), Unseen("b", (), 7))
        match = revived(search, replace(found, start=HIDDEN, checkpoint=Checkpoint(3)))
        await match.play(Play("m", None, 12, "b", ()), now())
        assert received(search.commands) == [Unseen("b", (), 7), Unseen("b", ())]
        match.abort()

    in_virtual_time(course())


@pytest.mark.parametrize(("late", "waits"), [(0.2, 0.2), (3.0, 0.75 * MARGIN)])
def test_part_of_the_margin_is_waited_for_where_no_move_is_known(
    in_virtual_time: Run, late: float, waits: float
) -> None:
    """A slow process may tell the legal moves a little after the deadline."""

    async def course() -> None:
        search = FakeSearch(1, delay=PLAY_CLOCK - MARGIN + late)
        match = new_match(search)
        assert await match.start(now())
        await asyncio.sleep(60.0)
        await match.play(Play("m", None), now())
        begin = now()
        await match.play(Play("m", ("b", "c")), begin)
        assert now() - begin == pytest.approx(PLAY_CLOCK - MARGIN + waits)
        match.abort()

    in_virtual_time(course())
