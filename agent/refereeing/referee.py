"""The referee: runs a match over HTTP as a game manager does.

In games of imperfect information (GDL-II) it tells each player the turn, the move that it made, and its percepts.

Every move is checked with the reference machine. For a late, missing, unreadable or illegal reply a random legal move
is played and the error recorded, as by ggp-base; the match goes on. The clocks are exact, without any grace.
"""

from __future__ import annotations

import asyncio
import logging
import operator
import random
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

from agent.errors import CommandError
from agent.record.match import Kind, MatchRecord, PlayerError, Request
from agent.refereeing.agent_process import AgentClient
from agent.refereeing.knowledge import Knowledge
from agent.refereeing.local_player import LocalPlayer
from games.gdl.rules.check import check
from games.gdl.rules.surface import has_imperfect_information
from games.machine import GameError, State, StateMachine, Term
from games.perception import Perception
from protocol.client import ClientError, Late, Malformed, PlayerClient
from protocol.kif import write
from protocol.messages import Abort, Message, Play, Start, Stop
from protocol.scramble import Scrambler

log = logging.getLogger(__name__)

ABORT_SECONDS = 1.0
"""Seconds for players to confirm ABORT."""

JointMove: TypeAlias = tuple[Term, ...]

Client: TypeAlias = PlayerClient | LocalPlayer | None
"""A role's player; None where the referee plays."""


class MatchWatcher:
    """Gets the events of a match; does nothing unless overridden."""

    def started(self, record: MatchRecord) -> None:
        """Called when all players have answered START, or failed to; at once where a person plays."""

    def asked(self, record: MatchRecord, legal: Sequence[Sequence[Term]]) -> None:
        """Called before the players are asked for a joint move; `legal` has the legal moves of each role."""

    def stepped(self, record: MatchRecord) -> None:
        """Called after a joint move; the record has it, its times and the state after it."""

    def ended(self, record: MatchRecord) -> None:
        """Called after the match, when STOP was answered."""


