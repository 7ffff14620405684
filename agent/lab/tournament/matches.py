"""Matches of a tournament, one at a time, with the referee; players over HTTP and in this process mix."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TypeAlias

from agent.errors import InputError
from agent.lab.tournament.balance import is_balanced
from agent.lab.tournament.belief_engine import within_percepts
from agent.lab.tournament.contenders import Contender
from agent.lab.tournament.engine_player import EnginePlayer, make_named_engine
from agent.lab.tournament.openings import Opening, after, draw_opening
from agent.lab.tournament.results import MatchResult, Pairing, Settings, result_of
from agent.lab.tournament.turns import Turns
from agent.record.match import MatchRecord
from agent.refereeing.agent_process import AgentProcess
from agent.refereeing.house_players import FirstMove, RandomMove
from agent.refereeing.local_player import LocalPlayer
from agent.refereeing.referee import Referee
from agent.search.kernel_groups import kernel_groups, playing
from agent.sheet import Sheet
from games.machine import StateMachine, points
from games.roles import is_random_role
from protocol.client import PlayerClient
from protocol.compose import Style
from protocol.kif import read_one, write
from protocol.scramble import make_scrambler

TextOpening = list[list[str]]
"""[plies][roles], as the rulesheet spells moves."""

SeatOutside: TypeAlias = Callable[[Contender, StateMachine, int, Opening], LocalPlayer]
"""Lets a player of kind `outside` play a role after an opening."""


@dataclass(frozen=True)
class MatchJob:
    """A match to be played by a worker."""

    pairing: Pairing
    opening: TextOpening | None = None
    """None: the one that belongs to the settings' seed."""


@dataclass(frozen=True)
class GameRound:
    """A round of a game, whose opening is to be drawn."""

    game: str
    number: int


