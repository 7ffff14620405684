"""Runs a tournament: the schedule, less what its log holds already, spread over processes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from agent.errors import InputError
from agent.lab.jobs.executor import Done, Executor, Lost, Session, Started, Task
from agent.lab.tournament.contenders import Contender
from agent.lab.tournament.log import MatchLog
from agent.lab.tournament.matches import open_session
from agent.lab.tournament.pairing import seatings
from agent.lab.tournament.results import MatchResult, Pairing, Settings, check_same, read_result
from agent.lab.tournament.standings import Standings
from agent.search.kernel_groups import CIRCUIT, playing
from agent.sheet import Sheet, load
from games.roles import is_random_role
from protocol.client import ClientError, Malformed, PlayerClient
from protocol.messages import Info

MAX_MATCHES = 1_000_000
"""More are taken for a mistake."""


ANSWER_SECONDS = 5.0
"""How long an address may take to show that there is a player. Set by hand; not tuned."""


class Watcher:
    """Hears of a tournament as it goes; does nothing with it unless overridden."""

    def begins(self, sheets: Sequence[Sheet], matches: int, known: Collection[MatchResult]) -> None:
        """It has that many matches, of which some are in the log already."""

    def started(self, pairing: Pairing, place: str) -> None:
        """A match begins there."""

    def ended(self, result: MatchResult, place: str) -> None:
        """One more match was played."""

    def lost(self, pairing: Pairing, reason: str) -> None:
        """A match was begun twice, and its worker ended both times: the table is without it."""

    def tell(self, line: str) -> None:
        """Something else that people may like to know: machines that come and go."""


def schedule(contenders: Sequence[Contender], sheets: Sequence[Sheet], rounds: int) -> list[Pairing]:
    """All matches, game by game and round by round. Raises `InputError` where these players cannot fill the roles."""
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
    watcher: Watcher | None = None,
) -> Standings:
    """Plays all matches of a tournament that its log does not hold; the standings.

    `games` are own rulesheets' names or files. Each match has `settings.cores` cores of the executor to itself; an
    address is in one match at a time. A log of the same settings may hold other players and games as well: more rounds,
    players and games may be added later. To be called in the main thread, which gets `KeyboardInterrupt`; the workers
    end with it. Raises `InputError` where players, games or log make no sense, and `LostWorkerError`.
    """
    watcher = watcher or Watcher()
    executor.check(settings.cores)
    sheets = {sheet.name: sheet for sheet in map(load, games)}
    if len(sheets) < len(games):
        raise InputError("two of the games have the same name; a tournament tells games apart by their files' names")
    pairings = schedule(contenders, list(sheets.values()), rounds)
    by_label = {contender.label: contender for contender in contenders}
    file = None if log is None else MatchLog(log, settings.as_json(), read_result)
    wanted = set(pairings)
    results: dict[Pairing, MatchResult] = {}
    logged_rules: set[str] = set()
    for result in file.read() if file is not None else []:
        if result.rulesheet:
            logged_rules.add(result.game)
        if check_same(result, by_label, sheets, str(log)) and result.pairing in wanted:
            results[result.pairing] = result
    watcher.begins(list(sheets.values()), len(pairings), results.values())

    tasks = [
        Task(pairing, frozenset(label for label in pairing.seats if by_label[label].plays_one_match))
        for pairing in pairings
        if pairing not in results
    ]
    asyncio.run(_check_addresses([by_label[label] for label in sorted({s for task in tasks for s in task.job.seats})]))
    engines = any(contender.kind in ("engine", "agent") for contender in contenders)
    session = Session(
        partial(open_session, settings, by_label, sheets), settings.cores, playing() if engines else (CIRCUIT,)
    )
    lost = 0
    with contextlib.closing(executor.run(session, tasks, watcher.tell)) as events:
        for event in events:
            match event:
                case Started(number, place):
                    watcher.started(tasks[number].job, place)
                case Done(_, place, result):
                    if file is not None:
                        file.append(_row(result, sheets, logged_rules))
                    results[result.pairing] = result
                    watcher.ended(result, place)
                case Lost(number, _, reason):
                    lost += 1
                    watcher.lost(tasks[number].job, reason)
    return Standings(contenders, list(sheets), results.values(), lost)


def _row(result: MatchResult, sheets: Mapping[str, Sheet], logged_rules: set[str]) -> dict[str, object]:
    """A match's line of the log: the first of each game has the rules, for whoever shows its matches."""
    row = asdict(result)
    if result.game in logged_rules:
        del row["rulesheet"]
    else:
        row["rulesheet"] = sheets[result.game].source
        logged_rules.add(result.game)
    return row


async def _check_addresses(contenders: Sequence[Contender]) -> None:
    """Raises `InputError` where nobody is at an address: all matches of that player would be worth nothing."""
    for contender in contenders:
        if contender.kind == "address":
            async with PlayerClient(contender.spec) as client:
                try:
                    await client.send(Info(), timeout=ANSWER_SECONDS)
                except Malformed:
                    # Whatever it is, managers that do not ask for it can do without.
                    pass
                except ClientError as error:
                    raise InputError(
                        f"{contender.label}: no player answers at {contender.spec} ({error}); "
                        f"`ggp-agent ping {contender.spec}` says more"
                    ) from None
