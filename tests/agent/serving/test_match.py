"""One match at its deadlines, to the instant: processes that are slow, hang, die or are wrong, in virtual time."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from agent import json_lines
from agent.playing.messages import Begin, Distrusted, Placement, Report, Rest, Thought, Turn
from agent.search.engine import Opinion
from agent.serving import seats
from agent.serving.clock import Clock, now
from agent.serving.journal import Journal, MatchJournal
from agent.serving.match import Match, MatchOptions
from agent.serving.moments import Moment
from agent.serving.sheet import MatchSheet
from agent.serving.starting import SEARCH, Kind
from agent.serving.turn import MatchTurn
from games.machine import Term
from protocol.messages import LONGEST_CLOCK, Play, Start
from tests.agent.serving.virtual import FakePool, FakeProcess, FakeReference, FakeSearch, Run, situation

START_CLOCK, PLAY_CLOCK, MARGIN = 60, 20, 0.5

RULES = (("role", "x"), ("role", "y"), ("legal", "x", "a"), ("legal", "x", "b"), ("legal", "y", "c"))

START = Start("m", "x", RULES, START_CLOCK, PLAY_CLOCK)


def new_match(
    *processes: FakeProcess, ponder: bool = True, pool: FakePool | None = None, start: Start = START
) -> Match:
    """A match with these processes, in the order in which they are called, or with those of a pool."""
    return Match(MatchSheet.of(start), pool or FakePool(*processes), MatchOptions(Clock(MARGIN), ponder))  # type: ignore[arg-type]


async def play(match: Match, *moves: Term) -> tuple[Term, float]:
    """Returns the answer to a PLAY, and the seconds until it leaves."""
    begin = now()
    move = await match.play(Play("m", moves or None), begin)
    return move, now() - begin


def at_the_deadline(seconds: float) -> bool:
    """Returns whether the seconds are the play clock less the margin."""
    return seconds == pytest.approx(PLAY_CLOCK - MARGIN, abs=1e-6)


def test_reply_leaves_at_the_deadline(in_virtual_time: Run) -> None:
    """With a choice to make, each reply leaves exactly when the clock less the margin is over."""

    async def course() -> None:
        match = new_match(FakeSearch(1, delay=0.1))
        begin = now()
        assert await match.start(begin)
        assert now() - begin == pytest.approx(0.1)
        for moves in ((), ("b", "c"), ("b", "d")):
            move, seconds = await play(match, *moves)
            assert move == "b"
            assert at_the_deadline(seconds)
            await asyncio.sleep(1.0)
        match.abort()

    in_virtual_time(course())


def test_message_that_waited_has_less_time(in_virtual_time: Run) -> None:
    """The clock runs from the message's first byte, not from when it is looked at."""

    async def course() -> None:
        match = new_match(FakeSearch(1))
        assert await match.start(now())
        begin = now()
        await match.play(Play("m", None), begin - 5.0)
        assert now() - begin == pytest.approx(PLAY_CLOCK - MARGIN - 5.0)
        match.abort()

    in_virtual_time(course())


def test_reply_leaves_earlier_where_the_way_is_long(in_virtual_time: Run) -> None:
    """Once two messages have shown how long a round trip takes, two of them are kept back."""

    async def course() -> None:
        match = new_match(FakeSearch(1))
        assert await match.start(now())
        for number, moves in enumerate((None, ("b", "c"), ("b", "d"))):
            begin = now()
            assert match.due is None
            asyncio.get_running_loop().call_later(1.0, lambda begin=begin: due.append(match.due - begin))
            await match.play(Play("m", moves), begin, round_trip=2.0)
            assert now() - begin == pytest.approx(PLAY_CLOCK - (4.0 if number else MARGIN))
            assert due.pop() == pytest.approx(now() - begin)
        match.abort()

    due: list[float] = []
    in_virtual_time(course())


def test_match_is_overdue_after_some_silent_clocks(in_virtual_time: Run) -> None:
    """A manager has given the match up after three silent clocks and 20 s; a late one has not."""

    async def course() -> None:
        match = new_match(FakeSearch(1))
        assert await match.start(now())
        await asyncio.sleep(3 * 60 + 19.0)
        assert not match.overdue
        await play(match)
        for moves in (("b", "c"), ("b", "d")):
            await asyncio.sleep(3 * 20 + 19.0)
            assert not match.overdue
            await play(match, *moves)
        await asyncio.sleep(3 * 20 + 21.0)
        assert match.overdue
        match.abort()

    in_virtual_time(course())


