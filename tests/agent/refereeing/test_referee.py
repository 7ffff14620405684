"""The referee against well-behaved and misbehaving players, over real HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial

import pytest
from aiohttp import web

from agent.playing.messages import Checkpoint, Unseen
from agent.playing.reference import Reference
from agent.record.match import AGAIN_SECONDS, MatchRecord
from agent.refereeing.local_player import LocalPlayer
from agent.refereeing.referee import MatchWatcher, Referee
from games import rulesheets
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from games.machine import State, StateMachine, Term
from games.perception import Perception
from protocol import client
from protocol.client import PlayerClient
from protocol.kif import read_one, read_rulesheet, write
from protocol.messages import Message, Play, Start, Stop, parse
from protocol.scramble import ScrambleStyle, make_scrambler
from tests.agent.house_players import house_player
from tests.agent.playing.hidden_games import BLIND_TIC_TAC_TOE, CARDS, DICE_RACE
from tests.matches import interpreter_of, rules_of

Answer = Callable[[str], Awaitable[str]]
"""A player as a function from the text of a message to the text of the reply."""

CLOCK = 600
"""Seconds of both clocks; no test waits for them."""

NATURE = """
(role random) (role player)
(init (step 0)) (after 0 1) (after 1 2)
(<= (legal random (throw ?n)) (after ?n ?m))
(legal player (bet 0)) (legal player (bet 1))
(<= (next (step ?n)) (true (step ?m)) (after ?m ?n))
(<= (next (right)) (does random (throw ?n)) (does player (bet ?n)))
(<= terminal (true (step 2)))
(<= (goal player 100) (true (right))) (<= (goal player 0) (not (true (right))))
(goal random 0)
"""

DEAD_END = """
(role a) (init (f 1))
(<= (legal a go) (true (f 1)))
(<= (next (f 2)) (does a go))
(<= terminal (true (f 3)))
(goal a 0)
"""


@contextlib.asynccontextmanager
async def served(answer: Answer) -> AsyncIterator[str]:
    """Serves a player; yields its address."""

    async def handle(request: web.Request) -> web.Response:
        return web.Response(text=await answer(await request.text()))

    app = web.Application()
    app.router.add_post("/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def replies(play: Callable[[str], str]) -> Answer:
    """Makes a player that answers PLAY by this function, and everything else correctly."""

    async def answer(text: str) -> str:
        return play(text) if "PLAY" in text else "ready"

    return answer


def noting(heard: list[str], move: str = "ready") -> Answer:
    """Makes a player that notes what it hears, and answers PLAY by this."""

    async def answer(text: str) -> str:
        heard.append(text)
        return move if "PLAY" in text else "ready"

    return answer


async def referee_match(
    source: str, players: Sequence[Answer | str | None], scramble: ScrambleStyle = "none"
) -> MatchRecord:
    """Runs a match between players: functions, built-in ones by name, addresses, or None for the referee itself."""
    async with AsyncExitStack() as stack:
        return await (await open_referee(stack, source, players, scramble)).run()


async def open_referee(
    stack: AsyncExitStack, source: str, players: Sequence[Answer | str | None], scramble: ScrambleStyle = "none"
) -> Referee:
    """Returns the referee of a new match."""
    rulesheet = read_rulesheet(source)
    machine = Interpreter(check(rulesheet))
    scrambler = make_scrambler(scramble, 7)
    clients: list[PlayerClient | None] = []
    for player in players:
        connection = None
        if player is not None:
            if player in ("random", "legal"):
                url = await stack.enter_async_context(house_player(str(player), machine, scrambler, 1))
            elif isinstance(player, str):
                url = player
            else:
                url = await stack.enter_async_context(served(player))
            style = "dresden" if scramble == "dresden" else "ggp-base"
            connection = await stack.enter_async_context(PlayerClient(url, style=style, connect_timeout=CLOCK))
        clients.append(connection)
    names = ("player",) * len(clients)
    record = MatchRecord("game", "match.1", machine.roles, names, CLOCK, CLOCK, scramble, 7, rulesheet)
    return Referee(machine, scrambler, clients, record)


def tic_tac_toe() -> str:
    """The source of a short game."""
    return rulesheets.text("tic_tac_toe")


def replay(source: str, moves: Sequence[tuple[Term, ...]]) -> tuple[StateMachine, list[object]]:
    """Returns a machine, and its states after these moves; asserts that they are legal."""
    machine = interpreter_of(source)
    states = [machine.initial()]
    for joint_move in moves:
        for role, move in enumerate(joint_move):
            assert move in machine.legal(states[-1], role)
        states.append(machine.next(states[-1], joint_move))
    return machine, states


async def test_failing_player_gets_random_moves() -> None:
    """Not the same one each time: a player that always fails is no known opponent."""
    record = await referee_match(tic_tac_toe(), [replies(lambda _: "(fly 1 1)"), "legal"])
    machine, states = replay(tic_tac_toe(), record.moves)
    places = {machine.legal(state, 0).index(made[0]) for state, made in zip(states, record.moves, strict=False)}
    assert len(places) > 1


@pytest.mark.parametrize("scramble", ["none", "ggp-base", "dresden"])
async def test_good_players_finish_without_errors(scramble: ScrambleStyle) -> None:
    """A match between built-in players ends by the rules, and its record replays to the same states and goals."""
    record = await referee_match(tic_tac_toe(), ["random", "legal"], scramble)
    assert record.outcome == "finished"
    assert record.errors == []
    machine, states = replay(tic_tac_toe(), record.moves)
    assert machine.terminal(states[-1])
    assert record.states == [machine.facts(state) for state in states]
    assert record.goals == [machine.goal(states[-1], role) for role in (0, 1)]
    assert [len(seconds) for seconds in record.seconds] == [len(record.moves)] * 2


async def test_record_is_json() -> None:
    """The record survives JSON and has the fields that scripts read."""
    record = await referee_match(tic_tac_toe(), ["legal", "legal"])
    data = json.loads(json.dumps(record.as_json()))
    assert data["roles"] == ["x", "o"]
    assert data["steps"] == len(data["moves"]) == len(data["states"]) - 1
    assert data["errors"] == []
    assert len(data["goals"]) == len(data["seconds"]) == 2
    assert data["moves"][0][1] == "noop"
    assert data["states"][0] == ["(control x)"]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [("(mark 9 9)", "illegal"), ("noop", "illegal"), ("((", "malformed"), ("", "malformed"), ("a b", "malformed")],
)
async def test_bad_replies_are_replaced_and_recorded(reply: str, kind: str) -> None:
    """For a reply that is no legal move, a random legal one is played, the error recorded, and the match goes on."""
    record = await referee_match(tic_tac_toe(), [replies(lambda _: reply), "random"])
    assert record.outcome == "finished"
    replay(tic_tac_toe(), record.moves)
    own_turns = [step for step in range(1, len(record.moves) + 1) if step % 2 or reply != "noop"]
    assert [(error.role, error.step, error.kind) for error in record.errors] == [("x", s, kind) for s in own_turns]


async def test_moves_in_another_case_are_illegal_and_the_record_says_why() -> None:
    """As to other managers; the record says that it is the case alone."""
    record = await referee_match(tic_tac_toe(), [replies(lambda _: "(MARK 2 2)"), "random"])
    error = record.errors[0]
    assert (error.kind, error.step) == ("illegal", 1)
    assert error.detail == "(MARK 2 2): its case alone differs from (mark 2 2)"
    assert record.outcome == "finished"


class Hurried(PlayerClient):
    """Waits only a moment for the first move, with any timeout; notes the timeouts."""

    def __init__(self, url: str) -> None:
        super().__init__(url, connect_timeout=CLOCK)
        self.timeouts: list[float] = []

    async def send(self, message: Message, *, timeout: float) -> client.Answer:
        self.timeouts.append(timeout)
        first = isinstance(message, Play) and message.moves is None
        return await super().send(message, timeout=0.1 if first else timeout)


async def test_late_player_is_replaced_at_the_deadline() -> None:
    """A player that thinks too long loses that move only, and the match waits no longer than the clock."""

    async def answer(text: str) -> str:
        if "PLAY match.1 nil" in text or "PLAY match.1 NIL" in text:
            await asyncio.Event().wait()
        return "noop"

    async with AsyncExitStack() as stack:
        referee = await open_referee(stack, tic_tac_toe(), ["legal", "legal"])
        hurried = await stack.enter_async_context(Hurried(await stack.enter_async_context(served(answer))))
        referee._clients[1] = hurried
        record = await referee.run()
    late = [error for error in record.errors if error.kind == "late"]
    assert [(error.role, error.step, error.request) for error in late] == [("o", 1, "play")]
    assert record.seconds[1][0] > 0.09
    assert record.outcome == "finished"
    assert set(hurried.timeouts) == {CLOCK}


async def test_unreachable_player_is_played_for() -> None:
    """An unreachable player is recorded at START and at every step; its moves are played at random."""
    with socket.socket() as silent:
        # Bind the port, so that nobody else can listen there meanwhile.
        silent.bind(("127.0.0.1", 0))
        record = await referee_match(tic_tac_toe(), ["legal", f"http://127.0.0.1:{silent.getsockname()[1]}"])
    assert record.outcome == "finished"
    assert {error.kind for error in record.errors} == {"unreachable"}
    assert [error.step for error in record.errors] == list(range(len(record.moves) + 2))
    assert [error.request for error in record.errors[:2]] == ["start", "play"]
    assert record.errors[-1].request == "stop"


async def test_players_are_asked_at_the_same_time() -> None:
    """Players that wait for each other's question are not late."""
    together = asyncio.Barrier(2)

    async def patient(text: str) -> str:
        await together.wait()
        return "(show rock)" if "PLAY" in text else "ready"

    record = await referee_match(rulesheets.text("rock_paper_scissors"), [patient, patient])
    assert record.errors == []
    assert record.goals == [50, 50]


