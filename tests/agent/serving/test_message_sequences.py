"""Messages in any order, of all kinds, some at the same time: each gets a reply of its kind, in time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest

from agent.serving import journal
from agent.serving.clock import Clock, now
from agent.serving.match import Pools
from agent.serving.player import Player, ServeOptions
from agent.serving.sheet import prepared
from agent.serving.starting import SEARCH, Kind
from games.machine import Term
from protocol.messages import (
    Abort,
    Aborted,
    Busy,
    Dialect,
    Done,
    Info,
    Message,
    MoveReply,
    Ping,
    Play,
    Preview,
    Ready,
    Start,
    Status,
    Stop,
)
from protocol.server import Received
from tests.agent.serving.virtual import FakePool, FakeProcess, FakeReference, FakeSearch, run

RULES: tuple[Term, ...] = (("role", "x"), ("role", "y"), ("legal", "x", "a"), ("legal", "x", "b"), ("legal", "y", "c"))
HIDDEN: tuple[Term, ...] = (*RULES, ("<=", ("sees", "x", "?m"), ("does", "y", "?m")))

KINDS: dict[type[Message], tuple[type, ...]] = {
    Info: (Status,),
    Ping: (Ready,),
    Preview: (Ready,),
    Start: (Ready, Busy),
    Play: (MoveReply, Busy),
    Stop: (Done, Busy),
    Abort: (Aborted, Busy),
}


class Endless(FakePool):
    """A pool without end: slow processes, some that hang, die or are wrong."""

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self._rng = rng

    async def acquire(self, kind: Kind) -> FakeProcess:
        """Returns a new process."""
        rng = self._rng
        pid, delay = rng.randrange(1000), rng.choice((0.0, 0.1, 3.0))
        odd: FakeProcess = FakeReference(pid, delay=delay, states=rng.choice((1, 1, 3)))
        if kind == SEARCH:
            proves, wrong, astray = (rng.random() < 0.3 for _ in range(3))
            odd = FakeSearch(pid, delay=delay, proves=proves, wrong=wrong, astray=astray)
        if rng.random() < 0.3:
            asyncio.get_running_loop().call_later(rng.random() * 20, rng.choice((odd.die, odd.hang)))
        return odd


def random_message(rng: Random) -> Message:
    """Returns a message about one of a few matches, sensible or not."""
    match_id = rng.choice(("m", "n", "o", "a/../b", "\x00"))
    moves = rng.choice((None, (), ("a", "c"), ("b", "c"), ("b",), ("b", "c", "c"), (("a", "?x"), "c"), ("nil",)))
    turn = rng.choice((None, None, 0, 1, 2, 7))
    percepts = None if turn is None else rng.choice(((), (("saw", "c"),)))
    last_move = None if turn is None else rng.choice((None, "a", ("z", "z")))
    moves = moves if turn is None else None
    match rng.randrange(12):
        case 0:
            return rng.choice((Info(), Ping(), Ping("m7"), Preview(RULES, 3)))
        case 1 | 2:
            role: Term = rng.choice(("x", "x", "y", "nobody", ("f", "x")))
            return Start(match_id, role, rng.choice((RULES, HIDDEN, ())), rng.choice((0, 1, 10)), rng.choice((0, 1, 5)))
        case 3:
            return Stop(match_id, moves, turn, last_move, percepts)
        case 4:
            return Abort(match_id)
        case _:
            return Play(match_id, moves, turn, last_move, percepts)


@pytest.mark.parametrize("seed", range(12))
def test_every_message_gets_a_reply_of_its_kind(
    seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Moves come by the deadline, plus the grace after an outage; a player that has enough matches says busy."""
    # The disk does not live in virtual time.
    monkeypatch.setattr(journal.MatchJournal, "append", _forget)
    rng = Random(seed)

    async def course() -> None:
        player = Player(ServeOptions(workers=2, journal=tmp_path, margin=0.5))
        endless = Endless(rng)
        player._pools = Pools(endless.reference, endless.search)  # type: ignore[arg-type]

        async def send(message: Message) -> None:
            running = {match.match_id: match for match in player.matches}
            begun = now()
            received = Received(begun, Dialect(), "198.51.100.7", rng.choice((0.0, 0.2)))
            reply = await player.handle(prepared(message), received)
            assert isinstance(reply, KINDS[type(message)]), (message, reply)
            assert len(player.matches) <= 2
            if isinstance(message, Play) and message.match_id in running:
                clock = running[message.match_id].start_message.play_clock
                latest = Clock(0.5).deadline(begun, clock).at + 0.5
                assert now() <= latest, (message, now() - begun)

        sent: set[asyncio.Task[None]] = set()
        for _ in range(150):
            task = asyncio.create_task(send(random_message(rng)))
            sent.add(task)
            if rng.random() < 0.7:
                await task
            else:
                await asyncio.sleep(rng.choice((0.0, 0.3, 2.0)))
        await asyncio.gather(*sent)
        for match in player.matches:
            assert await player.handle(Abort(match.match_id), Received(now(), Dialect(), "")) == Aborted()
        assert player.matches == ()
        player._kernels.close()

    run(monkeypatch, course())
    assert "Traceback" not in caplog.text


async def _forget(*_: object, **__: object) -> None:
    """Writes nothing."""
