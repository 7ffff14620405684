"""A tournament for the page: the table so far, and each match as a replay made of its moves.

Positions are computed when somebody looks at a match: only moves are kept while a tournament runs.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agent.lab.tournament.contenders import Contender
from agent.lab.tournament.results import MatchResult, Settings
from agent.lab.tournament.standings import Standings
from agent.record.match import PlayerError
from agent.record.spelling import DamagedError, read_terms, reading, spell_all
from agent.web.gallery import key_of
from agent.web.tournaments import MOST_MATCHES, ShownTournament
from agent.web.transcript import Transcript
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import check
from games.machine import GameError, StateMachine
from protocol.sheets import read_rulesheet

log = logging.getLogger(__name__)

KEPT = 4
"""Matches kept with all their positions."""

REFEREE = "referee"
"""Player of nature's roles."""


@dataclass
class TournamentPage(ShownTournament):
    """The results of a tournament, to which more may be added. Readers are in other threads than the writer, who only
    appends."""

    key: str
    title: str
    contenders: Sequence[Contender]
    games: list[str]
    sources: Mapping[str, str]
    """Texts of rulesheets by game; matches of other games have no replay."""
    settings: Settings
    planned: int | None = None
    running: bool = False

    def __post_init__(self) -> None:
        self.results: list[MatchResult] = []
        self.known = 0
        """Number of results from the log."""
        self.began = time.monotonic()
        self._replays: OrderedDict[str, Transcript] = OrderedDict()
        self._standings: Standings | None = None

    def _moment(self) -> tuple[bool, Standings]:
        """Returns whether it runs, and the table, read in this order: a tournament that is over has all its matches."""
        running = self.running
        # A local variable: another reader may replace the attribute meanwhile.
        played, table = len(self.results), self._standings
        if table is None or len(table.results) != played:
            self._standings = table = Standings(self.contenders, self.games, self.results[:played])
        return running, table

    def summary(self) -> dict[str, Any]:
        return self._summary(*self._moment())

    def _summary(self, running: bool, standings: Standings) -> dict[str, Any]:
        return {
            "key": self.key,
            "title": self.title,
            "games": self.games,
            "players": [line.contender.label for line in standings.lines],
            "running": running,
            "played": len(standings.results),
            "planned": self.planned,
        }

    def view(self) -> dict[str, Any]:
        running, standings = self._moment()
        played = len(standings.results)
        left = None
        if running and self.planned is not None and played > self.known:
            left = (time.monotonic() - self.began) / (played - self.known) * (self.planned - played)
        return {
            **self._summary(running, standings),
            "seconds_left": None if left is None else round(left, 1),
            "stalled": standings.stalled,
            "settings": self.settings.as_json(),
            "table": standings.table_json(),
        }

    def matches(self, game: str | None, player: str | None) -> dict[str, Any]:
        found = [
            result
            for result in reversed(self.results[:])
            if game in (None, result.game) and (player is None or player in result.seats)
        ]
        return {"count": len(found), "matches": [self._match(result) for result in found[:MOST_MATCHES]]}

    def _match(self, result: MatchResult) -> dict[str, Any]:
        goals = result.goals or [None] * len(result.seats)
        return {
            "game": result.game,
            "round": result.round,
            "seats": [
                {"role": role, "player": player, "goal": goal}
                for role, player, goal in zip(result.roles, result.seats, goals, strict=True)
            ],
            "plies": result.plies,
            "outcome": result.outcome,
            "errors": len(result.errors),
            "key": self._key_of(result) if result.game in self.sources else None,
        }

    def _key_of(self, result: MatchResult) -> str:
        return key_of(f"{result.game} {result.round}", (self.key, result.seats))

    def find(self, key: str) -> Transcript | None:
        if key not in self._replays:
            result = next((result for result in self.results[:] if self._key_of(result) == key), None)
            if result is None or result.game not in self.sources:
                return None
            try:
                with reading():
                    transcript = replay(key, result, self.sources[result.game], self.settings)
            except (GameError, DamagedError) as error:
                log.warning("%s: a match of %s cannot be followed: %s", self.title, result.game, error)
                return None
            self._replays[key] = transcript
            while len(self._replays) > KEPT:
                self._replays.popitem(last=False)
        return self._replays.get(key)


def replay(key: str, result: MatchResult, source: str, settings: Settings) -> Transcript:
    """Returns a match with all its positions. Raises `GameError`, `ValueError`, `TypeError` or `KeyError` where its
    moves do not suit the rules."""
    machine = _machine(source)
    players = dict(zip(result.roles, result.seats, strict=True))
    # Goals of nature's roles are not kept.
    goals = dict(zip(result.roles, result.goals, strict=False))
    names = spell_all(machine.roles)
    transcript = Transcript(
        f"{result.game}, round {result.round}",
        f"{result.game}.{result.round}",
        machine.roles,
        tuple(players.get(name, REFEREE) for name in names),
        settings.start_clock,
        settings.play_clock,
        rules=read_rulesheet(source),
        errors=list(map(PlayerError.from_json, result.errors)),
        key=key,
    )
    state = machine.initial()
    transcript.reach(machine.facts(state))
    for joint_move in (*result.opening, *result.moves):
        moves = read_terms(joint_move)
        state = machine.next(state, moves)
        transcript.move(moves)
        transcript.reach(machine.facts(state))
    transcript.end(result.outcome, [goals.get(name) for name in names] if goals else [])
    return transcript


@lru_cache(maxsize=2)
def _machine(source: str) -> StateMachine:
    # Not the circuit: compiling it takes longer than following one match.
    return Interpreter(check(read_rulesheet(source)))