@pytest.mark.parametrize("scramble", ["ggp-base", "dresden"])
async def test_scrambled_players_never_see_the_rules_words(scramble: ScrambleStyle) -> None:
    """Messages have no word of the sheet, and a move in the sheet's own words is illegal."""
    heard: list[str] = []
    answer = noting(heard, "(mark 1 1)")
    record = await referee_match(tic_tac_toe(), [answer, "random"], scramble)
    assert not any(word in text.lower() for text in heard for word in ("mark", "noop", "control", "column"))
    assert {error.kind for error in record.errors} == {"illegal"}
    assert all(joint_move[1] == "noop" or joint_move[0] == "noop" for joint_move in record.moves)


async def test_referee_plays_nature() -> None:
    """The role `random` needs no player; its moves are legal and sent to the others."""
    heard: list[str] = []
    answer = noting(heard, "(bet 0)")
    record = await referee_match(NATURE, [None, answer])
    assert record.errors == []
    assert [joint_move[1] for joint_move in record.moves] == [("bet", "0"), ("bet", "0")]
    assert {joint_move[0] for joint_move in record.moves} <= {("throw", "0"), ("throw", "1")}
    assert read_one(heard[-1])[0] == "STOP"
    assert read_one(heard[-1])[2] == record.moves[-1]