def test_proven_move_is_answered_at_once(in_virtual_time: Run) -> None:
    """A forced or proven move does not wait for the clock."""

    async def course() -> None:
        match = new_match(FakeSearch(1, delay=0.1, proves=True))
        assert await match.start(now())
        assert (await play(match))[1] == pytest.approx(0.0, abs=0.2)
        assert (await play(match, "b", "c"))[1] == pytest.approx(0.1)
        match.abort()

    in_virtual_time(course())


def test_set_up_that_takes_too_long_goes_on_during_play(in_virtual_time: Run, caplog: pytest.LogCaptureFixture) -> None:
    """START is answered when its clock less the margin is over, ready or not; PLAY with a legal move then."""

    async def course() -> None:
        match = new_match(FakeSearch(1, prepares=False))
        begin = now()
        assert await match.start(begin)
        assert now() - begin == pytest.approx(START_CLOCK - MARGIN)
        assert "not ready within the start clock" in caplog.text
        move, seconds = await play(match)
        assert move in ("a", "b")
        assert at_the_deadline(seconds)
        match.abort()

    in_virtual_time(course())


@pytest.mark.parametrize("kind", [FakeReference, FakeSearch])
@pytest.mark.parametrize("loss", [FakeProcess.die, FakeProcess.hang])
def test_process_lost_during_a_turn(
    in_virtual_time: Run, kind: type[FakeProcess], loss: Callable[[FakeProcess], None]
) -> None:
    """A process that dies or hangs is replaced; this turn and all later ones are answered in time."""

    async def course() -> None:
        lost, spare = kind(1), kind(2, delay=1.0)
        others = () if kind is FakeSearch else (FakeSearch(3),)
        match = new_match(lost, spare, *others)
        assert await match.start(now())
        assert (await play(match))[0] == "b"
        begin = now()
        asyncio.get_running_loop().call_later(2.0, loss, lost)
        move, seconds = await play(match, "b", "c")
        assert move == "b"
        assert at_the_deadline(seconds)
        assert lost.released
        (first,) = spare.begun
        # From the last situation told, with what is left of the turn.
        assert (first.checkpoint.turn, first.checkpoint.since) == (1, ())
        assert first.compile == (kind is FakeSearch)
        assert first.seconds is not None
        left = PLAY_CLOCK - MARGIN - 2.0
        if loss is FakeProcess.die:
            assert first.seconds == pytest.approx(left)
        else:
            # Without a pulse, which comes twice a second, for so long.
            patience, _ = seats.HUNG_AFTER[kind.kind]
            assert left - patience - 1.0 <= first.seconds < left - patience + 0.5
        assert begin + seconds == pytest.approx(now())
        for moves in (("b", "d"), ("a", "c")):
            move, seconds = await play(match, *moves)
            assert move == "b"
            assert at_the_deadline(seconds)
        assert [command.joint_move for command in spare.commands[1:]] == [("b", "d"), ("a", "c")]  # type: ignore[union-attr]
        match.abort()

    in_virtual_time(course())


def test_process_that_hangs_from_the_beginning_is_replaced(in_virtual_time: Run) -> None:
    """As any other: it need not check the rules first."""

    async def course() -> None:
        hanging, spare = FakeSearch(1), FakeSearch(2)
        hanging.hang()
        begin = now()
        assert await new_match(hanging, spare).start(begin)
        assert 3.0 < now() - begin < 4.0
        assert hanging.released
        assert spare.begun

    in_virtual_time(course())


def test_match_goes_on_without_a_circuit_that_may_kill_searches(in_virtual_time: Run) -> None:
    """From the second loss on, searches are told not to compile; after 21 losses no other one is called."""

    async def course() -> None:
        searches = [FakeSearch(number) for number in range(30)]
        match = new_match(*searches)
        assert await match.start(now())
        for search in searches:
            if search.begun:
                search.die()
                await asyncio.sleep(0.1)
        compiling = [begin.compile for search in searches for begin in search.begun]
        assert compiling == [True, True] + [False] * 19
        move, seconds = await play(match)
        assert move == "b"
        assert at_the_deadline(seconds)
        match.abort()

    in_virtual_time(course())


