"""The player and its matches, in virtual time; objects stand in for the processes of matches."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from agent.playing.messages import Begin, Command, Refused, Report, Rewind, Turn
from agent.search.kernel_groups import GENERAL, playing
from agent.serving import history
from agent.serving import match as matches
from agent.serving.clock import now
from agent.serving.player import MOST_STARTS, Player, ServeOptions
from agent.serving.sheet import prepared
from agent.serving.starting import REFERENCE, SEARCH
from games.machine import Term
from protocol.messages import (
    LONGEST_CLOCK,
    Abort,
    Aborted,
    Busy,
    Dialect,
    Done,
    Info,
    Message,
    MoveReply,
    Play,
    Ready,
    Reply,
    Start,
    Status,
    Stop,
    parse,
)
from protocol.server import Received
from tests.agent.serving.virtual import FakePool, FakeProcess, FakeReference, FakeSearch, fake_player, run

RULES: tuple[Term, ...] = (("role", "x"), ("role", "y"), ("legal", "x", "a"), ("legal", "x", "b"), ("legal", "y", "c"))

START = Start("m", "x", RULES, 60, 20)


class Manager:
    """A manager of matches of a player."""

    def __init__(self, player: Player) -> None:
        self.player = player

    async def send(self, message: Message, peer: str = "198.51.100.7") -> Reply:
        """Returns the reply to a message from an address."""
        return await self.player.handle(prepared(message), Received(now(), Dialect(), peer))

    async def is_available(self, peer: str = "198.51.100.7") -> bool:
        """Returns whether INFO is answered so."""
        reply = await self.send(Info(), peer)
        assert isinstance(reply, Status)
        return reply.status == "available"


def kind_of(message: Message) -> str:
    """Returns the name of a message, as managers write it."""
    return type(message).__name__.upper()


Course = Callable[[Manager], Awaitable[None]]


@pytest.fixture
def against(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakePool]:
    """Runs the course of a manager's matches with a player of these processes."""

    def against(course: Course, *processes: FakeProcess, **options: Any) -> FakePool:
        pool = fake_player(monkeypatch, *processes)

        async def whole() -> None:
            player = Player(ServeOptions(workers=2, margin=0.5, **options))
            await player.open()
            await course(Manager(player))
            await player.close()

        run(monkeypatch, whole())
        return pool

    return against


def test_as_many_matches_as_allowed(against: Callable[..., FakePool]) -> None:
    """Two matches are played at once, a third START is refused, INFO says busy meanwhile."""

    async def course(manager: Manager) -> None:
        assert await manager.is_available()
        for name in "mn":
            assert await manager.send(replace(START, match_id=name)) == Ready()
        assert not await manager.is_available()
        assert await manager.send(replace(START, match_id="o")) == Busy()
        assert manager.player.statistics.refused == 1
        assert await manager.send(Play("n")) == MoveReply("b")
        assert await manager.send(Play("o")) == Busy()
        assert await manager.send(Abort("m")) == Aborted()
        assert await manager.is_available()
        assert await manager.send(replace(START, match_id="o")) == Ready()
        assert await manager.send(Stop("n")) == Done()

    against(course, *map(FakeSearch, range(3)))


def test_replies_are_spelled_as_the_rules(against: Callable[..., FakePool]) -> None:
    """A move that the rules have in parentheses is answered so, and thought about without."""
    start, _ = parse("(START m x ((role x) (role y) (legal x (b)) (legal y (c))) 60 20)")
    assert isinstance(start, Start)

    async def course(manager: Manager) -> None:
        assert await manager.send(start) == Ready()
        assert await manager.send(Play("m")) == MoveReply(("b",))
        assert await manager.send(Play("m", (("b",), ("c",)))) == MoveReply(("b",))

    search = FakeSearch(0)
    against(course, search)
    assert joint_moves(search) == [None, ("b", "c")]


@pytest.mark.parametrize("missing", GENERAL)
def test_available_means_with_what_any_game_may_need(against: Callable[..., FakePool], missing: str) -> None:
    """While such kernels are being compiled, or the spare search loads them, INFO says busy; START is accepted.

    It does not wait for native families, nor for what cannot be compiled.
    """

    async def course(manager: Manager) -> None:
        player, pool = manager.player, manager.player._pools.search
        pool.do_without({missing, "reversi"})
        assert not await manager.is_available()
        assert player.kernels == {*playing()} - {missing, "reversi"}
        player._kernels._keeper.failed = {missing: "status 3"}
        assert await manager.is_available()
        assert await manager.send(START) == Ready()
        pool.do_without({"reversi"})
        player._kernels._keeper.failed = {}
        assert await manager.is_available()
        pool._both.warm = False  # type: ignore[attr-defined]
        assert not await manager.is_available()
        assert player.kernels == frozenset()

    against(course, FakeSearch(1))


