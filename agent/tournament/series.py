"""Runs a tournament: the schedule, less what its log holds already, spread over processes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from agent.errors import InputError
from agent.sheet import Sheet, load
from agent.tournament.contenders import Contender
from agent.tournament.log import MatchLog
from agent.tournament.matches import open_session
from agent.tournament.pairing import seatings
from agent.tournament.results import MatchResult, Pairing, Settings, check_same, read_result
from agent.tournament.standings import Standings
from agent.tournament.workers import Task, check_cores, run_tasks
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

    def ended(self, result: MatchResult) -> None:
        """One more match was played."""


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
    jobs: int,
    log: Path | None = None,
    watcher: Watcher | None = None,
) -> Standings:
    """Plays all matches of a tournament that its log does not hold; the standings.

    `games` are own rulesheets' names or files. Each of `jobs` processes has `settings.cores` cores to itself; an
    address is in one match at a time. A log of the same settings may hold other players and games as well: more rounds,
    players and games may be added later. To be called in the main thread, which gets `KeyboardInterrupt`; the processes
    end with it. Raises `InputError` where players, games or log make no sense, and `LostWorkerError`.
    """
    watcher = watcher or Watcher()
    check_cores(jobs, settings.cores)
    sheets = {sheet.name: sheet for sheet in map(load, games)}
    if len(sheets) < len(games):
        raise InputError("two of the games have the same name; a tournament tells games apart by their files' names")
    pairings = schedule(contenders, list(sheets.values()), rounds)
    by_label = {contender.label: contender for contender in contenders}
    file = None if log is None else MatchLog(log, settings.as_json(), read_result)
    wanted = set(pairings)
    results: dict[Pairing, MatchResult] = {}
    logged_rules = set()
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
    session = partial(open_session, settings, by_label, sheets)
    with contextlib.closing(run_tasks(session, tasks, jobs=jobs, cores=settings.cores)) as played:
        for result in played:
            if file is not None:
                row = asdict(result)
                if result.game in logged_rules:
                    del row["rulesheet"]
                else:
                    row["rulesheet"] = sheets[result.game].source
                    logged_rules.add(result.game)
                file.append(row)
            results[result.pairing] = result
            watcher.ended(result)
    return Standings(contenders, list(sheets), results.values())


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
