"""Plays matches of a tournament, one at a time, with the referee; players over HTTP and in this process mix."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack

from agent.errors import InputError
from agent.lab.tournament.contenders import Contender
from agent.lab.tournament.engine_player import EnginePlayer, make_named_engine
from agent.lab.tournament.openings import Opening, draw_opening
from agent.lab.tournament.results import MatchResult, Pairing, Settings, result_of
from agent.refereeing.agent_process import AgentProcess
from agent.refereeing.local_player import LocalPlayer
from agent.refereeing.record import MatchRecord
from agent.refereeing.referee import Participant, Referee
from agent.search.kernel_groups import kernel_groups, playing
from agent.sheet import Sheet
from games.machine import State, StateMachine, Term
from games.roles import is_random_role
from protocol.client import PlayerClient
from protocol.compose import Style
from protocol.scramble import make_scrambler

LONGEST_CLOCK = 1_000_000
"""Seconds: for matches whose players keep time themselves."""


class FirstMove(LocalPlayer):
    """Plays the first legal move."""

    timed = False

    async def choose(self, legal: Sequence[Term], state: State) -> Term:
        return legal[0]


class RandomMove(LocalPlayer):
    """Plays a random legal move."""

    timed = False

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    async def choose(self, legal: Sequence[Term], state: State) -> Term:
        return self._random.choice(legal)


def play_locally(machine: StateMachine, participants: Sequence[Participant], opening: Opening) -> MatchRecord:
    """A match between players of this process, from after the opening; errors are in its record."""
    players = tuple(participant.player for participant in participants)
    record = MatchRecord("", "local", machine.roles, players, LONGEST_CLOCK, LONGEST_CLOCK, "none", 0)
    moves = [tuple(joint_move) for joint_move in opening]
    return asyncio.run(Referee(machine, (), make_scrambler("none"), participants, record, opening=moves).run())


class MatchPlayer:
    """Plays the matches of a schedule that it is given, in a process of its own; keeps what the next one can use."""

    def __init__(self, settings: Settings, contenders: Mapping[str, Contender], sheets: Mapping[str, Sheet]) -> None:
        self._settings = settings
        self._contenders = contenders
        self._sheets = sheets
        self._machines: dict[str, StateMachine] = {}
        self._agents: list[AgentProcess] = []
        if any(contender.kind == "engine" for contender in contenders.values()):
            for name in playing():
                kernel_groups()[name].load()

    def play(self, pairing: Pairing) -> Iterator[MatchResult]:
        """Plays it; yields the one result. Raises `CommandError` and `GameError`."""
        begin = time.monotonic()
        settings, sheet = self._settings, self._sheets[pairing.game]
        machine = self._machine(pairing.game)
        seats = [index for index, role in enumerate(machine.roles) if not is_random_role(role)]
        contenders = [self._contenders[label] for label in pairing.seats]
        opening = draw_opening(machine, settings.opening_plies, f"{settings.seed} {pairing.game} {pairing.round}")
        record = MatchRecord(
            game=sheet.name,
            match_id=f"tournament.{pairing.round}.{time.time_ns() // 1000}",
            roles=machine.roles,
            players=tuple(self._labels(pairing, seats, machine)),
            start_clock=settings.start_clock,
            play_clock=settings.play_clock,
            scramble=settings.scramble,
            seed=random.Random(self._seed(pairing)).getrandbits(32),
        )
        agents = self._agents_for(sum(contender.kind == "agent" for contender in contenders))
        asyncio.run(self._referee(machine, sheet, seats, contenders, agents, record, pairing, opening))
        yield result_of(pairing, sheet, seats, contenders, record, time.monotonic() - begin)

    def close(self) -> None:
        """Ends the agents that it has started; they would end with this process."""
        for agent in self._agents:
            agent.close()
        self._agents = []

    def _machine(self, game: str) -> StateMachine:
        if game not in self._machines:
            # Matches come game by game: those of earlier games are not needed again.
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
    ) -> None:
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
                    clients[role] = EnginePlayer(engine, contender.seconds, contender.start_seconds, turn)
                elif contender.kind == "random":
                    clients[role] = RandomMove(f"{self._seed(pairing)} {role} {contender.seed}")
                else:
                    clients[role] = FirstMove()
            participants = [
                Participant(role, record.players[index], clients.get(index)) for index, role in enumerate(machine.roles)
            ]
            moves = [tuple(joint_move) for joint_move in opening]
            await Referee(machine, sheet.rulesheet, scrambler, participants, record, opening=moves).run()


def open_session(
    settings: Settings, contenders: Mapping[str, Contender], sheets: Mapping[str, Sheet]
) -> Callable[[Pairing], Iterator[MatchResult]]:
    """In a worker: what plays matches."""
    return MatchPlayer(settings, contenders, sheets).play