class Believer:
    """A player that plays what is legal in all states which fit the percepts told, and fails where none does."""

    def __init__(self) -> None:
        self.heard: list[Start | Play | Stop] = []

    async def answer(self, text: str) -> str:
        """Answers a message."""
        message, _ = parse(text)
        assert isinstance(message, Start | Play | Stop)
        self.heard.append(message)
        if isinstance(message, Start):
            rules = check(message.rules)
            machine, role = Interpreter(rules), rules.roles.index(message.role)
            self.match = Reference(machine, role, Checkpoint(), partial(Perception(rules).percepts, role=role))
            return "ready"
        assert message.moves is None
        if message.turn:
            assert message.percepts is not None
            self.match.follow(Unseen(message.last_move, message.percepts))
        moves, probability = self.match.belief.safest_moves(CLOCK)
        assert probability == pytest.approx(1)
        return write(moves[-1]) if moves else "done"


@pytest.mark.parametrize(
    ("source", "scramble"),
    [(DICE_RACE, "none"), (BLIND_TIC_TAC_TOE, "upper"), (DICE_RACE, "ggp-base"), (CARDS, "dresden")],
    ids=["dice", "tic-tac-toe", "dice scrambled", "cards"],
)
async def test_players_are_told_percepts_where_information_is_imperfect(source: str, scramble: ScrambleStyle) -> None:
    """They hear the turn, their move as it was made, and what their role sees, also after an illegal reply: enough for
    legal moves to the end."""
    believers = [Believer(), Believer()]
    first = asyncio.Event()

    async def cheat_once(text: str) -> str:
        answer = await believers[0].answer(text)
        if "PLAY match" not in text or first.is_set():
            return answer
        first.set()
        return "nonsense"

    players = iter([cheat_once, believers[1].answer])
    roles = rules_of(source).roles
    record = await referee_match(source, [None if role == "random" else next(players) for role in roles], scramble)
    assert record.outcome == "finished"
    assert [(error.step, error.kind) for error in record.errors] == [(1, "illegal")]
    scrambler = make_scrambler(scramble, 7)
    scrambler.keep("sees")
    for role, believer in zip([role for role in roles if role != "random"], believers, strict=True):
        _, *told = believer.heard
        assert [message.turn for message in told] == list(range(len(record.moves) + 1))
        assert (told[0].last_move, told[0].percepts) == (None, ())
        assert isinstance(told[-1], Stop)
        perception, machine = Perception(rules_of(source)), interpreter_of(source)
        index = machine.roles.index(role)
        scrambler.scramble(read_rulesheet(source))
        for facts, joint_move, message in zip(record.states, record.moves, told[1:], strict=False):
            seen = perception.percepts(facts, joint_move, index)
            assert set(message.percepts or ()) == set(map(scrambler.scramble, seen))
            assert message.last_move == scrambler.scramble(joint_move[index])