def test_search_lost_with_no_other_there(in_virtual_time: Run) -> None:
    """The reference knows a legal move."""

    async def course() -> None:
        lost = FakeSearch(1)
        match = new_match(lost)
        assert await match.start(now())
        assert (await play(match))[0] == "b"
        lost.die()
        move, seconds = await play(match, "b", "c")
        assert move == "a"
        assert at_the_deadline(seconds)
        match.abort()

    in_virtual_time(course())


def test_both_processes_lost_with_no_others_there(in_virtual_time: Run) -> None:
    """Without any process the answer is one of the last legal moves known, and in time."""

    async def course() -> None:
        reference, search = FakeReference(1), FakeSearch(2)
        match = new_match(reference, search)
        assert await match.start(now())
        assert (await play(match))[0] == "b"
        reference.die()
        search.die()
        move, seconds = await play(match, "b", "c")
        assert move == "a", "not the move that was made just now"
        assert at_the_deadline(seconds)
        match.abort()

    in_virtual_time(course())


def test_search_whose_state_differs_is_replaced(in_virtual_time: Run) -> None:
    """The interpreter is right: the next search trusts one circuit less, and begins where the reference is."""

    async def course() -> None:
        wrong, right = FakeSearch(1, wrong=True, move="c"), FakeSearch(2)
        match = new_match(FakeReference(delay=0.2), wrong, right)
        assert await match.start(now())
        await asyncio.sleep(1.0)
        assert wrong.released
        assert (told(wrong), told(right)) == (0, 1)
        for moves in ((), ("b", "c")):
            assert (await play(match, *moves))[0] == "b"
        assert not right.released
        match.abort()

    in_virtual_time(course())


def test_reports_from_before_the_match_began_again_count_for_nothing(in_virtual_time: Run) -> None:
    """They may be about a turn of the same number, with other moves."""

    async def course() -> None:
        reference, search = FakeReference(), FakeSearch(1)
        match = new_match(reference, search)
        assert await match.start(now())
        await play(match)
        playing = asyncio.create_task(play(match, "b", "c"))
        await asyncio.sleep(1.0)
        reference.delay = 5.0
        reference.report(situation(1, "z", possible=b'[[1.0,["z"]]]'))
        match._turn.start_repeated = True
        again = asyncio.create_task(play(match))
        assert (await again)[0] == "b"
        await playing
        assert match._history.checkpoint() == situation(0).checkpoint
        assert (await play(match, "b", "d"))[0] == "b"
        assert match._history.checkpoint().states == situation(1).possible
        assert not search.released
        match.abort()

    in_virtual_time(course())


def test_answers_are_legal_whatever_the_search_believes(in_virtual_time: Run) -> None:
    """Searches that all have another state cost strength; when no circuit is left to blame, they are told the state."""

    async def course() -> None:
        for move, answers in (("c", "aaa"), ("b", "bbb")):
            searches = [FakeSearch(number, wrong=True, move=move) for number in range(9)]
            match = new_match(*searches)
            assert await match.start(now())
            for moves, answer in zip(((), ("b", "c"), ("b", "d")), answers, strict=True):
                assert (await play(match, *moves))[0] == answer
            assert [bool(search.begun) for search in searches] == [True] * 3 + [False] * 6
            match.abort()

    in_virtual_time(course())


def test_search_that_has_spoken_alone_is_believed(in_virtual_time: Run) -> None:
    """Its legal moves count until the reference has told its own, which count then."""

    async def course() -> None:
        reference = FakeReference(delay=25.0)
        match = new_match(reference, FakeSearch(1))
        assert await match.start(now())
        assert (await play(match))[0] == "b"
        assert (await play(match, "b", "c"))[0] == "b"
        reference.delay, reference.legal = 10.0, ("a", "d")
        assert (await play(match, "b", "d"))[0] == "a"
        match.abort()

    in_virtual_time(course())


