"""Plays the matches of an appraisal in a worker, with the referee; each role thinks about every position."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from agent.boards.layout import Layout
from agent.errors import InputError
from agent.lab.appraisal.match import Outcome, Played, PlayedMatch, RandomSurvey, Seen
from agent.lab.tournament.belief_engine import within_percepts
from agent.lab.tournament.engine_player import EnginePlayer
from agent.lab.tournament.openings import Opening, after, random_opening
from agent.record.match import MatchRecord
from agent.refereeing.referee import MatchWatcher, Referee
from agent.search.engine import Engine, Limit, consider, limited
from agent.search.leveled import LevelSearch
from agent.search.levels import LEVELS
from agent.search.registry import engines_for
from agent.sheet import Sheet
from games.gdl.interpreter.firings import Firings
from games.gdl.running.batches import MatchPositions
from games.gdl.running.machine import CircuitMachine
from games.machine import State, StateMachine, Term, points
from games.memory import share_memory
from games.roles import is_random_role
from protocol.kif import write
from protocol.scramble import make_scrambler

MOST_PLIES = 300
"""Plies after which a match is taken to have no end."""

UNHURRIED_PLIES = 60
"""Positions that a role thinks about for the full time; for a tenth of it from there on, so that a match without an end
takes a quarter of a minute at 0.1 s."""

PREPARING = 20.0
"""Time before a worker's first match to prepare in, in times for a move."""

LONGEST_OPENING = 4
"""Most random plies at the start of a match. The first match has none, the others 1, 2, .. by turns."""

OPENING_TRIES, SAME_WORTH = 8, 10.0
"""Random openings that are tried, and the greatest difference, 0..100, that one may make to what the position is worth
to a role: a blunder would hide what the rules give to each."""

RANDOM_SECONDS = 1.0
"""Most seconds to look for rules that fire in random matches: what good play avoids is no fault of the rules."""

POSITIONS_AT_ONCE = 1024
"""Positions of random matches whose moves are held in memory."""


@dataclass(frozen=True)
class AppraisalSettings:
    """Settings of all matches."""

    seconds: float
    """Time for each role to think about a position."""
    seed: int
    """Seed of openings and of nature's moves."""
    levels: bool = False
    """Whether one role is played at the level `strong`, each in turn, and the others at `easy`, whatever the time."""
    most_plies: int = MOST_PLIES
    """Plies after which a match is taken to have no end."""


class _EndlessError(Exception):
    """A match has reached the bound on plies."""


class Observer(MatchWatcher):
    """Notes legal moves, says who is to think, and ends a match without an end."""

    def __init__(self, seats: Sequence[int], most_plies: int, *, opposed: bool) -> None:
        """`opposed` is whether what one of two roles gains is what the other loses."""
        self._seats = seats
        self._most_plies = most_plies
        self._opposed = opposed
        self.choices: list[tuple[int, ...]] = []
        self.legal: set[tuple[int, Term]] = set()
        """Moves with the number of their role among the players'."""
        self._thinkers: list[int] = []

    def asked(self, record: MatchRecord, legal: Sequence[Sequence[Term]]) -> None:
        if len(record.moves) >= self._most_plies:
            raise _EndlessError
        self.choices.append(tuple(len(legal[role]) for role in self._seats))
        self.legal.update((seat, move) for seat, role in enumerate(self._seats) for move in legal[role])
        self._thinkers = thinkers(self.choices[-1], opposed=self._opposed)

    def thinks(self, seat: int) -> bool:
        """Whether a role is to think about the present position."""
        return seat in self._thinkers


def thinkers(choices: Sequence[int], *, opposed: bool) -> list[int]:
    """Returns the roles that are to think about a position: all, of opposed ones those with a choice, if there are any.

    `choices` has the number of legal moves by role.
    """
    choosing = [seat for seat, moves in enumerate(choices) if moves > 1]
    return choosing if opposed and choosing else list(range(len(choices)))


