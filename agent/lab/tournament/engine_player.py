"""An engine as a player in the referee's process, with a clock of its own, and what is noted about its turns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import numpy as np

from agent.errors import InputError
from agent.lab.tournament.plain import make_plain_engine
from agent.refereeing.local_player import LocalPlayer
from agent.search.choosing import general
from agent.search.engine import Engine, Limit, Opinion, StopFlag, consider, limited
from agent.search.montecarlo import MonteCarlo
from agent.search.registry import native_factories, plugged_in
from agent.search.team import Team
from agent.search.tree import engine as tree
from agent.search.tree.assistant import TreeSetting
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine, Term

Maker = Callable[[CircuitMachine, int], Engine | None]


def _native(machine: CircuitMachine, role: int) -> Engine | None:
    return next((engine for make in native_factories().values() if (engine := make(machine, role))), None)


ENGINES: dict[str, Maker] = {
    "native": _native,
    "general": general.make_engine,
    "tree": tree.make_engine,
    "playouts": lambda machine, role: tree.TreeSearch(machine, role, judging=False),
    "montecarlo": MonteCarlo,
    "plain": make_plain_engine,
}
"""Our engines by the name that the command line gives them."""

WITH_HELPERS: dict[str, Callable[[CircuitMachine, int, Team], Engine | None]] = {
    "general": lambda machine, role, team: general.make_engine(machine, role, team=team),
    "tree": lambda machine, role, team: tree.make_engine(machine, role, team, TreeSetting()),
}
"""Those that can search with helpers of a Ray cluster: with two of them, the name is `general+2`."""

ANY_MACHINE = frozenset({"montecarlo"})
"""Those that need no circuit."""


def engine_names() -> list[str]:
    """All engines that there are, those of other packages included."""
    return list(ENGINES | plugged_in())


def is_engine(name: str) -> bool:
    """Whether there is an engine of this name, with helpers or without."""
    base, plus, helpers = name.partition("+")
    if plus:
        return base in WITH_HELPERS and helpers.isdecimal() and int(helpers) > 0
    return name in engine_names()


def make_named_engine(name: str, machine: StateMachine, role: int) -> Engine:
    """An engine for one role. Raises `InputError` where it does not play the game."""
    engine: Engine | None = None
    base, _, helpers = name.partition("+")
    if helpers:
        if isinstance(machine, CircuitMachine):
            # With Ray, for whoever wants it.
            from agent.helpers.pool import with_helpers

            machine_, make = machine, WITH_HELPERS[base]

            def join(team: Team) -> Engine | None:
                team.play(machine_, role)
                return make(machine_, role, team)

            engine = with_helpers(int(helpers), join)
    elif name not in ENGINES:
        engine = plugged_in()[name](machine, role)
    elif isinstance(machine, CircuitMachine) or name in ANY_MACHINE:
        # Those of any machine take this one too.
        engine = ENGINES[name](machine, role)  # type: ignore[arg-type]
    if engine is None:
        raise InputError(f"the {name} engine does not play this game")
    return engine


class EnginePlayer(LocalPlayer):
    """An engine that thinks on its own turns only, each for the same time, and answers earlier where it has a proof.

    A role with one legal move plays it without thinking. `advance` waits for what an engine has left running, so that
    nobody thinks in the other's time; engines that share a lock do not think at once either, where several are to move.
    """

    timed = False

    def __init__(self, engine: Engine, seconds: float, start_seconds: float = 0.0, turn: asyncio.Lock | None = None):
        """It thinks for `seconds` on a move, and for `start_seconds` before the first one."""
        self.slowest = 0.0
        """Seconds that its longest turn took."""
        self.thought = 0.0
        """Seconds that all of them took."""
        self.cpu = 0.0
        """CPU seconds that this process used in them."""
        self.proven_from: int | None = None
        """The first ply, counted from 1 where the player began, at which it held its move to be proven and went on to
        do so at all its turns; None if it did not at its last. Turns without a choice do not count."""
        self._engine = engine
        self._seconds = seconds
        self._start_seconds = start_seconds
        self._turn = turn or asyncio.Lock()
        self._plies = 0
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
            self.proven_from = None
        else:
            self._proven_goals.append(last.score.goal)
            if self.proven_from is None:
                self.proven_from = self._plies + 1
        return last.move

    async def follow(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._plies += 1
        try:
            await asyncio.to_thread(self._engine.advance, joint_move, state)
        except Exception as error:
            # It has lost the thread of the match.
            self._broken = error
            raise

    def proofs_above(self, goal: int) -> int:
        """Turns at which more than this goal was held to be proven."""
        return sum(one > goal + 0.5 for one in self._proven_goals)

    async def _in_thread(self, think: Callable[[StopFlag], Opinion]) -> Opinion:
        stop = np.zeros(1, np.uint8)
        try:
            return await asyncio.to_thread(think, stop)
        finally:
            # Cancelled: the thread cannot be, but it ends soon.
            stop[0] = 1

    def _prepare(self, stop: StopFlag) -> Opinion:
        with limited(stop, self._start_seconds) as halt:
            self._engine.prepare(halt, lambda opinion: None, Limit(self._start_seconds))
        return Opinion("")

    def _consider(self, legal: Sequence[Term], stop: StopFlag) -> Opinion:
        begin, cpu = time.monotonic(), time.process_time()
        opinion = consider(self._engine, legal, Limit(self._seconds), stop)
        seconds = time.monotonic() - begin
        self.cpu += time.process_time() - cpu
        self.thought += seconds
        self.slowest = max(self.slowest, seconds)
        return opinion