@pytest.mark.parametrize(("clock", "patience"), [(20, 0.25), (3, 0.25), (1, 0.05)])
def test_final_opinion_waits_a_moment_for_the_reference(in_virtual_time: Run, clock: int, patience: float) -> None:
    """A quarter of a second, or a tenth of a short turn: the search may be wrong."""

    async def course() -> None:
        reference = FakeReference(delay=0.01)
        match = new_match(reference, FakeSearch(1, proves=True), start=replace(START, play_clock=clock))
        assert await match.start(now())
        await asyncio.sleep(1.0)
        assert (await play(match))[1] == pytest.approx(0.0)
        assert (await play(match, "b", "c"))[1] == pytest.approx(0.01)
        reference.delay = 50.0
        assert await play(match, "b", "d") == ("b", pytest.approx(patience))
        match.abort()

    in_virtual_time(course())


def test_final_opinion_of_a_wrong_search_ends_no_turn(in_virtual_time: Run) -> None:
    """Where the reference finds it wrong in time, the turn goes on with another search."""

    async def course() -> None:
        reference, wrong = FakeReference(delay=0.1), FakeSearch(1, wrong=True, proves=True)
        match = new_match(reference, wrong, FakeSearch(2, delay=1.0))
        starting = asyncio.create_task(match.start(now()))
        await asyncio.sleep(0.01)
        move, seconds = await play(match)
        assert move == "b"
        assert at_the_deadline(seconds)
        assert wrong.released
        assert await starting
        match.abort()

    in_virtual_time(course())


def places(search: FakeSearch) -> list[int]:
    """Returns the turns on which a search was told what to think about."""
    return [command.turn for command in search.commands if isinstance(command, Placement)]


@pytest.mark.parametrize("delays", [(0.0, 0.5), (0.5, 0.0)])
def test_search_that_has_lost_its_way_is_told_the_state(in_virtual_time: Run, delays: tuple[float, float]) -> None:
    """Once, as soon as the reference knows it; then its opinions count."""

    async def course() -> None:
        reference, search = FakeReference(delay=delays[0]), FakeSearch(1, astray=True, delay=delays[1])
        match = new_match(reference, search)
        assert await match.start(now())
        for moves in ((), ("b", "c"), ("b", "d")):
            assert (await play(match, *moves))[0] == "b"
        assert places(search) == [0, 1, 2]
        assert not search.released
        match.abort()

    in_virtual_time(course())


def test_search_is_told_of_each_doubt(in_virtual_time: Run) -> None:
    """Each sample of possible states is passed on, and the state when it is known after all."""

    async def course() -> None:
        reference, search = FakeReference(states=3), FakeSearch(1)
        match = new_match(reference, search)
        assert await match.start(now())
        assert places(search) == [0]
        playing = asyncio.create_task(play(match))
        for states in (5, 1):
            await asyncio.sleep(1.0)
            reference.states = states
            reference.report(reference.situation())
        await playing
        assert places(search) == [0, 0, 0]
        assert not search.released
        await play(match, "b", "c")
        assert places(search) == [0, 0, 0]
        match.abort()

    in_virtual_time(course())


def test_search_that_joins_late_is_told_of_the_doubt(in_virtual_time: Run) -> None:
    """Also where the reference has told of it before there was a search, or the last search is lost."""

    class Late(FakePool):
        async def acquire(self, kind: Kind) -> FakeProcess:
            await asyncio.sleep(5.0 if kind == SEARCH else 0.0)
            return await super().acquire(kind)

    async def course() -> None:
        first, second = FakeSearch(1, astray=True), FakeSearch(2, astray=True)
        match = new_match(pool=Late(FakeReference(states=3), first, second))
        assert await match.start(now())
        assert (await play(match))[0] == "b"
        first.die()
        playing = asyncio.create_task(play(match, "b", "c"))
        await asyncio.sleep(10.0)
        assert (places(first), places(second)) == ([0], [1])
        assert (await playing)[0] == "b"
        match.abort()

    in_virtual_time(course())


def test_state_with_more_legal_moves_than_are_told(in_virtual_time: Run) -> None:
    """A move that the situation does not name is answered if the search has the same state."""

    class Many(FakeReference):
        def answers(self, command: object) -> Iterable[Report]:
            yield replace(situation(self.turn), legal=("a",), choices=5000)

    async def course() -> None:
        search = FakeSearch(1, move="z")
        match = new_match(Many(), search)
        assert await match.start(now())
        assert (await play(match))[0] == "z"
        search.report(Thought(0, b"another", Opinion("y", final=True), "fake"))
        await asyncio.sleep(0.1)
        assert match._turn.best_move() == "a"
        match.abort()

    in_virtual_time(course())


