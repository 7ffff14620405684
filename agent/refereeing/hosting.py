"""The `match` command: brings sheet, players and referee together and shows the match as it goes."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Sequence
from pathlib import Path

from agent.boards.layout import Layout
from agent.errors import InputError
from agent.kernels.groups import CIRCUIT, PLAYING
from agent.kernels.progress import prepare
from agent.refereeing.agent_process import AgentProcess
from agent.refereeing.house_players import house_player
from agent.refereeing.record import MatchRecord
from agent.refereeing.referee import Participant, Referee, Watcher
from agent.sheet import Sheet, load
from games.gdl.running.machine import CircuitMachine
from games.machine import StateMachine, Term
from games.roles import is_random_role
from protocol.client import PlayerClient
from protocol.compose import Style
from protocol.kif import write
from protocol.scramble import ScrambleStyle, make_scrambler

BUILT_IN = ("agent", "random", "legal")
"""Players that are no addresses: this agent in a process of its own, and the house players."""

REFEREE = "referee"
"""What the record calls the player of the random role."""


def host_match(
    game: str,
    players: Sequence[str],
    *,
    start_clock: int,
    play_clock: int,
    scramble: ScrambleStyle = "none",
    seed: int = 0,
    memory: Path | None = None,
    watcher: Watcher | None = None,
) -> MatchRecord:
    """Runs a match of the game (own rulesheet's name or file) to its end, as described by `ggp-agent match --help`.

    `memory` is the folder of what agent processes have learnt in earlier matches; None: they learn anew. Interrupted at
    the keyboard, it tells the players ABORT and returns what was played. Raises `CommandError`, and `GameError` where
    the rules turn out not to be playable.
    """
    sheet = load(game)
    assigned = _assign(sheet, players)
    # An agent process will want them all, and may use the circuit's while others are still being compiled.
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.closing(prepare((CIRCUIT,), beside=PLAYING if "agent" in players else ())))
        agents = [stack.enter_context(AgentProcess(memory)) for player in assigned if player == "agent"]
        print(f"setting up {sheet.name} ...", flush=True)
        # Before there are any threads: compiling forks.
        machine = sheet.machine()
        record = MatchRecord(
            game=sheet.name,
            match_id=f"match.{re.sub(r'[^0-9A-Za-z_-]', '_', sheet.name)}.{time.time_ns() // 1_000_000}",
            roles=machine.roles,
            players=tuple(assigned),
            start_clock=start_clock,
            play_clock=play_clock,
            scramble=scramble,
            seed=seed,
        )
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(
                _host(sheet.rulesheet, machine, assigned, agents, record, watcher or Printer(machine, sheet.rulesheet))
            )
    return record


def _assign(sheet: Sheet, players: Sequence[str]) -> list[str]:
    """The player of each role. Raises `InputError`."""
    for player in players:
        if player not in BUILT_IN and not player.startswith(("http://", "https://")):
            raise InputError(f"{player}: a player is an address (http://host:port) or one of {', '.join(BUILT_IN)}")
    rest = iter(players)
    assigned = [REFEREE if is_random_role(role) else next(rest, "") for role in sheet.roles]
    if "" in assigned or next(rest, None) is not None:
        wanted = [write(role) for role in sheet.roles if not is_random_role(role)]
        raise InputError(
            f"{sheet.name} takes {len(wanted)} player{'s' * (len(wanted) != 1)} ({', '.join(wanted)}), "
            f"not {len(players)}"
        )
    return assigned


async def _host(
    rulesheet: tuple[Term, ...],
    machine: StateMachine,
    assigned: Sequence[str],
    agents: Sequence[AgentProcess],
    record: MatchRecord,
    watcher: Watcher,
) -> None:
    style: Style = "dresden" if record.scramble == "dresden" else "ggp-base"
    scrambler = make_scrambler(record.scramble, record.seed)
    waiting = iter(agents)
    async with contextlib.AsyncExitStack() as stack:
        participants = []
        for index, (role, player) in enumerate(zip(machine.roles, assigned, strict=True)):
            client = None
            if player != REFEREE:
                url = player
                if player == "agent":
                    agent = next(waiting)
                    await agent.wait_until_available(_announce)
                    url = agent.url
                elif player in BUILT_IN:
                    seed = record.seed + index + 1
                    url = await stack.enter_async_context(house_player(player, machine, scrambler, seed))
                client = await stack.enter_async_context(PlayerClient(url, style=style, name=player))
            participants.append(Participant(role, player, client))
        await Referee(machine, rulesheet, scrambler, participants, record, watcher).run()


def _announce(text: str) -> None:
    print(text, flush=True)


class Printer(Watcher):
    """Prints each step, with a board where the facts look like one."""

    def __init__(self, machine: StateMachine, rulesheet: Sequence[Term]) -> None:
        possible = machine.game.fluents + machine.game.always if isinstance(machine, CircuitMachine) else []
        self._layout = Layout.find([machine.facts(machine.initial())], possible, rulesheet)
        self._errors_shown = 0

    def started(self, record: MatchRecord) -> None:
        players = ", ".join(
            f"{write(role)}: {player}" for role, player in zip(record.roles, record.players, strict=True)
        )
        print(f"{record.game} ({players}), clocks {record.start_clock} s and {record.play_clock} s")
        if legend := self._layout.legend():
            print(legend)
        self._show_board(record)
        self._show_errors(record)

    def stepped(self, record: MatchRecord) -> None:
        step = len(record.moves)
        moves = "   ".join(
            f"{write(role)} {write(move)} {seconds[-1]:.2f} s"
            for role, move, seconds in zip(record.roles, record.moves[-1], record.seconds, strict=True)
        )
        print(f"step {step}   {moves}")
        self._show_errors(record)
        self._show_board(record)

    def ended(self, record: MatchRecord) -> None:
        self._show_errors(record)
        if record.outcome == "finished":
            goals = zip(record.roles, record.players, record.goals, strict=True)
            print("result: " + "   ".join(f"{write(role)} ({player}) {goal}" for role, player, goal in goals))
        else:
            print(f"no result: after step {len(record.moves)} a role has no legal move although the match is not over")
        print(f"{len(record.moves)} steps, errors of players: {len(record.errors)}", flush=True)

    def _show_board(self, record: MatchRecord) -> None:
        if drawing := self._layout.text(record.states[-1]):
            print(drawing)
        print(flush=True)

    def _show_errors(self, record: MatchRecord) -> None:
        for error in record.errors[self._errors_shown :]:
            print(f"  ! {write(error.role)}, {error.request}: {error.kind} ({error.detail})")
        self._errors_shown = len(record.errors)
