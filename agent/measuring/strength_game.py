"""One game of a measurement of strength: two engines at equal time, from a random opening."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from agent.errors import InputError
from agent.search import general
from agent.search.engine import Engine, Opinion, StopFlag
from agent.search.montecarlo import MonteCarlo
from agent.search.registry import NATIVE_FACTORIES
from agent.search.reversi.plain import make_plain_engine
from agent.search.tree import engine as tree
from games.gdl.running.machine import CircuitMachine
from games.machine import Term, points
from protocol.kif import write

OPENING_TRIES = 1000
"""Random openings that may end the match, or be too one-sided, before a series is given up."""

JUDGING_SECONDS = 0.25
"""How long the first contender thinks about an opening to say whether it is balanced. Set by hand; not tuned."""

BALANCE = (40.0, 60.0)
"""The values of a balanced opening for the first role. Set by hand; not tuned."""

Maker = Callable[[CircuitMachine, int], Engine | None]


def _native(machine: CircuitMachine, role: int) -> Engine | None:
    return next((engine for make in NATIVE_FACTORIES if (engine := make(machine, role))), None)


ENGINES: dict[str, Maker] = {
    "native": _native,
    "general": general.make_engine,
    "tree": tree.make_engine,
    "playouts": lambda machine, role: tree.TreeSearch(machine, role, judging=False),
    "montecarlo": MonteCarlo,
    "plain": make_plain_engine,
}
"""Contenders by the name that the command line gives them."""


@dataclass(frozen=True)
class Series:
    """What all games of a measurement have in common; two series are comparable only if these are equal."""

    file: str
    """A rulesheet file, or the name of an own rulesheet, of a game of two roles."""
    engines: tuple[str, str]
    """Keys of `ENGINES`: the contender that is measured, and the one it is measured against."""
    seconds: float
    """Per move."""
    opening_plies: int
    """Plies played at random before the engines take over."""
    cores: int = 1
    """That the engine on turn has to itself."""
    seed: int = 0
    """Of the openings."""
    balanced: bool = False
    """Whether openings are left out that the first contender takes to be half decided already (see `BALANCE`)."""
    start_seconds: float = 0.0
    """What an engine has for preparing before its first move."""


@dataclass(frozen=True)
class GameRecord:
    """One game, as plain data. Games 2n and 2n + 1 are a pair: the same opening, the seats exchanged.

    Plies count from 1 at the start of the match, so the opening's are among them. `[2]` is by contender (the series'
    first engine, then its second), not by role.
    """

    number: int
    seats: list[int]
    """[roles]: the contender that plays each role."""
    opening: list[list[str]]
    """[plies][roles]: random moves, as the rulesheet spells them."""
    moves: list[list[str]]
    """[plies][roles]: the engines' moves."""
    goals: list[int]
    """[2]"""
    chose_first: int | None
    """The contender that was the first to have a choice after the opening; None if both were at once or never."""
    proven_from: list[int | None]
    """[2]: the first ply at which the contender held its move to be proven and went on to do so at all its turns;
    None if it did not at its last. Turns without a choice do not count."""
    proofs_missed: list[int]
    """[2]: turns at which a contender held a higher goal to be proven than it got in the end."""
    slowest: list[float]
    """[2]: seconds that the contender's longest turn took."""
    thought: list[float]
    """[2]: seconds that all turns of the contender took."""
    cpu: list[float]
    """[2]: CPU seconds it got in them: less than cores x seconds where other processes ran."""

    @property
    def length(self) -> int:
        """Plies from the start of the match to its end."""
        return len(self.opening) + len(self.moves)

    @property
    def result(self) -> int:
        """The first contender's: +1, 0 or -1."""
        return (self.goals[0] > self.goals[1]) - (self.goals[0] < self.goals[1])


