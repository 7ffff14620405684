"""Runs a tournament: the matches of its schedule that are not in its log, spread over processes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from agent.errors import InputError
from agent.lab.jobs.executor import Executor, JobDone, JobSession, Lost, Started, Task
from agent.lab.jobs.gather import gather
from agent.lab.tournament.contenders import Contender
from agent.lab.tournament.log import MatchLog
from agent.lab.tournament.matches import GameRound, MatchJob, TextOpening, open_drawing, open_playing
from agent.lab.tournament.pairing import seatings
from agent.lab.tournament.results import MatchResult, Pairing, Settings, check_same, digest, read_result
from agent.lab.tournament.standings import Standings
from agent.search.kernel_groups import CIRCUIT, playing
from agent.sheet import Sheet, load
from games.roles import is_random_role
from protocol.client import ClientError, Malformed, PlayerClient
from protocol.messages import Info

MAX_MATCHES = 1_000_000
"""Matches of a tournament, at most; more are taken for a mistake."""

ANSWER_SECONDS = 5.0
"""Longest wait for the player at an address."""


class SeriesWatcher:
    """Hears of the events of a tournament; ignores them unless overridden."""

    def begins(self, sheets: Sequence[Sheet], matches: int, known: Collection[MatchResult]) -> None:
        """The tournament has that many matches; some are known from the log."""

    def started(self, pairing: Pairing, place: str) -> None:
        """A match begins."""

    def ended(self, result: MatchResult, place: str) -> None:
        """A match was played."""

    def lost(self, pairing: Pairing, reason: str) -> None:
        """A match was begun twice, its worker ended both times, and the table is without it."""

    def tell(self, line: str) -> None:
        """Takes another line for people: machines that come and go."""


class SeriesLog:
    """The matches that the log of a series holds, if it has one, and those that are added."""

    def __init__(
        self, path: Path | None, settings: Settings, contenders: Mapping[str, Contender], sheets: Mapping[str, Sheet]
    ) -> None:
        """Raises `InputError` for the log of another series."""
        self._file = None if path is None else MatchLog(path, settings.as_json(), read_result, {"balanced": False})
        self._sheets = sheets
        logged = self._file.read() if self._file is not None else []
        self._rules_of = {result.game for result in logged if result.rulesheet}
        self.known = {found.pairing: found for found in logged if check_same(found, contenders, sheets, str(path))}
        """Matches of these players and games."""
        self.openings: dict[GameRound, TextOpening] = {
            GameRound(found.game, found.round): found.opening
            for found in logged
            if found.game in sheets and found.rules == digest(sheets[found.game])
        }
        """Openings of these games' rounds, whoever played."""

    def add(self, result: MatchResult) -> None:
        """Adds a match; the first of each game has the rules, to show its matches. Raises `InputError`."""
        if self._file is None:
            return
        row = asdict(result)
        if result.game in self._rules_of:
            del row["rulesheet"]
        else:
            row["rulesheet"] = self._sheets[result.game].source
            self._rules_of.add(result.game)
        self._file.append(row)


def schedule(contenders: Sequence[Contender], sheets: Sequence[Sheet], rounds: int) -> list[Pairing]:
    """Returns all matches, game by game and round by round. Raises `InputError` where players cannot fill the roles."""
    pairings: list[Pairing] = []
    labels = [contender.label for contender in contenders]
    single = {contender.label for contender in contenders if contender.plays_one_match}
    for sheet in sheets:
        roles = sum(not is_random_role(role) for role in sheet.roles)
        tables = seatings(labels, roles)
        twice = next((label for seats in tables for label in seats if label in single and seats.count(label) > 1), None)
        if twice is not None:
            raise InputError(
                f"{sheet.name} has {roles} roles, and {twice} can play one of them at a time: "
                f"name at least {roles} players"
            )
        if len(pairings) + rounds * len(tables) > MAX_MATCHES:
            raise InputError(f"these are more than {MAX_MATCHES:,} matches: choose fewer players, games or rounds")
        pairings += [Pairing(sheet.name, number, seats) for number in range(1, rounds + 1) for seats in tables]
    return pairings