async def test_dead_end_stops_the_match() -> None:
    """A state that is not terminal but leaves a role no move ends the match without goals, and players get STOP."""
    heard: list[str] = []
    record = await referee_match(DEAD_END, [noting(heard, "go")])
    assert record.outcome == "stalled"
    assert record.goals == []
    assert len(record.moves) == 1
    assert "STOP" in heard[-1]


async def test_the_greatest_of_several_goals_is_paid() -> None:
    """A role that has 0 and 100 at the end gets 100."""
    rules = DEAD_END.replace("(f 3)", "(f 2)") + "(goal a 100) (goal a 50)"
    record = await referee_match(rules, ["legal"])
    assert (record.outcome, record.goals) == ("finished", [100])


async def test_interrupted_match_is_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the referee is interrupted, every player gets ABORT."""
    monkeypatch.setattr("agent.refereeing.referee.ABORT_SECONDS", CLOCK)
    heard = []
    thinking = asyncio.Event()

    async def answer(text: str) -> str:
        heard.append(text)
        if "PLAY" in text:
            thinking.set()
            await asyncio.Event().wait()
        return "ready"

    async with AsyncExitStack() as stack:
        referee = await open_referee(stack, tic_tac_toe(), [answer, "random"])
        match = asyncio.create_task(referee.run())
        await thinking.wait()
        match.cancel()
        with pytest.raises(asyncio.CancelledError):
            await match
    assert referee.record.as_json()["outcome"] == "aborted"
    assert "ABORT match.1" in heard[-1]


async def test_match_that_nobody_can_watch_any_more_is_aborted() -> None:
    """Where a step cannot be printed, as into `head`, every player gets ABORT."""
    heard: list[str] = []

    class Unread(MatchWatcher):
        """Prints into a broken pipe."""

        def stepped(self, record: MatchRecord) -> None:
            raise BrokenPipeError

    async with AsyncExitStack() as stack:
        referee = await open_referee(stack, tic_tac_toe(), [noting(heard), "random"])
        referee._watcher = Unread()
        with pytest.raises(BrokenPipeError):
            await referee.run()
    assert "ABORT match.1" in heard[-1]


class Local(LocalPlayer):
    """Plays the last legal move, or that of a function; notes its calls."""

    timed = False

    def __init__(self, play: Callable[[Sequence[Term]], Term] = lambda legal: legal[-1]) -> None:
        self._play = play
        self.heard: list[object] = []

    async def start(self, state: State, seconds: float) -> None:
        self.heard.append(state)

    async def choose(self, legal: Sequence[Term], state: State) -> Term:
        self.heard.append(state)
        return self._play(legal)

    async def follow(self, joint_move: tuple[Term, ...], state: State) -> None:
        self.heard.append(joint_move)


async def local_match(
    first: LocalPlayer, second: LocalPlayer | str, opening: Sequence[tuple[Term, ...]], source: str = ""
) -> MatchRecord:
    """Plays tic-tac-toe, or another game, between a local player and another one, or a player over HTTP."""
    async with AsyncExitStack() as stack:
        players = [None, second if isinstance(second, str) else None]
        referee = await open_referee(stack, source or tic_tac_toe(), players)
        referee._opening = tuple(opening)
        referee._clients[0] = first
        if not isinstance(second, str):
            referee._clients[1] = second
        return await referee.run()


OPENING = [(("mark", "2", "2"), "noop"), ("noop", ("mark", "1", "1"))]


async def test_local_players_begin_after_the_opening() -> None:
    """Players in the process are asked after the opening, get all later joint moves, and never see it played."""
    first, second = Local(), Local()
    record = await local_match(first, second, OPENING)
    assert record.errors == []
    assert record.moves[:2] == OPENING
    machine, states = replay(tic_tac_toe(), record.moves)
    assert machine.terminal(states[-1])
    assert first.heard == second.heard
    assert first.heard[:2] == [states[2], states[2]]
    assert [entry for entry in first.heard if isinstance(entry, tuple)] == record.moves[2:]
    assert [len(seconds) for seconds in record.seconds] == [len(record.moves)] * 2


async def test_local_players_hear_of_the_opening_where_information_is_imperfect() -> None:
    """They begin with the match, as the state after the opening is more than they may know."""
    first, second = Local(), Local()
    opening = [(("try", "5"), "wait"), ("wait", ("try", "5"))]
    record = await local_match(first, second, opening, BLIND_TIC_TAC_TOE)
    assert record.errors == []
    assert record.moves[:2] == opening
    assert first.heard[0] == replay(BLIND_TIC_TAC_TOE, [])[1][0]
    assert first.heard[1:3] == opening


async def test_opening_is_played_whatever_players_over_http_answer() -> None:
    """Players over HTTP are asked in the opening too; the opening's moves are played and sent."""
    first = Local()
    record = await local_match(first, "legal", OPENING)
    assert record.errors == []
    assert record.moves[:2] == OPENING
    _, states = replay(tic_tac_toe(), record.moves)
    assert first.heard[0] == states[0]
    assert [entry for entry in first.heard if isinstance(entry, tuple)] == record.moves