class Referee:
    """Runs one match."""

    def __init__(
        self,
        machine: StateMachine,
        scrambler: Scrambler,
        clients: Sequence[Client],
        record: MatchRecord,
        watcher: MatchWatcher | None = None,
        opening: Sequence[JointMove] = (),
        rulesheet: tuple[Term, ...] | None = None,
        match_id: str | None = None,
    ) -> None:
        """`opening` are joint moves that are played first, whatever the players answer.

        If all players are local, the match begins after the opening. Players over HTTP are asked at every step, as the
        protocol has no other way to tell them of moves, and their answers are checked. So are all players where
        information is imperfect: the state after the opening is more than they may know.

        A record of which the newest state is known is continued: the players' match has the name `match_id` and begins
        in that state, which must be the initial one of `rulesheet` (None: those of the record).
        """
        self._machine = machine
        self._rulesheet = record.rules if rulesheet is None else rulesheet
        self._scrambler = scrambler
        self._clients = list(clients)
        self._watcher = watcher or MatchWatcher()
        self._opening = tuple(opening)
        self._random = random.Random(record.seed)
        record.opening_plies = len(self._opening)
        self.record = record
        """Filled while the match runs."""
        self._match_id = match_id or record.match_id
        self._eager = any(isinstance(client, LocalPlayer) and client.person for client in self._clients)
        """Whether the match waits for nobody who has no choice: a person plays."""
        self._asked: list[asyncio.Task[Any]] = []
        """Last message to each role's player, which the next one waits for."""
        self._begun = record.plies
        """Number of joint moves before the players' match."""
        self._perception: Perception | None = None
        """None in a game of perfect information."""
        self._percepts: list[tuple[Term, ...]] = [()] * len(self._clients)
        """Of each role, after the last joint move."""
        self._people: dict[int, Knowledge] = {}
        """Knowledge of people, by role, in a game of imperfect information."""
        self._seconds = [0.0] * len(self._clients)
        """Of each role, for the next joint move."""

    async def run(self) -> MatchRecord:
        """Plays the match to its end.

        Raises `GameError` where the reference machine gives up, `OSError` where a watcher cannot print, and the
        `CommandError` of a local player. Then, and when cancelled, it sends ABORT first.
        """
        try:
            await self._play()
        except (asyncio.CancelledError, CommandError, GameError, OSError):
            await self._abort()
            raise
        return self.record

    async def _play(self) -> None:
        machine, record = self._machine, self.record
        known = record.last.facts
        state = await asyncio.to_thread(lambda: machine.initial() if known is None else machine.state(known))
        record.reach(await asyncio.to_thread(machine.facts, state))
        if has_imperfect_information(self._rulesheet):
            # Without this word no player knows its percepts.
            self._scrambler.keep("sees")
            self._perception = await asyncio.to_thread(lambda: Perception(check(self._rulesheet)))
            self._people = {
                role: Knowledge(machine, state, role, partial(self._perception.percepts, role=role))
                for role, client in enumerate(self._clients)
                if isinstance(client, LocalPlayer) and client.person
            }
            record.see(self._percepts, {role: knowledge.sight() for role, knowledge in self._people.items()})
        over_http = any(isinstance(client, PlayerClient) for client in self._clients)
        if not over_http and self._perception is None:
            for joint_move in self._opening:
                state = self._advance(state, joint_move)
        self._asked = [
            asyncio.create_task(self._ask(role, 0, "start", state, ())) for role in range(len(self._clients))
        ]
        if not self._eager:
            await asyncio.gather(*self._asked)
        # Else a person need not wait for the others, who get ready during the person's move.
        self._watcher.started(record)
        while not await asyncio.to_thread(machine.terminal, state):
            legal = await asyncio.to_thread(self._legal, state)
            if not all(legal):
                record.end("stalled")
                break
            for role, moves in enumerate(legal):
                record.allow(role, tuple(moves))
            self._watcher.asked(record, legal)
            joint_move = await self._joint_move(legal, state)
            state = await asyncio.to_thread(self._advance, state, joint_move)
            await self._tell_local_players(joint_move, state)
            self._watcher.stepped(record)
        else:
            goals = [await asyncio.to_thread(machine.goal, state, role) for role in range(len(machine.roles))]
            record.end("finished", goals)
        await asyncio.gather(
            *(self._ask(role, record.plies + 1, "stop", state, (), before) for role, before in enumerate(self._asked))
        )
        self._watcher.ended(record)

    def _advance(self, state: State, joint_move: JointMove) -> State:
        """Plays and records a joint move, and finds out what is seen of it."""
        if self._perception is not None:
            facts = self.record.last.facts
            assert facts is not None
            for role in range(len(self._clients)):
                percepts = self._perception.percepts(facts, joint_move, role)
                self._percepts[role] = tuple(sorted(percepts, key=write))
        sights = {
            role: knowledge.follow(joint_move[role], self._percepts[role]) for role, knowledge in self._people.items()
        }
        state = self._machine.next(state, joint_move)
        self.record.move(joint_move, list(self._seconds))
        if self._perception is not None:
            self.record.see(self._percepts, sights)
        self.record.reach(self._machine.facts(state))
        return state

    async def _tell_local_players(self, joint_move: JointMove, state: State) -> None:
        step = self.record.plies
        for role, player in enumerate(self._clients):
            if isinstance(player, LocalPlayer):
                try:
                    await player.follow(joint_move, state)
                except CommandError:
                    raise
                except Exception as error:
                    self._fails(role, step, "play", error)

    def _legal(self, state: State) -> list[list[Term]]:
        return [self._machine.legal(state, role) for role in range(len(self._clients))]

    async def _joint_move(self, legal: Sequence[list[Term]], state: State) -> JointMove:
        """Returns one legal move per role: the players' answers, substitutes, or the opening's moves."""
        step = self.record.plies + 1
        self._seconds = [0.0] * len(self._clients)
        answers = [
            asyncio.create_task(self._answer(role, step, state, moves, before))
            for role, (moves, before) in enumerate(zip(legal, self._asked, strict=True))
        ]
        self._asked = list(answers)
        forced = [
            self._eager and len(moves) == 1 and isinstance(client, PlayerClient)
            for client, moves in zip(self._clients, legal, strict=True)
        ]
        pending = set(answers)
        try:
            while not all(map(operator.or_, forced, (answer.done() for answer in answers))):
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for answer in done:
                    # One that fails ends the match, whoever is waited for.
                    answer.result()
        except BaseException:
            for answer in pending:
                answer.cancel()
            raise
        joint_move = tuple(
            answer.result() if answer.done() else moves[0] for answer, moves in zip(answers, legal, strict=True)
        )
        return self._opening[step - 1] if step <= len(self._opening) else joint_move

    async def _answer(self, role: int, step: int, state: State, legal: list[Term], before: asyncio.Task[Any]) -> Term:
        """Asks a player for its move, once `before` is over; returns it, or a substitute."""
        return self._judge(role, step, await self._ask(role, step, "play", state, legal, before), legal)

    def _judge(self, role: int, step: int, reply: Term | None, legal: list[Term]) -> Term:
        if reply is not None:
            local = isinstance(self._clients[role], LocalPlayer)
            # Compared scrambled: the move must be legal in the rules that the player got.
            known = legal if local else list(map(self._scrambler.scramble, legal))
            if reply in known:
                return legal[known.index(reply)]
            told = write(reply)
            alike = [text for text in map(write, known) if text.lower() == told.lower()]
            detail = f"{told}: its case alone differs from {' or '.join(alike)}" if alike else told
            self._blame(role, step, "play", "illegal", detail)
        return self._random.choice(legal)

    async def _ask(
        self,
        role: int,
        step: int,
        request: Request,
        state: State,
        legal: Sequence[Term],
        before: asyncio.Task[Any] | None = None,
    ) -> Term | None:
        """Asks a player, once `before` is over; returns None for one without a readable reply, and for the referee."""
        seconds = 0.0
        player = self._clients[role]
        # As things are now: the match may go on meanwhile.
        message = self._message(role, request) if isinstance(player, PlayerClient) else None
        if before is not None:
            # If it cannot start, that ends the match.
            await before
        begin = time.monotonic()
        try:
            if player is None:
                return None
            if request == "start" and isinstance(player, AgentClient):
                self.record.wait(role, "starts")
                await player.wait_until_available()
            if isinstance(player, LocalPlayer):
                try:
                    return await self._ask_local(player, request, state, legal)
                finally:
                    seconds = time.monotonic() - begin
            if request != "stop":
                self.record.wait(role, "thinks" if request == "play" else "gets ready", self._clock(request))
            assert message is not None
            answer = await player.send(message, timeout=self._clock(request))
            seconds = answer.seconds
            return answer.term
        except ClientError as error:
            seconds = error.seconds
            self._blame(role, step, request, _kind(error), str(error))
            return None
        except TimeoutError:
            self._blame(role, step, request, "late", f"no reply within {self._clock(request):g} s")
            return None
        except CommandError:
            raise
        except Exception as error:
            # An error of a local player: the match goes on.
            self._fails(role, step, request, error)
            return None
        finally:
            self.record.go_on(role)
            if request == "play" and step == self.record.plies + 1:
                self._seconds[role] = seconds

    async def _ask_local(
        self, player: LocalPlayer, request: Request, state: State, legal: Sequence[Term]
    ) -> Term | None:
        seconds = self._clock(request)
        async with asyncio.timeout(seconds if player.timed else None):
            if request == "start":
                await player.start(state, seconds)
            elif request == "play" and self.record.plies >= len(self._opening):
                return await player.choose(legal, state)
        return legal[0] if legal else None

    def _clock(self, request: Request) -> float:
        return self.record.getting_ready if request == "start" else self.record.play_clock

    def _message(self, role: int, request: Request) -> Message:
        record, scramble = self.record, self._scrambler.scramble
        if request == "start":
            rules = tuple(map(scramble, self._rulesheet))
            return Start(self._match_id, scramble(record.roles[role]), rules, record.getting_ready, record.play_clock)
        make = Play if request == "play" else Stop
        turn = record.plies - self._begun
        moves = tuple(map(scramble, record.last.moves or ())) if turn else None
        if self._perception is None:
            return make(self._match_id, moves)
        percepts = tuple(map(scramble, self._percepts[role]))
        return make(self._match_id, None, turn, None if moves is None else moves[role], percepts)

    def _fails(self, role: int, step: int, request: Request, error: Exception) -> None:
        log.exception("%s: %s fails", self.record.match_id, self.record.players[role])
        self._blame(role, step, request, "failed", f"{type(error).__name__}: {error}")

    def _blame(self, role: int, step: int, request: Request, kind: Kind, detail: str) -> None:
        self.record.blame(PlayerError(self.record.roles[role], step, request, kind, detail))

    async def _abort(self) -> None:
        for task in self._asked:
            task.cancel()
        clients = [client for client in self._clients if isinstance(client, PlayerClient)]
        message = Abort(self._match_id)
        await asyncio.gather(
            *(client.send(message, timeout=ABORT_SECONDS) for client in clients), return_exceptions=True
        )


def _kind(error: ClientError) -> Kind:
    match error:
        case Late():
            return "late"
        case Malformed():
            return "malformed"
        case _:
            return "unreachable"