def test_silent_match_is_closed(against: Callable[..., FakePool]) -> None:
    """A match whose manager is silent for three clocks and 20 s makes room, though nobody asks for it."""

    async def course(manager: Manager) -> None:
        await manager.send(START)
        await manager.send(Play("m"))
        await asyncio.sleep(79.0)
        assert len(manager.player.matches) == 1
        await asyncio.sleep(12.0)
        assert manager.player.matches == ()
        assert search.released

    search = FakeSearch(1, proves=True)
    against(course, search)


def test_silent_match_makes_room_at_once(against: Callable[..., FakePool]) -> None:
    """A START does not wait for the next look at silent matches."""

    async def course(manager: Manager) -> None:
        manager.player._upkeep[0].cancel()
        for name in "mn":
            await manager.send(replace(START, match_id=name))
        await asyncio.sleep(3 * 60 + 21.0)
        assert len(manager.player.matches) == 2
        assert await manager.send(replace(START, match_id="o")) == Ready()
        assert [match.match_id for match in manager.player.matches] == ["n", "o"]

    against(course, *map(FakeSearch, range(3)))


def test_clock_of_a_hundred_years_holds_no_place_for_long(
    against: Callable[..., FakePool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A match with an hour a move holds its place; one without a limit only until it is silent and another START comes.
    The one that has been silent for longest goes."""
    # Passing hours takes a while, even where they are not waited for.
    assert matches.HELD_CLOCK == 3600
    monkeypatch.setattr(matches, "HELD_CLOCK", 60)
    hour, endless = (replace(START, start_clock=clock, play_clock=clock) for clock in (60, LONGEST_CLOCK))

    async def course(manager: Manager) -> None:
        for name in "abc":
            assert await manager.send(replace(endless, match_id=name)) == (Ready() if name != "c" else Busy())
        for name in "ab":
            assert await manager.send(Play(name)) == MoveReply("b")
        await asyncio.sleep(3 * 60 + 19.0)
        assert not await manager.is_available()
        await asyncio.sleep(2.0)
        assert await manager.is_available()
        assert [match.match_id for match in manager.player.matches] == ["a", "b"]
        assert await manager.send(Play("a")) == MoveReply("b")
        assert await manager.send(replace(hour, match_id="c")) == Ready()
        assert [match.match_id for match in manager.player.matches] == ["a", "c"]
        for name in "ac":
            assert await manager.send(replace(hour, match_id="d")) == Busy()
            assert await manager.send(Play(name, None if name == "c" else ("b", "c"))) == MoveReply("b")
            await asyncio.sleep(60.0)

    against(course, *(FakeSearch(pid, proves=True) for pid in range(3)))


def test_match_that_never_begins_makes_room(against: Callable[..., FakePool], monkeypatch: pytest.MonkeyPatch) -> None:
    """Long clocks hold no place for longer than one of them, if no PLAY comes; for less where another peer asks, which
    has less than its share of the places. STARTs that come again hold none."""
    assert (matches.HELD_CLOCK, matches.SHARED_CLOCK) == (3600, 180)
    monkeypatch.setattr(matches, "HELD_CLOCK", 60)
    monkeypatch.setattr(matches, "SHARED_CLOCK", 30)
    long = replace(START, start_clock=60, play_clock=60)
    other = "192.0.2.1"

    async def course(manager: Manager) -> None:
        for name in "ab":
            assert await manager.send(replace(long, match_id=name)) == Ready()
        await asyncio.sleep(30 + 19.0)
        assert not await manager.is_available(other)
        assert await manager.send(replace(long, match_id="a")) == Ready()
        await asyncio.sleep(2.0)
        assert await manager.is_available(other)
        assert not await manager.is_available()
        assert await manager.send(replace(long, match_id="c")) == Busy()
        # The match that was heard of last stays.
        assert await manager.send(replace(long, match_id="o"), other) == Ready()
        assert [match.match_id for match in manager.player.matches] == ["a", "o"]
        assert await manager.send(replace(long, match_id="p"), other) == Busy()
        await asyncio.sleep(30 - 3.0)
        assert await manager.send(replace(long, match_id="c")) == Busy()
        await asyncio.sleep(4.0)
        assert await manager.send(replace(long, match_id="c")) == Ready()
        assert [match.match_id for match in manager.player.matches] == ["o", "c"]

    against(course, *map(FakeSearch, range(4)))


def test_slow_managers_keep_their_places(against: Callable[..., FakePool]) -> None:
    """Nobody else gets the place of a match while its manager may wait for the other players to get ready, nor when it
    is being played."""

    async def course(manager: Manager) -> None:
        async def others_ask(seconds: int) -> None:
            for number in range(seconds):
                await asyncio.sleep(1.0)
                assert await manager.send(replace(START, match_id="o"), f"192.0.2.{number % 9}") == Busy()

        for name in "ab":
            assert await manager.send(replace(START, match_id=name)) == Ready()
        await others_ask(2 * START.start_clock)
        for name in "ab":
            assert await manager.send(Play(name)) == MoveReply("b")
        await others_ask(3 * START.play_clock)
        for name in "ab":
            assert await manager.send(Play(name, ("b", "c"))) == MoveReply("b")

    against(course, *(FakeSearch(pid, proves=True) for pid in range(2)))


def test_repeated_messages_change_nothing(against: Callable[..., FakePool]) -> None:
    """A PLAY repeated during or after its turn gets the same reply, a repeated START gets ready."""

    async def course(manager: Manager) -> None:
        assert await manager.send(START) == await manager.send(START) == Ready()
        for message in (Play("m"), Play("m", ("b", "c"))):
            first, second = await asyncio.gather(manager.send(message), manager.send(message))
            assert first == second == await manager.send(message) == MoveReply("b")
        assert await manager.send(START) == Ready()
        assert await manager.send(Play("m", ("b", "c"))) == MoveReply("b")
        (match,) = manager.player.matches
        assert match.turn_number == 1

    search = FakeSearch(1)
    against(course, search)
    assert joint_moves(search) == [None, ("b", "c")]


def test_manager_may_start_the_same_match_again(against: Callable[..., FakePool]) -> None:
    """A START repeated in the middle, followed by the first PLAY, leads back to the first turn."""

    async def course(manager: Manager) -> None:
        await manager.send(START)
        await manager.send(Play("m"))
        await manager.send(Play("m", ("b", "c")))
        assert await manager.send(START) == Ready()
        assert await manager.send(Play("m")) == MoveReply("b")
        (match,) = manager.player.matches
        assert match.turn_number == 0

    search = FakeSearch(1)
    against(course, search)
    assert sum(isinstance(command, Rewind) for command in search.commands) == 1


def test_managers_joint_move_is_the_truth(against: Callable[..., FakePool]) -> None:
    """The match goes on from the move that the manager made for us, whatever we answered."""

    async def course(manager: Manager) -> None:
        await manager.send(START)
        assert await manager.send(Play("m")) == MoveReply("b")
        await manager.send(Play("m", ("a", "c")))

    search = FakeSearch(1)
    against(course, search)
    assert joint_moves(search) == [None, ("a", "c")]


def test_another_match_of_the_same_name(against: Callable[..., FakePool]) -> None:
    """A START with other clocks drops the old match; one for another role is refused."""

    async def course(manager: Manager) -> None:
        await manager.send(START)
        assert await manager.send(replace(START, role="y")) == Busy()
        assert not first.released
        assert await manager.send(replace(START, play_clock=30)) == Ready()
        assert first.released
        assert [match.start_message.play_clock for match in manager.player.matches] == [30]

    first = FakeSearch(1)
    against(course, first, FakeSearch(2))


class Refusing(FakeReference):
    """A reference that can make nothing of the rules."""

    accepts = False

    def answers(self, command: Command) -> Iterable[Report]:
        """Refuses the match."""
        yield Refused("no role")


def test_rules_without_a_meaning_are_refused(
    against: Callable[..., FakePool], caplog: pytest.LogCaptureFixture
) -> None:
    """START gets `busy`, with the reason in the log; the match is unknown then, and the processes kept for others."""

    async def course(manager: Manager) -> None:
        assert await manager.send(START) == Busy()
        assert manager.player.matches == ()
        assert await manager.send(Play("m")) == Busy()

    reference, search = Refusing(), FakeSearch(prepares=False)
    pool = against(course, reference, search)
    assert not reference.released
    assert pool.waiting == {REFERENCE: [reference], SEARCH: [search]}
    assert "m: cannot be played: no role" in caplog.text


@pytest.mark.parametrize("message", [Play("other"), Stop("other"), Abort("other")], ids=kind_of)
def test_unknown_matches_are_answered_busy(
    against: Callable[..., FakePool], caplog: pytest.LogCaptureFixture, message: Message
) -> None:
    """PLAY, STOP and ABORT for a match that is not running are refused and logged."""

    async def course(manager: Manager) -> None:
        await manager.send(START)
        assert await manager.send(message) == Busy()
        assert await manager.send(Play("m")) == MoveReply("b")

    against(course, FakeSearch(1))
    assert f"other: {kind_of(message)} from 198.51.100.7 for an unknown match" in caplog.text


@pytest.mark.parametrize(
    "message", [Play("m"), Stop("m"), Abort("m"), START, replace(START, play_clock=9)], ids=kind_of
)
def test_match_may_belong_to_the_address_that_began_it(
    against: Callable[..., FakePool], caplog: pytest.LogCaptureFixture, message: Message
) -> None:
    """Messages that another one sends are answered busy and logged; of IPv6, a network of 64 bits counts as one."""

    async def course(manager: Manager) -> None:
        assert await manager.send(START, "2001:db8::1") == Ready()
        assert await manager.send(message, "2001:db8:0:1::1") == Busy()
        assert await manager.send(START, "2001:db8::2") == Ready()
        assert await manager.send(Play("m"), "2001:db8::3") == MoveReply("b")

    against(course, FakeSearch(1), bind_manager=True)
    assert f"m: {kind_of(message)} from 2001:db8:0:1::1, which did not begin the match" in caplog.text


def joint_moves(search: FakeSearch) -> list[object]:
    """Returns the joint moves that a search was told of, turn by turn."""
    return [command.joint_move for command in search.commands if isinstance(command, Turn)]


def test_messages_that_differ_by_case_alone_are_understood(against: Callable[..., FakePool]) -> None:
    """Some managers fold the case of the role and the moves, but not of the rules; the search gets the rules' words."""
    search = FakeSearch(1)

    async def course(manager: Manager) -> None:
        loud = replace(START, role="X")
        assert await manager.send(loud) == Ready()
        assert await manager.send(loud) == Ready()
        assert await manager.send(Play("m")) == MoveReply("b")
        assert await manager.send(Play("m", ("B", "C"))) == MoveReply("b")

    against(course, search)
    begin = search.commands[0]
    assert isinstance(begin, Begin)
    assert (begin.start.role, tuple(begin.start.rules)) == (START.role, START.rules)
    assert joint_moves(search)[-1] == ("b", "c")


def test_match_that_takes_too_much_memory_is_dropped(
    against: Callable[..., FakePool], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Many turns, or a few with huge moves, end a match; an endless repetition of one does not."""
    monkeypatch.setattr(history, "MOST_TOLD", 10 * history.TURN_BYTES)

    async def course(manager: Manager) -> None:
        for other, turns in (("c", 9), (("c", *"x" * 1900), 1)):
            assert await manager.send(START) == Ready()
            for joint_move in (None, *[("b", "c")] * 20):
                assert isinstance(await manager.send(Play("m", joint_move)), MoveReply)
            told = 0
            while await manager.send(Play("m", ("a", (str(told), other)))) != Busy():
                told += 1
            assert told == turns
            assert not manager.player.knows("m")

    against(course, *map(FakeSearch, range(4)))
    assert caplog.text.count("turns take too much memory") == 2


def test_few_repetitions_of_a_start_wait(against: Callable[..., FakePool]) -> None:
    """Each START that waits keeps a rulesheet in memory: beyond some of them, further ones are answered busy."""

    async def course(manager: Manager) -> None:
        waiting = [asyncio.create_task(manager.send(START)) for _ in range(MOST_STARTS)]
        await asyncio.sleep(1.0)
        assert await manager.send(START) == Busy()
        assert await asyncio.gather(*waiting) == [Ready()] * MOST_STARTS
        assert await manager.send(START) == Ready()

    against(course, FakeSearch(0, prepares=False))


def test_endless_moves_are_refused(against: Callable[..., FakePool], caplog: pytest.LogCaptureFixture) -> None:
    """A joint move of more tokens than any in use has is nothing that a match could wait for."""

    async def course(manager: Manager) -> None:
        assert await manager.send(START) == Ready()
        assert await manager.send(Play("m")) == MoveReply("b")
        for message in (Play("m", ("a", ("f", *"x" * 6000))), Stop("m", ("a",) * 6000)):
            assert await manager.send(message) == Busy()
        assert await manager.send(Play("m", ("b", "c"))) == MoveReply("b")

    against(course, FakeSearch(0))
    assert "with an endless move" in caplog.text