async def test_local_player_that_fails_or_cheats_is_played_for() -> None:
    """An exception or an illegal move of a player in the process costs it the move, not the match."""

    def fail(legal: Sequence[Term]) -> Term:
        raise RuntimeError("broken")

    record = await local_match(Local(fail), Local(lambda legal: "resign"), [])
    assert record.outcome == "finished"
    assert {(error.role, error.kind) for error in record.errors} == {("x", "failed"), ("o", "illegal")}
    assert "RuntimeError: broken" in {error.detail for error in record.errors}


async def test_local_player_that_keeps_the_clock_is_cut_short() -> None:
    """A timed player in the process is late like any other, and cancelled."""

    class Slow(Local):
        timed = True

        async def choose(self, legal: Sequence[Term], state: State) -> Term:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.heard.append("cancelled")
                raise
            return legal[0]

    slow = Slow()
    async with AsyncExitStack() as stack:
        referee = await open_referee(stack, DEAD_END, [None])
        referee._clients[0] = slow
        referee.record.play_clock = 0
        record = await referee.run()
    assert [error.kind for error in record.errors] == ["late"]
    assert "cancelled" in slow.heard


async def test_match_taken_back_gets_ready_faster() -> None:
    """Its players know the game, so START does not give them the whole start clock again, but time to compile."""
    heard: list[str] = []
    for back, move, clock in ((False, 7, CLOCK), (True, 7, AGAIN_SECONDS), (True, 77, 77)):
        async with AsyncExitStack() as stack:
            referee = await open_referee(stack, tic_tac_toe(), [noting(heard), "random"])
            referee.record.play_clock = move
            if back:
                referee.record.take_back(0)
            await referee.run()
        assert read_one(heard[0])[-2:] == (str(clock), str(move))
        heard.clear()


async def test_person_waits_for_nobody_without_a_choice() -> None:
    """Players over HTTP get ready during the person's move, which is not held up; they hear of everything in order."""
    heard, asked, made = [], asyncio.Event(), asyncio.Event()

    async def answer(text: str) -> str:
        heard.append(read_one(text)[0])
        asked.set()
        await made.wait()
        return "ready"

    class Person(Local):
        person = True

        async def choose(self, legal: Sequence[Term], state: State) -> Term:
            # The first message is on its way when the person is asked.
            await asked.wait()
            heard.append("person")
            return legal[0]

    class Stepped(MatchWatcher):
        def stepped(self, record: MatchRecord) -> None:
            heard.append(f"step {record.plies}")
            made.set()

    async with AsyncExitStack() as stack:
        referee = await open_referee(stack, tic_tac_toe(), [None, answer])
        clients = [Person(), referee._clients[1]]
        referee = Referee(referee._machine, referee._scrambler, clients, referee.record, Stepped())
        # Who waits for the other waits for this clock.
        referee.record.start_clock = 30
        await referee.run()
    assert [one for one in heard if one != "person"][:5] == ["START", "step 1", "PLAY", "PLAY", "step 2"]
    assert heard.count("PLAY") == referee.record.plies
    assert heard[-1] == "STOP"
    assert not any(error.request == "start" for error in referee.record.errors)
