"""An engine as a player in the referee's process, with a clock of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from agent.errors import InputError
from agent.lab.tournament.plain import make_plain_engine
from agent.lab.tournament.turns import Turns
from agent.refereeing.local_player import LocalPlayer
from agent.search.choosing import general
from agent.search.engine import Engine, Limit, Opinion, StopFlag, consider, limited
from agent.search.lean import on_lean
from agent.search.leveled import LevelSearch
from agent.search.levels import level_of
from agent.search.montecarlo import MonteCarlo
from agent.search.registry import native_factories, plugged_in
from agent.search.team import Team
from agent.search.tree import engine as tree
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine, Term

Maker = Callable[[CircuitMachine, int], Engine | None]


def _native(machine: CircuitMachine, role: int) -> Engine | None:
    return next((engine for make in native_factories().values() if (engine := make(machine, role))), None)


ENGINES: dict[str, Maker] = {
    "native": _native,
    "general": on_lean(general.make_engine),
    "tree": on_lean(tree.make_engine),
    "montecarlo": MonteCarlo,
    "plain": make_plain_engine,
}
"""Our engines by their names on the command line."""

WITH_HELPERS: dict[str, Callable[[CircuitMachine, int, Team], Engine | None]] = {
    "general": lambda machine, role, team: on_lean(partial(general.make_engine, team=team))(machine, role),
}
"""Engines that can search with helpers of a Ray cluster: with two helpers, the name is `general+2`."""

ANY_MACHINE = frozenset({"montecarlo"})
"""Engines that need no circuit."""


def engine_names() -> list[str]:
    """Returns the names of all engines, those of other packages included."""
    return list(ENGINES | plugged_in())


def make_named_engine(name: str, machine: StateMachine, role: int) -> Engine:
    """Returns an engine, or this agent at a level. Raises `InputError` where it does not play the game."""
    engine: Engine | None = None
    base, _, helpers = name.partition("+")
    if helpers:
        if base not in WITH_HELPERS:
            raise InputError(f"the {base} engine searches without helpers")
        if isinstance(machine, CircuitMachine):
            # Imported here: it needs Ray.
            from agent.lab.tournament.teams import with_helpers

            machine_, make = machine, WITH_HELPERS[base]

            def join(team: Team) -> Engine | None:
                team.play(machine_.searched, role)
                return make(machine_, role, team)

            engine = with_helpers(int(helpers), join)
    elif level := level_of(name):
        engine = LevelSearch(machine, role, level)
    elif name not in ENGINES:
        engine = plugged_in()[name](machine, role)
    elif isinstance(machine, CircuitMachine) or name in ANY_MACHINE:
        # Those that take any machine take a circuit as well.
        engine = ENGINES[name](machine, role)  # type: ignore[arg-type]
    if engine is None:
        raise InputError(f"the {name} engine does not play this game")
    return engine


class EnginePlayer(LocalPlayer):
    """An engine that thinks on its own turns only, each for the same time, and answers at once when it has a proof.

    A role with one legal move plays it without thinking. `advance` waits for whatever an engine has left running.
    Engines that share the lock `turn` do not think at the same time, where several are to move.
    """

    timed = False

    def __init__(
        self, engine: Engine, seconds: float | None, start_seconds: float = 0.0, turn: asyncio.Lock | None = None
    ):
        """Thinks for `seconds` on a move (None: until the engine ends), and for `start_seconds` before the first."""
        self._engine = engine
        self._seconds = seconds
        self._start_seconds = start_seconds
        self._turn = turn or asyncio.Lock()
        self._plies = 0
        self._slowest = self._thought = self._cpu = 0.0
        self._proven_from: int | None = None
        self._proven_goals: list[float] = []
        self._broken: Exception | None = None

    async def start(self, state: State, seconds: float) -> None:
        async with self._turn:
            await asyncio.to_thread(self._engine.begin, state)
            if self._start_seconds:
                await self._in_thread(self._prepare)

    async def choose(self, legal: Sequence[Term], state: State) -> Term:
        if self._broken is not None:
            raise self._broken
        if len(legal) == 1:
            return legal[0]
        async with self._turn:
            last = await self._in_thread(lambda stop: self._consider(legal, stop))
        if last.score is None or not last.score.proven:
            self._proven_from = None
        else:
            self._proven_goals.append(last.score.goal)
            if self._proven_from is None:
                self._proven_from = self._plies + 1
        return last.move

    async def follow(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._plies += 1
        try:
            await asyncio.to_thread(self._engine.advance, joint_move, state)
        except Exception as error:
            # It does not know the position any more.
            self._broken = error
            raise

    def turns(self, plies_before: int, goal: float, cores: int) -> Turns:
        """Returns its turns in a match that it entered after some plies, in which it got that goal."""
        return Turns(
            proven_from=None if self._proven_from is None else plies_before + self._proven_from,
            proofs_missed=sum(one > goal + 0.5 for one in self._proven_goals),
            slowest=round(self._slowest, 4),
            available=round(cores * self._thought, 4),
            cpu=round(self._cpu, 4),
        )

    async def _in_thread(self, think: Callable[[StopFlag], Opinion]) -> Opinion:
        stop = np.zeros(1, np.uint8)
        try:
            return await asyncio.to_thread(think, stop)
        finally:
            # Where this is cancelled, the thread is not, but ends soon.
            stop[0] = 1

    def _prepare(self, stop: StopFlag) -> Opinion:
        with limited(stop, self._start_seconds) as halt:
            self._engine.prepare(halt, lambda opinion: None, Limit(self._start_seconds))
        return Opinion("")

    def _consider(self, legal: Sequence[Term], stop: StopFlag) -> Opinion:
        begin, cpu = time.monotonic(), time.process_time()
        opinion = consider(self._engine, legal, Limit(self._seconds), stop)
        seconds = time.monotonic() - begin
        self._cpu += time.process_time() - cpu
        self._thought += seconds
        self._slowest = max(self._slowest, seconds)
        return opinion