class ThoughtfulPlayer(EnginePlayer):
    """An engine that thinks whenever it is to, and notes what the position is worth to its role."""

    def __init__(
        self,
        engine: Engine,
        seconds: float,
        worth: Callable[[float], float],
        turn: asyncio.Lock,
        to_think: Callable[[], bool],
    ) -> None:
        """`worth` maps goals to 0..100. `to_think` says whether it is to think about the present position."""
        super().__init__(engine, seconds, turn=turn)
        self._unhurried, self._hurried = seconds * UNHURRIED_PLIES, seconds / 10
        self._worth, self._to_think = worth, to_think
        self.values: list[float | None] = []
        self.proven: list[bool] = []
        """Whether the value is proven, by position."""

    async def choose(self, legal: Sequence[Term], state: State) -> Term:
        self.values.append(None)
        self.proven.append(False)
        if self._broken is not None:
            raise self._broken
        if not self._to_think():
            return legal[0]
        if self._thought >= self._unhurried:
            self._seconds = self._hurried
        async with self._turn:
            opinion = await self._in_thread(lambda stop: self._consider(legal, stop))
        if opinion.score is not None:
            self.values[-1] = round(self._worth(opinion.score.goal), 2)
            self.proven[-1] = opinion.score.proven
        return opinion.move