@pytest.mark.parametrize("ponder", [True, False])
def test_search_is_told_to_rest_between_turns(in_virtual_time: Run, ponder: bool) -> None:
    """With pondering off, the search rests after each answer until the next turn; else never.

    The start clock is used in any case. A process that joins later rests as the first one does.
    """

    async def course() -> None:
        search, second = FakeSearch(1), FakeSearch(2)
        match = new_match(search, second, ponder=ponder)
        assert await match.start(now())
        await play(match)
        await play(match, "b", "c")
        search.die()
        await asyncio.sleep(1.0)
        begins = [each.commands[0] for each in (search, second)]
        assert [begin.ponder for begin in begins if isinstance(begin, Begin)] == [True, ponder]
        kinds = [type(command) for command in search.commands[1:]]
        assert kinds == ([Turn, Turn] if ponder else [Rest, Turn, Rest, Turn, Rest])
        match.abort()

    in_virtual_time(course())


def test_nobody_thinks_for_a_manager_that_does_not_go_on(in_virtual_time: Run) -> None:
    """The search rests after two play clocks and a minute of silence, but not if the manager has gone on meanwhile."""

    async def course() -> None:
        search = FakeSearch(1)
        match = new_match(search)
        assert await match.start(now())
        await play(match)
        await asyncio.sleep(90.0)
        await play(match, "b", "c")
        await asyncio.sleep(99.0)
        assert not any(isinstance(command, Rest) for command in search.commands)
        await asyncio.sleep(2.0)
        assert isinstance(search.commands[-1], Rest)
        await play(match, "b", "d")
        match.abort()
        await asyncio.sleep(200.0)
        kinds = [type(command) for command in search.commands[1:]]
        assert kinds == [Turn, Turn, Rest, Turn]

    in_virtual_time(course())


def test_match_that_has_ended_is_not_kept(in_virtual_time: Run) -> None:
    """Whatever its clocks: strangers may begin and end as many as they like. It is freed at once."""

    async def course() -> None:
        match = new_match(FakeSearch(1), start=replace(START, start_clock=3600, play_clock=3600))
        assert await match.start(now())
        match.abort()
        await asyncio.sleep(60.0)
        kept = weakref.ref(match)
        gc.disable()
        try:
            del match
            assert kept() is None, gc.get_referrers(kept())
        finally:
            gc.enable()

    in_virtual_time(course())


@pytest.mark.parametrize("asked", [False, True])
def test_nobody_thinks_for_a_hundred_years(in_virtual_time: Run, asked: bool) -> None:
    """Whatever the clocks, nor for a manager that has sent nothing but START."""

    async def course() -> None:
        search = FakeSearch(1, proves=True)
        start = replace(START, start_clock=LONGEST_CLOCK, play_clock=LONGEST_CLOCK)
        match = new_match(search, start=start)
        assert await match.start(now())
        if asked:
            await asyncio.sleep(2 * 3600.0)
            await play(match)
        await asyncio.sleep(2 * 3600 + 59.0)
        assert not any(isinstance(command, Rest) for command in search.commands)
        await asyncio.sleep(2.0)
        assert isinstance(search.commands[-1], Rest)
        match.abort()

    in_virtual_time(course())


def test_search_with_more_kernels_takes_over(in_virtual_time: Run) -> None:
    """When there are more kernels, another search goes on after the answer, once."""

    async def course() -> None:
        first = FakeSearch(1, without={"circuit", "tree"})
        second, third = FakeSearch(2, without={"tree"}, delay=0.3), FakeSearch(3, without={"tree"})
        pool = FakePool(first, second, third, without={"circuit", "tree"})
        match = new_match(pool=pool)
        assert await match.start(now())
        await play(match)
        assert not second.begun
        pool.without = frozenset({"tree"})
        move, seconds = await play(match, "b", "c")
        assert move == "b"
        assert at_the_deadline(seconds)
        await asyncio.sleep(0.1)
        assert [search.released for search in (first, second)] == [True, False]
        assert (second.begun[0].checkpoint.turn, second.begun[0].checkpoint.since) == (1, ())
        assert [begin.compile for search in (first, second) for begin in search.begun] == [False, True]
        assert (await play(match, "b", "d"))[0] == "b"
        assert sum(isinstance(command, Turn) for command in second.commands) == 1
        assert not third.begun
        match.abort()

    in_virtual_time(course())