def run_tournament(
    contenders: Sequence[Contender],
    games: Sequence[str],
    settings: Settings,
    *,
    rounds: int,
    executor: Executor,
    log: Path | None = None,
    watcher: SeriesWatcher | None = None,
) -> Standings:
    """Plays the matches of a tournament that its log does not hold; returns the standings.

    `games` are names of own rulesheets, or files. Each match has `settings.cores` cores to itself; an address is in one
    match at a time. A log of the same settings may hold other players, games and rounds as well. To be called in the
    main thread, for `KeyboardInterrupt`, with which workers end. Raises `InputError` where players, games or log make
    no sense, and `LostWorkerError`.
    """
    watcher = watcher or SeriesWatcher()
    executor.check(settings.cores)
    sheets = {sheet.name: sheet for sheet in map(load, games)}
    if len(sheets) < len(games):
        raise InputError("two of the games have the same name; a tournament tells games apart by their files' names")
    if settings.balanced:
        check_balanced(settings, list(sheets.values()))
    pairings = schedule(contenders, list(sheets.values()), rounds)
    by_label = {contender.label: contender for contender in contenders}
    played = SeriesLog(log, settings, by_label, sheets)
    openings = played.openings
    results = {pairing: played.known[pairing] for pairing in pairings if pairing in played.known}
    watcher.begins(list(sheets.values()), len(pairings), results.values())

    missing = [pairing for pairing in pairings if pairing not in results]
    asyncio.run(check_addresses([by_label[label] for label in sorted({s for p in missing for s in p.seats})]))
    if settings.balanced:
        openings |= _draw_openings(missing, openings, settings, sheets, executor, watcher)
    tasks = [
        Task(
            MatchJob(pairing, openings.get(GameRound(pairing.game, pairing.round)) if settings.balanced else None),
            frozenset(label for label in pairing.seats if by_label[label].plays_one_match),
        )
        for pairing in missing
    ]
    engines = any(contender.kind in ("engine", "agent") for contender in contenders)
    session = JobSession(
        partial(open_playing, settings, by_label, sheets), settings.cores, playing() if engines else (CIRCUIT,)
    )
    lost = 0
    with contextlib.closing(executor.run(session, tasks, watcher.tell)) as events:
        for event in events:
            match event:
                case Started(number, place):
                    watcher.started(missing[number], place)
                case JobDone(_, place, result):
                    played.add(result)
                    results[result.pairing] = result
                    watcher.ended(result, place)
                case Lost(number, _, reason):
                    lost += 1
                    watcher.lost(missing[number], reason)
    return Standings(contenders, list(sheets), results.values(), lost)


def check_balanced(settings: Settings, sheets: Sequence[Sheet]) -> None:
    """Raises `InputError` where no opening can be balanced."""
    if settings.opening_plies == 0:
        raise InputError("balanced openings have at least one ply: name their length by --opening")
    for sheet in sheets:
        if not sheet.for_two:
            raise InputError(f"{sheet.name}: only games of two players and perfect information have balanced openings")


def _draw_openings(
    missing: Sequence[Pairing],
    known: Collection[GameRound],
    settings: Settings,
    sheets: Mapping[str, Sheet],
    executor: Executor,
    watcher: SeriesWatcher,
) -> dict[GameRound, TextOpening]:
    """Draws balanced openings for rounds without one.

    All matches of a round have one opening, but two searches may judge it differently: it is drawn once, beforehand.
    """
    rounds = list(dict.fromkeys(GameRound(pairing.game, pairing.round) for pairing in missing))
    rounds = [wanted for wanted in rounds if wanted not in known]
    if not rounds:
        return {}
    watcher.tell(f"drawing {len(rounds)} balanced openings")
    session = JobSession(partial(open_drawing, settings, sheets), settings.cores, playing())
    drawn = gather(executor, session, rounds, watcher.tell)
    return {rounds[done.number]: done.result for done in drawn}


async def check_addresses(contenders: Sequence[Contender]) -> None:
    """Raises `InputError` where no player is at an address: all its matches would be worthless."""
    for contender in contenders:
        if contender.kind == "address":
            async with PlayerClient(contender.spec) as client:
                try:
                    await client.send(Info(), timeout=ANSWER_SECONDS)
                except Malformed:
                    # A manager that does not ask for INFO can do without.
                    pass
                except ClientError as error:
                    raise InputError(
                        f"{contender.label}: no player answers at {contender.spec} ({error}); "
                        f"`ggp-agent ping {contender.spec}` says more"
                    ) from None