def play_game(
    machine: CircuitMachine, series: Series, number: int, opening: list[list[Term]] | None = None
) -> GameRecord:
    """Play one game of a series, from the opening of its pair; where that is known it need not be drawn again.

    Each contender prepares in the position after the opening. A role with one legal move plays it without thinking, and
    nobody thinks in the other's time: `advance` waits for what an engine has left running. Raises `InputError` where the game does not suit the series: other than two roles,
    an engine that does not play it, openings that end it.
    """
    if opening is None:
        opening = pair_opening(machine, series, number // 2)
    seats = [0, 1] if number % 2 == 0 else [1, 0]
    players = [
        _TimedEngine(_make(machine, series.engines[seat], role), series.seconds) for role, seat in enumerate(seats)
    ]
    state = machine.initial()
    for joint in opening:
        state = machine.next(state, joint)
    for player in players:
        player.engine.begin(state)
        if series.start_seconds:
            player.prepare(series.start_seconds)

    moves: list[list[Term]] = []
    chose_first: list[int] = []
    while not machine.terminal(state):
        legal = [machine.legal(state, role) for role in (0, 1)]
        chose_first = chose_first or [role for role in (0, 1) if len(legal[role]) > 1]
        ply = len(opening) + len(moves) + 1
        joint = [
            options[0] if len(options) == 1 else player.choose(ply, options)
            for player, options in zip(players, legal, strict=True)
        ]
        state = machine.next(state, joint)
        for player in players:
            player.engine.advance(tuple(joint), state)
        moves.append(joint)

    goals = [points(machine.goal(state, role)) for role in (0, 1)]
    return GameRecord(
        number,
        seats,
        opening=[[write(move) for move in joint] for joint in opening],
        moves=[[write(move) for move in joint] for joint in moves],
        goals=[goals[role] for role in seats],
        chose_first=seats[chose_first[0]] if len(chose_first) == 1 else None,
        proven_from=[players[role].proven_from for role in seats],
        proofs_missed=[players[role].proofs_above(goals[role]) for role in seats],
        slowest=[round(players[role].slowest, 4) for role in seats],
        thought=[round(players[role].thought, 4) for role in seats],
        cpu=[round(players[role].cpu, 4) for role in seats],
    )


def pair_opening(machine: CircuitMachine, series: Series, pair: int) -> list[list[Term]]:
    """The opening that both games of a pair begin with. Raises `InputError` where the series can have none."""
    if len(machine.roles) != 2:
        raise InputError("strength is measured in games of two roles")
    generator = random.Random(f"{series.seed} {pair}")
    for _ in range(OPENING_TRIES):
        opening = random_opening(machine, series.opening_plies, generator)
        if not series.balanced or _is_balanced(machine, series, opening):
            return opening
    raise InputError(f"no opening of {series.opening_plies} random plies is balanced")


def _is_balanced(machine: CircuitMachine, series: Series, opening: list[list[Term]]) -> bool:
    state = machine.initial()
    for joint in opening:
        state = machine.next(state, joint)
    judge = _TimedEngine(_make(machine, series.engines[0], 0), JUDGING_SECONDS)
    judge.engine.begin(state)
    value = judge.consider(machine.legal(state, 0)).value
    return value is not None and BALANCE[0] <= value <= BALANCE[1]


def random_opening(machine: CircuitMachine, plies: int, generator: random.Random) -> list[list[Term]]:
    """`plies` uniformly random joint moves from the start that do not end the match. Raises `InputError` if none do."""
    for _ in range(OPENING_TRIES):
        state = machine.initial()
        opening: list[list[Term]] = []
        while len(opening) < plies and not machine.terminal(state):
            opening.append([generator.choice(machine.legal(state, role)) for role in (0, 1)])
            state = machine.next(state, opening[-1])
        if not machine.terminal(state):
            return opening
    raise InputError(f"random play ends this game within {plies} plies: choose shorter openings")


def _make(machine: CircuitMachine, name: str, role: int) -> Engine:
    engine = ENGINES[name](machine, role)
    if engine is None:
        raise InputError(f"the {name} engine does not play this game")
    return engine


@dataclass
class _TimedEngine:
    """An engine with its clock, and what is noted about its turns."""

    engine: Engine
    seconds: float
    slowest: float = 0.0
    thought: float = 0.0
    cpu: float = 0.0
    proven_from: int | None = None
    _proven_values: list[float] = field(default_factory=list)

    def choose(self, ply: int, legal: Sequence[Term]) -> Term:
        """The engine's move within its time; earlier if it is proven."""
        last = self.consider(legal)
        if not last.proven:
            self.proven_from = None
        elif self.proven_from is None:
            self.proven_from = ply
        if last.proven and last.value is not None:
            self._proven_values.append(last.value)
        return last.move

    def prepare(self, seconds: float) -> None:
        """What a start clock is for."""
        stop = np.zeros(1, np.uint8)
        with self._stopped_after(stop, seconds):
            self.engine.prepare(stop, lambda opinion: None, seconds)

    def consider(self, legal: Sequence[Term]) -> Opinion:
        """The engine's opinion after its time; earlier if it is proven."""
        stop = np.zeros(1, np.uint8)
        last = Opinion(legal[0])

        def listen(opinion: Opinion) -> None:
            nonlocal last
            if not last.proven:
                last = opinion
                stop[0] |= opinion.proven

        begin, cpu = time.monotonic(), time.process_time()
        with self._stopped_after(stop, self.seconds):
            self.engine.think(stop, listen, self.seconds)
            seconds = time.monotonic() - begin
        self.cpu += time.process_time() - cpu
        self.thought += seconds
        self.slowest = max(self.slowest, seconds)
        return last

    @staticmethod
    @contextmanager
    def _stopped_after(stop: StopFlag, seconds: float) -> Iterator[None]:
        timer = threading.Timer(seconds, stop.fill, (1,))
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def proofs_above(self, goal: int) -> int:
        """Turns at which more than this goal was held to be proven."""
        return sum(value > goal + 0.5 for value in self._proven_values)