class Appraiser:
    """Plays matches of one game in a worker; keeps its engines, and what they have learnt, for the next one."""

    def __init__(self, settings: AppraisalSettings, sheet: Sheet) -> None:
        self._settings, self._sheet = settings, sheet
        self._seconds = math.inf if settings.levels else settings.seconds
        self._machine: StateMachine = sheet.machine()
        machine = self._machine
        self._seats = [index for index, role in enumerate(machine.roles) if not is_random_role(role)]
        self._firings = Firings(sheet.rulesheet, sheet.checked)
        self._rules = frozenset(self._firings.unfired)
        self._legal: set[tuple[int, Term]] = set()
        first = machine.facts(machine.initial())
        boards = Layout(first, sheet.rulesheet).boards
        self._board = next((board for board in boards if not board.widths), None)
        self._random = machine.sample if isinstance(machine, CircuitMachine) else None
        self._opposed = self._is_opposed()
        if settings.levels:
            self._engines = self._make_engines(lambda role: LevelSearch(machine, role, LEVELS["strong"]))
            self._others = self._make_engines(lambda role: LevelSearch(machine, role, LEVELS["easy"]))
        else:
            self._engines = self._others = self._make_engines(lambda role: next(engines_for(machine, role)))
        for engine in self._engines:
            self._prepare(engine)
        self._start_worths = self._worths(machine.initial())

    def play(self, number: int) -> Iterator[Played]:
        """Plays a match, and yields it."""
        begin = time.monotonic()
        machine, settings = self._machine, self._settings
        turn = asyncio.Lock()
        strong = (number - 1) % len(self._seats) if settings.levels else None
        engines = [
            engine if seat == strong else other
            for seat, (engine, other) in enumerate(zip(self._engines, self._others, strict=True))
        ]
        observer = Observer(self._seats, settings.most_plies, opposed=self._opposed)
        players = [
            ThoughtfulPlayer(engine, self._seconds, machine.goal_scale.worth, turn, partial(observer.thinks, seat))
            for seat, engine in enumerate(engines)
        ]
        record = MatchRecord(
            game=self._sheet.name,
            match_id=f"balance.{number}",
            roles=machine.roles,
            players=("agent",) * len(machine.roles),
            start_clock=1,
            play_clock=1,
            scramble="none",
            seed=random.Random(f"{settings.seed} {number}").getrandbits(32),
            rules=self._sheet.rulesheet,
        )
        by_role = dict(zip(self._seats, players, strict=True))
        clients = [by_role.get(role) for role in range(len(machine.roles))]
        opening = [tuple(joint_move) for joint_move in self._opening(number)]
        scrambler = make_scrambler("none", 0)
        referee = Referee(machine, scrambler, clients, record, observer, opening)
        outcome: Outcome = "finished"
        try:
            asyncio.run(referee.run())
        except _EndlessError:
            outcome = "endless"
        stuck: tuple[str, ...] = ()
        if record.outcome == "stalled":
            outcome = "stalled"
            last = machine.state(record.states[-1])
            stuck = tuple(write(role) for index, role in enumerate(machine.roles) if not machine.legal(last, index))
        values = [self._filled(worths) for worths in zip(*(player.values for player in players), strict=True)]
        proven = [any(flags) for flags in zip(*(player.proven for player in players), strict=True)]
        match = PlayedMatch(
            number=number,
            opening=len(opening),
            plies=len(record.moves),
            outcome=outcome,
            goals=tuple(points(record.goals[role]) for role in self._seats) if record.goals else (),
            lowest=tuple(min(self._goals(role)) for role in self._seats),
            highest=tuple(max(self._goals(role)) for role in self._seats),
            choices=tuple(observer.choices),
            values=tuple(smoothed(values, observer.choices, proven)),
            covered=self._coverage(record),
            stuck=stuck,
            errors=len(record.errors),
            strong=strong,
            seconds=round(time.monotonic() - begin, 3),
        )
        seen = self._seen(record, observer)
        survey = self._survey() if number == 1 else None
        yield Played(match, seen, frozenset(self._firings.unknown), survey)

    # -- thinking -----------------------------------------------------------------------------------------------------

    def _make_engines(self, make: Callable[[int], Engine]) -> list[Engine]:
        """Returns the engine of each player's role, which sees what the role may see."""
        return [within_percepts(make(role), self._machine, role, self._sheet) for role in self._seats]

    def _prepare(self, engine: Engine) -> None:
        engine.begin(self._machine.initial())
        if engine.uses_start_clock:
            seconds = PREPARING * self._seconds
            with limited(np.zeros(1, np.uint8), seconds) as halt:
                engine.prepare(halt, lambda opinion: None, Limit(seconds))

    def _worths(self, state: State) -> list[float | None]:
        """Worths of a position before the end, 0..100, by role."""
        machine = self._machine
        legal = [machine.legal(state, role) for role in self._seats]
        found: list[float | None] = [None] * len(legal)
        for seat in thinkers([len(moves) for moves in legal], opposed=self._opposed):
            if legal[seat]:
                self._engines[seat].begin(state)
                score = consider(self._engines[seat], legal[seat], Limit(self._seconds)).score
                found[seat] = None if score is None else machine.goal_scale.worth(score.goal)
        return self._filled(found)

    def _opening(self, number: int) -> Opening:
        """The opening of a match: random moves after which the position is worth what it was, or none.

        None in games of imperfect information, as worths are those of a position that is known.
        """
        plies = 0 if number == 1 or self._sheet.imperfect else 1 + (number - 2) % LONGEST_OPENING
        generator = random.Random(f"{self._settings.seed} {self._sheet.name} {number}")
        for _ in range(OPENING_TRIES if plies else 0):
            try:
                opening = random_opening(self._machine, plies, generator)
            except InputError:
                break
            worths = self._worths(after(self._machine, opening))
            pairs = zip(self._start_worths, worths, strict=True)
            if all(a is None or b is None or abs(a - b) <= SAME_WORTH for a, b in pairs):
                return opening
        return []

    def _filled(self, worths: Sequence[float | None]) -> list[float | None]:
        """Worths of a position by role: of two opposed roles, one that did not think has what the other leaves."""
        if not self._opposed:
            return list(worths)
        return [
            100.0 - other if own is None and other is not None else own
            for own, other in zip(worths, reversed(worths), strict=True)
        ]

    # -- looking ------------------------------------------------------------------------------------------------------

    def _is_opposed(self) -> bool:
        """Whether in all random matches what one of two roles gains is what the other loses."""
        machine, found = self._machine, self._random
        if len(self._seats) != 2 or found is None or not found.terminal.any():
            return False
        assert isinstance(machine, CircuitMachine)
        worths = machine.worths_of(found.states[found.terminal])[:, self._seats]
        return bool(np.allclose(worths.sum(axis=1), 100.0))

    def _goals(self, role: int) -> list[int]:
        """All goals of a role in the rules, as far as they are known."""
        machine = self._machine
        if isinstance(machine, CircuitMachine) and machine.game.goals[role]:
            return machine.game.goals[role]
        return [int(machine.goal_scale.least), int(machine.goal_scale.most)]

    def _coverage(self, record: MatchRecord) -> float | None:
        board = self._board
        if board is None:
            return None
        squares = set(board.places)
        covered: set[tuple[str, ...]] = set()
        for facts in record.states:
            for square, contents in board.read(facts)[0].items():
                if board.pieces(contents):
                    covered.add(square)
                elif board.is_blocked(contents):
                    squares.discard(square)
        return len(covered & squares) / len(squares) if squares else None

    def _seen(self, record: MatchRecord, observer: Observer) -> Seen:
        """Rules and moves of the whole match that were not seen before."""
        machine, firings = self._machine, self._firings
        before = set(firings.unfired)
        for index, facts in enumerate(record.states):
            moves = record.moves[index] if index < len(record.moves) else ()
            firings.see(facts, list(zip(machine.roles, moves, strict=False)))
        new = observer.legal - self._legal
        self._legal |= new
        return Seen(
            positions=len(record.states),
            fired=frozenset(before - firings.unfired - firings.unknown),
            legal=frozenset((seat, write(move)) for seat, move in new),
        )

    def _survey(self) -> RandomSurvey:
        machine, found = self._machine, self._random
        if found is None:
            return RandomSurvey(rules=self._rules)
        assert isinstance(machine, CircuitMachine)
        start = machine.programs.role_start
        legal, stuck = np.zeros(start[-1], np.bool_), set[int]()
        for begin in range(0, len(found.states), POSITIONS_AT_ONCE):
            part = slice(begin, begin + POSITIONS_AT_ONCE)
            going = machine.legal_of(found.states[part])[0][~found.terminal[part]]
            legal |= going.any(axis=0)
            by_role = np.split(going, start[1:-1], axis=1)
            stuck |= {role for role, moves in enumerate(by_role) if not moves.any(axis=1).all()}
        goals = np.nan_to_num(machine.goals_of(found.states[found.terminal]))[:, self._seats]
        moves = tuple(tuple(map(write, machine.game.moves[role])) for role in self._seats)
        seen = frozenset(
            (seat, moves[seat][index])
            for seat, role in enumerate(self._seats)
            for index in np.flatnonzero(legal[start[role] : start[role + 1]])
        )
        return RandomSurvey(
            matches=len(np.unique(found.match)),
            ended=int(found.terminal.sum()),
            stuck=tuple(write(machine.roles[role]) for role in sorted(stuck)),
            best=tuple(map(int, goals.max(axis=0))) if len(goals) else (),
            moves=moves,
            rules=self._rules,
            seen=Seen(positions=len(found.states), fired=self._fired_at_random(machine, found), legal=seen),
        )

    def _fired_at_random(self, machine: CircuitMachine, found: MatchPositions) -> frozenset[int]:
        """Statements that fire in random matches, as far as there is time to look, and did not before."""
        firings, before, end = self._firings, set(self._firings.unfired), time.monotonic() + RANDOM_SECONDS
        for packed, joint, over in zip(found.states, found.joint, found.terminal, strict=True):
            if not firings.unfired or time.monotonic() >= end:
                break
            moves = [
                (role, known[index])
                for role, known, index in zip(machine.roles, machine.game.moves, joint, strict=True)
                if index >= 0
            ]
            if moves or over:
                firings.see(machine.facts(machine.unpack(packed)), moves)
        return frozenset(before - firings.unfired - firings.unknown)


