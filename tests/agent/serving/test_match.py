"""One match at its deadlines, to the instant: workers that are slow, hang, die or rest, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from agent.worker.messages import Begin, Prepared, Rest, Turn

from agent.serving import journal
from agent.serving.clock import Clock, now
from agent.serving.journal import Journal, MatchJournal
from agent.serving.match import Match, MatchOptions
from agent.serving.moments import Moment
from agent.serving.turn import MatchTurn
from games.machine import Term
from protocol.messages import LONGEST_CLOCK, Play, Start
from tests.agent.serving.virtual import FakePool, FakeWorker, Run

START_CLOCK, PLAY_CLOCK, MARGIN = 60, 20, 0.5

RULES = (("role", "x"), ("role", "y"), ("legal", "x", "a"), ("legal", "x", "b"), ("legal", "y", "c"))

START = Start("m", "x", RULES, START_CLOCK, PLAY_CLOCK)


def new_match(*workers: FakeWorker, ponder: bool = True, pool: FakePool | None = None, start: Start = START) -> Match:
    """A match with these workers, in the order in which they are called, or with those of a pool."""
    return Match(start, pool or FakePool(*workers), MatchOptions(Clock(MARGIN), ponder))  # type: ignore[arg-type]


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
        match = new_match(FakeWorker(1, delay=0.1))
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
        match = new_match(FakeWorker(1))
        assert await match.start(now())
        begin = now()
        await match.play(Play("m", None), begin - 5.0)
        assert now() - begin == pytest.approx(PLAY_CLOCK - MARGIN - 5.0)
        match.abort()

    in_virtual_time(course())


def test_reply_leaves_earlier_where_the_way_is_long(in_virtual_time: Run) -> None:
    """Once two messages have shown how long a round trip takes, two of them are kept back."""

    async def course() -> None:
        match = new_match(FakeWorker(1))
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
        match = new_match(FakeWorker(1))
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
        match = new_match(FakeWorker(1, delay=0.1, proves=True))
        assert await match.start(now())
        assert (await play(match))[1] == pytest.approx(0.0, abs=0.2)
        assert (await play(match, "b", "c"))[1] == pytest.approx(0.1)
        match.abort()

    in_virtual_time(course())


def test_set_up_that_takes_too_long_goes_on_during_play(in_virtual_time: Run, caplog: pytest.LogCaptureFixture) -> None:
    """START is answered when its clock less the margin is over, ready or not; PLAY with a legal move then."""

    async def course() -> None:
        match = new_match(FakeWorker(1, prepares=False))
        begin = now()
        assert await match.start(begin)
        assert now() - begin == pytest.approx(START_CLOCK - MARGIN)
        assert "not ready within the start clock" in caplog.text
        move, seconds = await play(match)
        assert move in ("a", "b")
        assert at_the_deadline(seconds)
        match.abort()

    in_virtual_time(course())


@pytest.mark.parametrize("loss", [FakeWorker.die, FakeWorker.hang])
def test_worker_lost_during_a_turn(in_virtual_time: Run, loss: Callable[[FakeWorker], None]) -> None:
    """A worker that dies or hangs is replaced; this turn and all later ones are answered in time."""

    async def course() -> None:
        lost, spare = FakeWorker(1), FakeWorker(2, delay=1.0)
        match = new_match(lost, spare)
        assert await match.start(now())
        assert (await play(match))[0] == "b"
        begin = now()
        asyncio.get_running_loop().call_later(2.0, loss, lost)
        move, seconds = await play(match, "b", "c")
        assert move == "b"
        assert at_the_deadline(seconds)
        assert lost.released
        (first, *_) = spare.commands
        assert isinstance(first, Begin)
        # From the last situation that the lost one reported, with what is left of the turn.
        assert first.checkpoint.turn + len(first.checkpoint.since) == 1
        assert first.seconds is not None
        left = PLAY_CLOCK - MARGIN - 2.0
        if loss is FakeWorker.die:
            assert first.seconds == pytest.approx(left)
        else:
            # Three seconds without a pulse, which comes twice a second.
            assert left - 4.0 <= first.seconds < left - 2.5
        assert begin + seconds == pytest.approx(now())
        for moves in (("b", "d"), ("a", "c")):
            move, seconds = await play(match, *moves)
            assert move == "b"
            assert at_the_deadline(seconds)
        match.abort()

    in_virtual_time(course())


def test_worker_that_hangs_from_the_beginning_is_replaced(in_virtual_time: Run) -> None:
    """Its first sign of life is waited for eight seconds: it checks the rules first."""

    async def course() -> None:
        hanging, spare = FakeWorker(1), FakeWorker(2)
        hanging.hang()
        begin = now()
        assert await new_match(hanging, spare).start(begin)
        assert 8.0 < now() - begin < 9.0
        assert hanging.released
        assert begun(spare)

    in_virtual_time(course())


def test_match_goes_on_without_a_circuit_that_may_kill_workers(in_virtual_time: Run) -> None:
    """From the second loss on, workers are told not to compile; after 21 losses no other worker is called."""

    async def course() -> None:
        workers = [FakeWorker(number) for number in range(30)]
        match = new_match(*workers)
        assert await match.start(now())
        for worker in workers:
            if begun(worker):
                worker.die()
                await asyncio.sleep(0.1)
        compiling = [begin.compile for worker in workers for begin in begun(worker)]
        assert compiling == [True, True] + [False] * 19
        assert at_the_deadline((await play(match))[1])
        match.abort()

    in_virtual_time(course())


def test_worker_lost_with_no_other_there(in_virtual_time: Run) -> None:
    """Without any worker the answer is one of the last legal moves known, and in time."""

    async def course() -> None:
        lost = FakeWorker(1)
        match = new_match(lost)
        assert await match.start(now())
        assert (await play(match))[0] == "b"
        lost.die()
        move, seconds = await play(match, "b", "c")
        assert move == "a", "not the move that was made just now"
        assert at_the_deadline(seconds)
        match.abort()

    in_virtual_time(course())


def test_standby_is_called_for_a_slow_worker(in_virtual_time: Run) -> None:
    """A worker without legal moves for a part of the turn gets another beside it; the faster one stays."""

    async def course() -> None:
        slow, spare = FakeWorker(1, delay=15.0), FakeWorker(2, delay=1.0)
        match = new_match(slow, spare)
        assert await match.start(now())
        assert (await play(match))[0] == "b"
        begin = now()
        move, seconds = await play(match, "b", "c")
        assert move == "b"
        assert at_the_deadline(seconds)
        (first, *_) = spare.commands
        assert isinstance(first, Begin)
        assert first.seconds == pytest.approx((PLAY_CLOCK - MARGIN) * 0.8)
        assert slow.released
        assert now() == pytest.approx(begin + PLAY_CLOCK - MARGIN)
        match.abort()

    in_virtual_time(course())


@pytest.mark.parametrize("ponder", [True, False])
def test_worker_is_told_to_rest_between_turns(in_virtual_time: Run, ponder: bool) -> None:
    """With pondering off, the worker rests after each answer until the next turn; else never.

    The start clock is used in any case. A worker that joins later rests as the first one does.
    """

    async def course() -> None:
        worker, second = FakeWorker(1), FakeWorker(2)
        match = new_match(worker, second, ponder=ponder)
        assert await match.start(now())
        await play(match)
        await play(match, "b", "c")
        worker.die()
        await asyncio.sleep(1.0)
        begins = [each.commands[0] for each in (worker, second)]
        assert [begin.ponder for begin in begins if isinstance(begin, Begin)] == [True, ponder]
        kinds = [type(command) for command in worker.commands[1:]]
        assert kinds == ([Turn, Turn] if ponder else [Rest, Turn, Rest, Turn, Rest])
        match.abort()

    in_virtual_time(course())


def test_nobody_thinks_for_a_manager_that_does_not_go_on(in_virtual_time: Run) -> None:
    """The worker rests after two play clocks and a minute of silence, but not if the manager has gone on meanwhile."""

    async def course() -> None:
        worker = FakeWorker(1)
        match = new_match(worker)
        assert await match.start(now())
        await play(match)
        await asyncio.sleep(90.0)
        await play(match, "b", "c")
        await asyncio.sleep(99.0)
        assert not any(isinstance(command, Rest) for command in worker.commands)
        await asyncio.sleep(2.0)
        assert isinstance(worker.commands[-1], Rest)
        await play(match, "b", "d")
        match.abort()
        await asyncio.sleep(200.0)
        kinds = [type(command) for command in worker.commands[1:]]
        assert kinds == [Turn, Turn, Rest, Turn]

    in_virtual_time(course())


@pytest.mark.parametrize("asked", [False, True])
def test_nobody_thinks_for_a_hundred_years(in_virtual_time: Run, asked: bool) -> None:
    """Whatever the clocks, nor for a manager that has sent nothing but START."""

    async def course() -> None:
        worker = FakeWorker(1, proves=True)
        start = replace(START, start_clock=LONGEST_CLOCK, play_clock=LONGEST_CLOCK)
        match = new_match(worker, start=start)
        assert await match.start(now())
        if asked:
            await asyncio.sleep(2 * 3600.0)
            await play(match)
        await asyncio.sleep(2 * 3600 + 59.0)
        assert not any(isinstance(command, Rest) for command in worker.commands)
        await asyncio.sleep(2.0)
        assert isinstance(worker.commands[-1], Rest)
        match.abort()

    in_virtual_time(course())


def test_worker_with_more_kernels_takes_over(in_virtual_time: Run) -> None:
    """A second worker joins when there are more kernels, and plays as soon as it is prepared."""

    async def course() -> None:
        first = FakeWorker(1, engine="plain", without={"circuit", "tree"})
        second = FakeWorker(2, engine="better", without={"tree"}, delay=0.3)
        pool = FakePool(first, second, without={"circuit", "tree"})
        match = new_match(pool=pool)
        assert await match.start(now())
        await play(match)
        assert not begun(second)
        pool.without = frozenset({"tree"})
        move, seconds = await play(match, "b", "c")
        assert move == "b"
        assert at_the_deadline(seconds)
        assert [worker.released for worker in (first, second)] == [True, False]
        assert begun(second)[0].checkpoint.turn + len(begun(second)[0].checkpoint.since) == 1
        assert [begin.compile for worker in (first, second) for begin in begun(worker)] == [False, True]
        assert (await play(match, "b", "d"))[0] == "b"
        assert sum(isinstance(command, Turn) for command in second.commands) == 1
        match.abort()

    in_virtual_time(course())


class NoBetter(FakePool):
    """A pool whose workers never get warm with all kernels."""

    async def acquire(self, latest: bool = False, patience: float = 0.0) -> FakeWorker:
        """Returns the next worker, or never returns."""
        if latest:
            await asyncio.Event().wait()
        return await super().acquire(latest, patience)


@pytest.mark.parametrize(
    "event",
    ["none comes", "it changes nothing", "it dies", "it proves, takes over", "it proves and the first hangs"],
)
def test_worker_with_more_kernels_costs_no_answer(in_virtual_time: Run, event: str) -> None:
    """Whatever becomes of the worker with more kernels, and of the first one meanwhile, each answer is good.

    What it has proven beside the first one counts as soon as it plays.
    """

    async def course() -> None:
        before = asyncio.all_tasks()
        proves = event.startswith("it proves")
        first = FakeWorker(1, without={"reversi"})
        second, third = FakeWorker(2, prepares=event == "it changes nothing", proves=proves), FakeWorker(3)
        match = new_match(pool=(NoBetter if event == "none comes" else FakePool)(first, second, third))
        assert await match.start(now())
        await asyncio.sleep(1.0)
        assert bool(begun(second)) == (event != "none comes")
        if event == "none comes":
            first.die()
        elif event == "it dies":
            second.die()
        elif event == "it proves, takes over":
            asyncio.get_running_loop().call_later(3.0, second._pass_on, Prepared("better", True))
        elif proves:
            first.hang()
        for moves in ((), ("b", "c"), ("b", "d")):
            move, seconds = await play(match, *moves)
            assert move == "b"
            assert at_the_deadline(seconds) != proves
            assert bool(moves) or not proves or 2.5 < seconds < 8.0
        assert not begun(third)
        match.abort()
        await asyncio.sleep(10.0)
        assert asyncio.all_tasks() == before

    in_virtual_time(course())


def test_worker_that_comes_when_all_is_over_is_kept_for_others(in_virtual_time: Run) -> None:
    """A worker that was not told of the match goes back to the pool."""

    class Slow(FakePool):
        async def acquire(self, latest: bool = False, patience: float = 0.0) -> FakeWorker:
            await asyncio.sleep(1.0)
            return await super().acquire(latest, patience)

    async def course() -> None:
        worker = FakeWorker(1)
        match = new_match(pool=(pool := Slow(worker)))
        starting = asyncio.create_task(match.start(now()))
        await asyncio.sleep(0.5)
        match.abort()
        await asyncio.sleep(1.0)
        assert not worker.released
        assert await pool.acquire() is worker
        await starting

    in_virtual_time(course())


def begun(worker: FakeWorker) -> list[Begin]:
    """Returns the command with which a worker was told to take part."""
    return [command for command in worker.commands if isinstance(command, Begin)]


def told(worker: FakeWorker) -> int:
    """Returns the number of circuits that a worker was told are wrong."""
    begin = worker.commands[0]
    assert isinstance(begin, Begin)
    return begin.distrust


def test_worker_that_replaces_another_is_told_of_wrong_circuits(in_virtual_time: Run) -> None:
    """A circuit that a lost worker found wrong is not trusted again."""

    async def course() -> None:
        lost, spare = FakeWorker(1), FakeWorker(2)
        match = new_match(lost, spare)
        assert await match.start(now())
        lost.distrust(1)
        await asyncio.sleep(0.1)
        lost.die()
        await asyncio.sleep(0.1)
        assert (told(lost), told(spare)) == (0, 1)
        match.abort()

    in_virtual_time(course())


class SlowDisk(MatchJournal):
    """A journal that takes a second for each line."""

    def __init__(self) -> None:
        super().__init__(Path("nowhere"))

    async def _append(self, line: dict[str, object], **_: object) -> None:
        await asyncio.sleep(1.0)

    def remove(self) -> None:
        """There is no file."""


def test_joint_move_is_noted_before_it_is_acted_on(in_virtual_time: Run) -> None:
    """Workers learn of a joint move when the journal has it: a restarted server knows all that was answered to."""

    async def course() -> None:
        worker = FakeWorker(1)
        match = Match(START, FakePool(worker), MatchOptions(Clock(MARGIN)), SlowDisk())  # type: ignore[arg-type]
        begin = now()
        assert await match.start(begin)
        assert now() - begin == pytest.approx(1.0)
        await play(match)
        playing = asyncio.create_task(play(match, "b", "c"))
        for waited, turns in ((0.9, 1), (0.2, 2)):
            await asyncio.sleep(waited)
            assert sum(isinstance(command, Turn) for command in worker.commands) == turns
        assert at_the_deadline((await playing)[1])
        match.abort()

    in_virtual_time(course())


async def test_match_taken_up_again_is_told_of_wrong_circuits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restarted server does not trust circuits found wrong before."""
    monkeypatch.setattr(journal, "PATIENCE", 120.0)
    options = MatchOptions(Clock(MARGIN))
    before, after = FakeWorker(1), FakeWorker(2, proves=True)
    match = Match(START, FakePool(before), options, Journal(tmp_path).match("m"))  # type: ignore[arg-type]
    assert await match.start(now())
    before.distrust(1)
    while not match._history.noting:
        await asyncio.sleep(0.0)
    await asyncio.gather(*match._history.noting)
    match.suspend()
    (found,) = Journal(tmp_path).unfinished(Moment.present())
    again = Match(found.start, FakePool(after), options, found=found)  # type: ignore[arg-type]
    assert await again.play(Play("m", None), now()) == "b"
    assert (told(before), told(after)) == (0, 1)
    again.abort()


def test_failure_in_finding_an_answer_costs_no_legal_move(
    in_virtual_time: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The best move known is sent, also to a repeated PLAY; the log has the error, and the match goes on."""

    async def course() -> None:
        match = new_match(FakeWorker(1))
        assert await match.start(now())
        with monkeypatch.context() as patch:
            patch.setattr(MatchTurn, "reasons", lambda turn: 1 / 0)
            assert (await play(match))[0] == (await play(match))[0] == "b"
        assert caplog.text.count("finding the answer failed") == 1
        assert (await play(match, "b", "c"))[0] == "b"
        match.abort()

    in_virtual_time(course())