class MatchPlayer:
    """Plays matches, and draws openings, in a worker; keeps what the next one can use."""

    def __init__(
        self,
        settings: Settings,
        contenders: Mapping[str, Contender],
        sheets: Mapping[str, Sheet],
        outside: SeatOutside | None = None,
    ) -> None:
        """`outside` makes the contenders of that kind."""
        self._settings = settings
        self._contenders = contenders
        self._sheets = sheets
        self._outside = outside
        self._machines: dict[str, StateMachine] = {}
        self._agents: list[AgentProcess] = []
        if settings.balanced or any(contender.kind == "engine" for contender in contenders.values()):
            for name in playing():
                kernel_groups()[name].load()

    def draw(self, game: str, number: int, others: Iterable[TextOpening] = ()) -> TextOpening:
        """Returns an opening for a round of a game, to another position than `others`.

        Raises `InputError` where there is none. The same at each call, unless openings are to be balanced: that depends
        on time.
        """
        settings, machine = self._settings, self._machine(game)
        known = {after(machine, _read(other)) for other in others}

        def accept(opening: Opening) -> bool:
            return after(machine, opening) not in known and (not settings.balanced or is_balanced(machine, opening))

        opening = draw_opening(machine, settings.opening_plies, f"{settings.seed} {game} {number}", accept)
        return [[write(move) for move in joint_move] for joint_move in opening]

    def play(self, pairing: Pairing, given: TextOpening | None = None) -> Iterator[MatchResult]:
        """Plays a match from the opening `given`, or that of its round; yields its result.

        Raises `CommandError` and `GameError`.
        """
        begin = time.monotonic()
        settings, sheet = self._settings, self._sheets[pairing.game]
        machine = self._machine(pairing.game)
        seats = [index for index, role in enumerate(machine.roles) if not is_random_role(role)]
        contenders = [self._contenders[label] for label in pairing.seats]
        opening = _read(self.draw(pairing.game, pairing.round) if given is None else given)
        record = MatchRecord(
            game=sheet.name,
            match_id=f"tournament.{pairing.round}.{time.time_ns() // 1000}",
            roles=machine.roles,
            players=tuple(self._labels(pairing, seats, machine)),
            start_clock=settings.start_clock,
            play_clock=settings.play_clock,
            scramble=settings.scramble,
            seed=random.Random(self._seed(pairing)).getrandbits(32),
            rules=sheet.rulesheet,
        )
        agents = self._agents_for(sum(contender.kind == "agent" for contender in contenders))
        clients = asyncio.run(self._referee(machine, sheet, seats, contenders, agents, record, pairing, opening))
        first = _first_to_choose(record, seats)
        turns = [self._turns(clients[role], record, role) for role in seats]
        yield result_of(pairing, sheet, seats, contenders, record, time.monotonic() - begin, first, turns)

    def close(self) -> None:
        """Ends the agents that it has started, as the end of this process would."""
        for agent in self._agents:
            agent.close()
        self._agents = []

    def _machine(self, game: str) -> StateMachine:
        if game not in self._machines:
            # Matches come game by game: machines of earlier games are not needed again.
            self._machines = {game: self._sheets[game].machine()}
        return self._machines[game]

    def _labels(self, pairing: Pairing, seats: Sequence[int], machine: StateMachine) -> list[str]:
        labels = dict(zip(seats, pairing.seats, strict=True))
        return [labels.get(role, "referee") for role in range(len(machine.roles))]

    def _agents_for(self, count: int) -> list[AgentProcess]:
        while len(self._agents) < count:
            # Ends with this process: see `AgentProcess`.
            self._agents.append(AgentProcess())
        return self._agents[:count]

    def _seed(self, pairing: Pairing) -> str:
        return f"{self._settings.seed} {pairing.game} {pairing.round} {' '.join(pairing.seats)}"

    def _turns(self, client: PlayerClient | LocalPlayer, record: MatchRecord, role: int) -> Turns | None:
        if not isinstance(client, EnginePlayer):
            return None
        goal = points(record.goals[role]) if record.goals else math.inf
        return client.turns(record.opening_plies, goal, self._settings.cores)

    async def _referee(
        self,
        machine: StateMachine,
        sheet: Sheet,
        seats: Sequence[int],
        contenders: Sequence[Contender],
        agents: Sequence[AgentProcess],
        record: MatchRecord,
        pairing: Pairing,
        opening: Opening,
    ) -> dict[int, PlayerClient | LocalPlayer]:
        """Returns the players by role."""
        scrambler = make_scrambler(record.scramble, record.seed)
        waiting = iter(agents)
        turn = asyncio.Lock()
        async with AsyncExitStack() as stack:
            clients: dict[int, PlayerClient | LocalPlayer] = {}
            for role, contender in zip(seats, contenders, strict=True):
                if contender.over_http:
                    url = contender.spec
                    if contender.kind == "agent":
                        agent = next(waiting)
                        await agent.wait_until_available(lambda text: None)
                        url = agent.url
                    style: Style = "dresden" if record.scramble == "dresden" else "ggp-base"
                    client = PlayerClient(url, style=style, name=contender.label)
                    clients[role] = await stack.enter_async_context(client)
                elif contender.kind == "engine":
                    try:
                        engine = make_named_engine(contender.engine, machine, role)
                    except InputError as error:
                        raise InputError(f"{contender.label}, {sheet.name}: {error}") from None
                    engine = within_percepts(engine, machine, role, sheet)
                    clients[role] = EnginePlayer(engine, contender.seconds, contender.start_seconds, turn)
                elif contender.kind == "outside":
                    assert self._outside is not None
                    clients[role] = self._outside(contender, machine, role, opening)
                elif contender.kind == "random":
                    clients[role] = RandomMove(f"{self._seed(pairing)} {role} {contender.seed}")
                else:
                    clients[role] = FirstMove()
            by_role = [clients.get(role) for role in range(len(machine.roles))]
            moves = [tuple(joint_move) for joint_move in opening]
            await Referee(machine, scrambler, by_role, record, opening=moves).run()
        return clients


def _read(opening: TextOpening) -> Opening:
    return [[read_one(move) for move in joint_move] for joint_move in opening]


def _first_to_choose(record: MatchRecord, seats: Sequence[int]) -> int | None:
    """The seat that was the first to have a choice after the opening; None if several were at once, or none."""
    for position in record.positions[record.opening_plies :]:
        choosing = [seat for seat, role in enumerate(seats) if len(position.legal.get(role, ())) > 1]
        if choosing:
            return choosing[0] if len(choosing) == 1 else None
    return None


def open_playing(
    settings: Settings, contenders: Mapping[str, Contender], sheets: Mapping[str, Sheet]
) -> Callable[[MatchJob], Iterator[MatchResult]]:
    """In a worker: returns the function that plays matches."""
    player = MatchPlayer(settings, contenders, sheets)
    return lambda job: player.play(job.pairing, job.opening)


def open_drawing(settings: Settings, sheets: Mapping[str, Sheet]) -> Callable[[GameRound], Iterator[TextOpening]]:
    """In a worker: returns the function that draws openings."""
    player = MatchPlayer(settings, {}, sheets)

    def draw(wanted: GameRound) -> Iterator[TextOpening]:
        yield player.draw(wanted.game, wanted.number)

    return draw
