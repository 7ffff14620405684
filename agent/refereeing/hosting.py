"""The `match` command: brings sheet, players and referee together, and shows the match."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from agent.boards.layout import Layout
from agent.errors import InputError
from agent.kernels.progress import prepare
from agent.logs import printable
from agent.record.match import HUMAN, MatchRecord, PlayerError, facts_of, new_match_id
from agent.record.positions import from_position
from agent.refereeing.agent_process import AgentClient, AgentProcess, Share, too_many
from agent.refereeing.analysis import Analyst
from agent.refereeing.bounded_machine import BoundedMachine
from agent.refereeing.house_players import FirstMove, RandomMove
from agent.refereeing.human import Keyboard, PersonAtTerminal
from agent.refereeing.referee import Client, MatchWatcher, Referee
from agent.refereeing.watching import Door, PersonAtPage, WatchedMatch
from agent.search.kernel_groups import CIRCUIT, GENERAL, needed_for, playing
from agent.search.levels import LEVELS, PREFIX, level_of
from agent.sheet import Sheet, load
from agent.web.gallery import key_of
from agent.web.seat import Seat
from agent.web.site import MATCH_SECONDS
from agent.web.transcript import Transcript
from games.gdl.interpreter.machine import Interpreter
from games.machine import GameError, StateMachine, Term
from games.roles import is_random_role
from protocol.client import PlayerClient, given_twice
from protocol.compose import Style
from protocol.kif import write
from protocol.scramble import ScrambleStyle, make_scrambler

BUILT_IN = ("agent", "random", "legal", HUMAN)
"""Players without an address: this agent in a process of its own (also at a level), the house players, a person: at the
page if there is one, else in the terminal."""

REFEREE = "referee"
"""Name of the random role's player in the record."""


def host_match(
    game: str,
    players: Sequence[str],
    *,
    start_clock: int,
    play_clock: int,
    scramble: ScrambleStyle = "none",
    seed: int = 0,
    memory: Path | None = None,
    watcher: MatchWatcher | None = None,
    watch: int | Door | None = None,
    human_clock: float | None = None,
    match_id: str | None = None,
    beside: int = 0,
) -> MatchRecord:
    """Runs a match of the game (a rulesheet's name or file) to its end, as described by `ggp-agent match --help`.

    `watch` is the port of a page that shows the match, and where persons play (0: a free port; None: no page, persons
    play in the terminal), or the door of a page that another process shows. `human_clock` is a person's seconds per
    move, None: no clock. `memory` is the folder of the agents' learning memory, None: none. `beside` is the number of
    agents that share this machine with those of the match. After an interrupt at the keyboard, or where nobody reads
    the output any more, players are sent ABORT and the record so far is returned. Raises `CommandError`, and
    `GameError` where the rules turn out to be unplayable; the watcher has the record then.
    """
    sheet = load(game)
    assigned = _assign(sheet, players)
    levels = [player.partition(PREFIX)[2] or None for player in assigned if _kind(player) == "agent"]
    if why := too_many(len(levels), beside):
        raise InputError(why)
    # The interpreter is ready at once, and fast enough for one match.
    machine = Interpreter(sheet.checked)
    kernels: Collection[str] = needed_for(machine)
    with contextlib.ExitStack() as stack:
        if levels and HUMAN not in assigned and not isinstance(watch, Door):
            kernels = _prepared(sheet, stack)
        patient = HUMAN in assigned and human_clock is None
        agents = [
            stack.enter_context(
                AgentProcess(memory, patient=patient, level=level, share=Share(number, beside + len(levels)))
            )
            for number, level in enumerate(levels, beside)
        ]
        match_id = match_id or new_match_id(sheet.name)
        door = watch if isinstance(watch, Door) else None
        record = Transcript(
            sheet.name,
            match_id,
            machine.roles,
            tuple(assigned),
            start_clock,
            play_clock,
            scramble,
            seed,
            sheet.rulesheet,
            key=key_of(match_id) if door is None else door.key,
            again=door is not None,
        )
        with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
            printer = watcher or Printer(machine, sheet.rulesheet)
            hosting = Hosting(machine, agents, record, printer, watch, human_clock, kernels=kernels)
            asyncio.run(hosting.run())
    record.end("aborted")
    return record


def _prepared(sheet: Sheet, stack: contextlib.ExitStack) -> Collection[str]:
    """Waits until the kernels that agents of this game need are compiled, and returns their groups.

    Not for people at a page: their agents compile them, and the page is there meanwhile.
    """
    keeper = stack.enter_context(contextlib.closing(prepare((CIRCUIT,), beside=playing())))
    if keeper.finished:
        return GENERAL
    # The first match should not have to wait for kernels that it does not need.
    kernels = needed_for(sheet.machine())
    stack.enter_context(contextlib.closing(prepare(kernels)))
    return kernels