def test_search_that_comes_when_all_is_over_is_kept_for_others(in_virtual_time: Run) -> None:
    """A process that was not told of the match stays in the pool."""

    class Slow(FakePool):
        async def acquire(self, kind: Kind) -> FakeProcess:
            await asyncio.sleep(1.0)
            return await super().acquire(kind)

    async def course() -> None:
        search = FakeSearch(1)
        match = new_match(pool=(pool := Slow(search)))
        starting = asyncio.create_task(match.start(now()))
        await asyncio.sleep(0.5)
        match.abort()
        await asyncio.sleep(1.0)
        assert not search.released
        assert await pool.acquire(SEARCH) is search
        await starting

    in_virtual_time(course())


def told(search: FakeSearch) -> int:
    """Returns the number of circuits that a search was told are wrong."""
    begin = search.commands[0]
    assert isinstance(begin, Begin)
    return begin.distrust


def test_search_that_replaces_another_is_told_of_wrong_circuits(in_virtual_time: Run) -> None:
    """A circuit that the search itself has found wrong is not trusted again."""

    async def course() -> None:
        lost, spare = FakeSearch(1), FakeSearch(2)
        match = new_match(lost, spare)
        assert await match.start(now())
        lost.report(Distrusted(1))
        await asyncio.sleep(0.1)
        assert lost.released
        assert (told(lost), told(spare)) == (0, 1)
        match.abort()

    in_virtual_time(course())


class SlowDisk(MatchJournal):
    """A journal that takes a second for each line."""

    def __init__(self) -> None:
        super().__init__(Path("nowhere"))

    async def append(self, line: dict[str, object], *_: object, **how: object) -> None:  # type: ignore[override]
        await asyncio.sleep(1.0)

    def remove(self) -> None:
        """There is no file."""


def test_joint_move_is_noted_before_it_is_acted_on(in_virtual_time: Run) -> None:
    """Processes learn of a joint move when the journal has it: a restarted server knows all that was answered to."""

    async def course() -> None:
        search = FakeSearch(1)
        match = Match(MatchSheet.of(START), FakePool(search), MatchOptions(Clock(MARGIN)), SlowDisk())  # type: ignore[arg-type]
        begin = now()
        assert await match.start(begin)
        assert now() - begin == pytest.approx(1.0)
        await play(match)
        playing = asyncio.create_task(play(match, "b", "c"))
        for waited, turns in ((0.9, 1), (0.2, 2)):
            await asyncio.sleep(waited)
            assert sum(isinstance(command, Turn) for command in search.commands) == turns
        assert at_the_deadline((await playing)[1])
        match.abort()

    in_virtual_time(course())


async def test_match_taken_up_again_is_told_of_wrong_circuits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restarted server does not trust circuits found wrong before."""
    monkeypatch.setattr(json_lines, "PATIENCE", 120.0)
    options = MatchOptions(Clock(MARGIN))
    before, after = FakeSearch(1), FakeSearch(2, proves=True)
    match = Match(MatchSheet.of(START), FakePool(before), options, Journal(tmp_path).match("m"))  # type: ignore[arg-type]
    assert await match.start(now())
    before.report(Distrusted(1))
    while not match._history.distrust:
        await asyncio.sleep(0.0)
    await asyncio.gather(*match._history.noting)
    match.suspend()
    (found,) = Journal(tmp_path).unfinished(Moment.present())
    again = Match(MatchSheet.of(found.start), FakePool(after), options, found=found)  # type: ignore[arg-type]
    assert await again.play(Play("m", None), now()) == "b"
    assert (told(before), told(after)) == (0, 1)
    again.abort()


def test_failure_in_finding_an_answer_costs_no_legal_move(
    in_virtual_time: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The best move known is sent, also to a repeated PLAY; the log has the error, and the match goes on."""

    async def course() -> None:
        match = new_match(FakeSearch(1))
        assert await match.start(now())
        with monkeypatch.context() as patch:
            patch.setattr(MatchTurn, "reasons", lambda turn: 1 / 0)
            assert (await play(match))[0] == (await play(match))[0] == "b"
        assert caplog.text.count("finding the answer failed") == 1
        assert (await play(match, "b", "c"))[0] == "b"
        match.abort()

    in_virtual_time(course())