def smoothed(
    values: Sequence[Sequence[float | None]], choices: Sequence[Sequence[int]], proven: Sequence[bool]
) -> list[tuple[float | None, ...]]:
    """Averages worths [plies][roles], 0..100, with those at the last turn of others, but for proven positions.

    A search overrates whoever is to move: the lead would change with each turn of an even game. `choices` are numbers
    of legal moves [plies][roles].
    """
    found: list[tuple[float | None, ...]] = []
    turn: list[int] = []
    others: Sequence[float | None] = [None] * len(values[0]) if values else []
    for ply, position in enumerate(values):
        choosing = [role for role, moves in enumerate(choices[ply]) if moves > 1]
        if choosing and choosing != turn:
            turn, others = choosing, values[ply - 1] if ply else others
        found.append(
            tuple(
                now if before is None or now is None or proven[ply] else round((before + now) / 2, 2)
                for before, now in zip(others, position, strict=True)
            )
        )
    return found


def open_appraising(settings: AppraisalSettings, sheet: Sheet) -> Callable[[int], Iterator[Played]]:
    """In a worker: returns the function that plays a match by its number, from 1."""
    # Each role's engine has a search beside it in trial matches.
    share_memory(2 * len(sheet.roles))
    return Appraiser(settings, sheet).play