def _kind(player: str) -> str:
    return "agent" if level_of(player) is not None else player


def _assign(sheet: Sheet, players: Sequence[str]) -> list[str]:
    """Returns the player of each role. Raises `InputError`."""
    for player in players:
        if _kind(player) not in BUILT_IN and not player.startswith(("http://", "https://")):
            known = ", ".join((*BUILT_IN, *(PREFIX + level for level in LEVELS)))
            raise InputError(f"{player}: a player is an address (http://host:port) or one of {known}")
    twice = given_twice([player for player in players if _kind(player) not in BUILT_IN])
    if twice is not None:
        raise InputError(
            f"{twice} is there twice: a server plays one role of a match. Start another server on another port"
        )
    rest = iter(players)
    assigned = [REFEREE if is_random_role(role) else next(rest, "") for role in sheet.roles]
    if "" in assigned or next(rest, None) is not None:
        wanted = [write(role) for role in sheet.roles if not is_random_role(role)]
        raise InputError(
            f"{sheet.name} takes {len(wanted)} player{'s' * (len(wanted) != 1)} ({', '.join(wanted)}), "
            f"not {len(players)}"
        )
    return assigned


class Hosting:
    """One match with its players. Taking moves back begins it anew."""

    def __init__(
        self,
        machine: StateMachine,
        agents: Sequence[AgentProcess],
        record: MatchRecord,
        watcher: MatchWatcher,
        watch: int | Door | None = None,
        human_clock: float | None = None,
        announce: Callable[[str], None] = lambda text: print(text, flush=True),
        kernels: Collection[str] = GENERAL,
    ) -> None:
        """`machine` is used within bounds. `agents` are the processes of the players `agent`, in order; for `watch` and
        `human_clock` see `host_match`; `announce` gets messages for the user. The agents are not asked before they have
        these groups of `kernels`. With a page, the record is a `Transcript`."""
        self._machine = BoundedMachine(machine)
        self._agents = agents
        self._record = record
        self._watcher = watcher
        self._watch = watch
        self._human_clock = human_clock
        self._announce = announce
        self._kernels = kernels
        self._scrambler = make_scrambler(record.scramble, record.seed)
        self._wish: asyncio.Future[Callable[[], None]] | None = None
        """What a person wants instead of the match's going on, to be done to the record."""

    async def run(self) -> None:
        """Plays the match."""
        async with contextlib.AsyncExitStack() as stack:
            watched, seat = None, None
            if self._watch is not None:
                assert isinstance(self._record, Transcript)
                watched = WatchedMatch(self._record)
                seat = Seat(self._record, self._take_back if self._friendly else None, self._resign)
                try:
                    address = await stack.enter_async_context(watched.served(self._watch, seat))
                except OSError as error:
                    raise InputError(f"the page cannot have port {self._watch}: {error.strerror}") from None
                self._announce(f"{'play here' if HUMAN in self._record.players else 'watch it'}: {address}")
            clients = await self._gather(stack, watched, seat)
            try:
                await self._play(clients, watched)
            except (GameError, MemoryError) as error:
                why = f"the rules cannot go on: {str(error) or 'there is not enough memory'}"
                self._record.blame(PlayerError(REFEREE, self._record.plies + 1, "play", "failed", why))
                raise
            finally:
                # A thread may still be at it, and the end waits for threads.
                self._machine.stop()
                self._record.end("aborted")
            if watched is not None:
                await watched.take_thoughts()
                if isinstance(self._watch, Door):
                    await asyncio.sleep(MATCH_SECONDS)
                elif watched.gallery.watched:
                    self._announce("the page stays until it is closed, or until Ctrl-C is pressed")
                    await watched.wait_until_left()

    @property
    def _friendly(self) -> bool:
        """Whether moves may be taken back: all players are on this machine, and the rules allow it."""
        local = all(_kind(player) in (*BUILT_IN, REFEREE) for player in self._record.players)
        return local and from_position(self._record.rules, ()) is not None

    async def _gather(
        self, stack: contextlib.AsyncExitStack, watched: WatchedMatch | None, seat: Seat | None
    ) -> list[Client]:
        record, machine, scrambler = self._record, self._machine, self._scrambler
        style: Style = "dresden" if record.scramble == "dresden" else "ggp-base"
        waiting = iter(self._agents)
        analyst = keyboard = None
        clients: list[Client] = []
        for index, player in enumerate(record.players):
            client: Client = None
            if player == HUMAN:
                if analyst is None and from_position(record.rules, ()) is not None:
                    # It thinks while the agents wait.
                    analyst = await stack.enter_async_context(Analyst(Share(0, max(1, len(self._agents)))))
                hint = None if analyst is None else functools.partial(analyst.hint, machine, record.rules, index)
                if seat is not None:
                    client = PersonAtPage(index, seat, self._human_clock, hint)
                else:
                    keyboard = keyboard or Keyboard()
                    known = functools.partial(self._known_to, index)
                    client = PersonAtTerminal(machine, index, keyboard, known, seconds=self._human_clock, hint=hint)
            elif player == "random":
                client = RandomMove(f"{record.seed} {index}")
            elif player == "legal":
                client = FirstMove()
            elif player != REFEREE:
                if _kind(player) == "agent":
                    agent = next(waiting)
                    if watched is not None:
                        await stack.enter_async_context(watched.fed(agent, index, scrambler.unscramble))
                    client = AgentClient(agent, self._announce, self._kernels, style, player)
                else:
                    client = PlayerClient(player, style=style, name=player)
                await stack.enter_async_context(client)
            clients.append(client)
        return clients

    async def _play(self, clients: Sequence[Client], watched: WatchedMatch | None) -> None:
        record = self._record
        rulesheet = record.rules
        match_id, beginnings = record.match_id, 1
        while True:
            if watched is not None:
                watched.follow(match_id)
            self._wish = asyncio.get_running_loop().create_future()
            referee = Referee(
                self._machine,
                self._scrambler,
                clients,
                record,
                self._watcher,
                rulesheet=rulesheet,
                match_id=match_id,
            )
            playing = asyncio.create_task(referee.run())
            try:
                await asyncio.wait((playing, self._wish), return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not playing.done():
                    # The players get ABORT.
                    playing.cancel()
                    await asyncio.gather(playing, return_exceptions=True)
            if not playing.cancelled():
                await playing
                return
            self._wish.result()()
            if record.outcome == "resigned":
                return
            beginnings += 1
            match_id = f"{record.match_id}.{beginnings}"
            begun_there = from_position(record.rules, record.last.facts or ())
            assert begun_there is not None
            rulesheet = begun_there
            self._announce(f"taken back to step {record.plies}")

    def _known_to(self, role: int) -> Collection[Term]:
        """Returns the facts of the newest position that a role knows."""
        position = self._record.last
        sight = position.sights.get(role)
        return (position.facts if sight is None else sight.facts) or ()

    def _take_back(self, ply: int) -> bool:
        return self._ask(lambda: self._record.take_back(ply))

    def _resign(self, role: int) -> bool:
        return self._record.players[role : role + 1] == (HUMAN,) and self._ask(lambda: self._give_up(role))

    def _give_up(self, role: int) -> None:
        self._record.resigned = role
        self._record.end("resigned")

    def _ask(self, wish: Callable[[], None]) -> bool:
        if self._wish is None or self._wish.done() or not self._record.running:
            return False
        self._wish.set_result(wish)
        return True


class Printer(MatchWatcher):
    """Prints each step, with its boards."""

    def __init__(self, machine: StateMachine, rulesheet: Sequence[Term]) -> None:
        self._layout = Layout(machine.facts(machine.initial()), rulesheet)
        self._errors_shown = 0

    def started(self, record: MatchRecord) -> None:
        players = ", ".join(
            f"{write(role)}: {player}" for role, player in zip(record.roles, record.players, strict=True)
        )
        print(f"{record.game} ({players}), clocks {record.start_clock} s and {record.play_clock} s")
        self._show_board(record)
        self._show_errors(record)

    def stepped(self, record: MatchRecord) -> None:
        made = zip(record.roles, record.shown_at(record.last)[1], record.last.seconds or (), strict=True)
        spell = self._layout.spell
        moves = [f"{write(role)} {spell(move)} {seconds:.2f} s" for role, move, seconds in made if move is not None]
        print("   ".join([f"step {record.plies}", *moves]))
        if record.hides and record.eyes is not None:
            print("seen: " + " ".join(map(write, record.last.percepts.get(record.eyes, ()))))
        self._show_errors(record)
        self._show_board(record)

    def ended(self, record: MatchRecord) -> None:
        self._show_errors(record)
        if record.outcome == "finished":
            goals = zip(record.roles, record.players, record.goals, strict=True)
            print("result: " + "   ".join(f"{write(role)} ({player}) {goal}" for role, player, goal in goals))
        else:
            print(f"no result: after step {record.plies} a role has no legal move although the match is not over")
        print(f"{record.plies} steps, errors of players: {len(record.errors)}", flush=True)

    def _show_board(self, record: MatchRecord) -> None:
        state, _ = record.shown_at(record.last)
        if drawing := self._layout.text(() if state is None else facts_of(state)):
            print(drawing)
        print(flush=True)

    def _show_errors(self, record: MatchRecord) -> None:
        if record.hides:
            return
        for error in record.errors[self._errors_shown :]:
            print(f"  ! {write(error.role)}, {error.request}: {error.kind} ({printable(error.detail)})")
        self._errors_shown = len(record.errors)
