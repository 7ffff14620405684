"""Matches and tournaments in this process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from agent.lab.jobs.executor import Executor
from agent.lab.jobs.inline import InlineExecutor
from agent.lab.tournament.contenders import parse_contenders
from agent.lab.tournament.engine_player import ENGINES
from agent.lab.tournament.matches import MatchPlayer
from agent.lab.tournament.results import MatchResult, Pairing, Settings
from agent.lab.tournament.series import run_tournament
from agent.lab.tournament.standings import Standings
from agent.sheet import Sheet

SETTINGS = Settings(seed=3, opening_plies=1, start_clock=600, play_clock=600, scramble="none", cores=1)


def play(sheet: Sheet, *players: str, settings: Settings = SETTINGS, number: int = 1) -> MatchResult:
    """Plays a match of a round between players, in the order of the roles."""
    contenders = {one.label: one for one in parse_contenders(players, list(ENGINES))}
    with closing(MatchPlayer(settings, contenders, {sheet.name: sheet})) as player:
        return next(player.play(Pairing(sheet.name, number, tuple(contenders))))


def tournament(
    players: Sequence[str],
    games: Sequence[str],
    settings: Settings = SETTINGS,
    *,
    rounds: int = 1,
    executor: Executor | None = None,
    log: Path | None = None,
) -> Standings:
    """Plays a tournament."""
    contenders = parse_contenders(players, list(ENGINES))
    return run_tournament(contenders, games, settings, rounds=rounds, executor=executor or InlineExecutor(), log=log)
