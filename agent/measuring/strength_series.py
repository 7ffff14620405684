"""A series of games between two engines: spread over worker processes, logged so that it can be resumed, summed up."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
from collections.abc import Callable, Generator, Iterable
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from agent.errors import CommandError, InputError
from agent.kernels.groups import GROUPS, PLAYING
from agent.measuring.strength_game import GameRecord, Series, pair_opening, play_game
from agent.search.score import Score
from agent.sheet import load
from games.child_process import ChildLostError, ChildProcess, wait_for_any
from games.gdl.compile import compile_rules
from protocol.kif import read


class LostWorkerError(CommandError):
    """A worker process ended before its games did."""


def run_series(
    series: Series,
    *,
    games: int,
    jobs: int = 1,
    log: Path | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Summary:
    """Play the first `games` games of a series, each pair of them in one of `jobs` processes; the results.

    Each process has `series.cores` cores to itself. With a log, games that it already holds are counted and not
    played, and others are added as they end. `tell` gets a line per pair. To be called in the main thread, which gets
    `KeyboardInterrupt`; the processes end with it. Raises `InputError` where options or log make no sense, and
    `LostWorkerError`.
    """
    available = len(os.sched_getaffinity(0))
    if jobs * series.cores > available:
        raise InputError(
            f"{jobs} x {series.cores} cores are wanted, and there are {available}: times would not be equal"
        )
    records = {} if log is None else {n: record for n, record in read_log(log, series).items() if n < games}
    if records:
        tell(f"{len(records)} games are in {log} already")
    pairs = [[n for n in (even, even + 1) if n < games] for even in range(0, games, 2)]
    missing = [[n for n in pair if n not in records] for pair in pairs]
    tasks = [_Task(pair, _known_opening(records, pair)) for pair in missing if pair]
    with contextlib.closing(_play(series, tasks, jobs)) as results:
        for record in results:
            if log is not None:
                _append(log, series, record)
            records[record.number] = record
            done = [pair for pair in pairs if all(n in records for n in pair)]
            pair = pairs[record.number // 2]
            if pair in done:
                outcomes = " ".join(("loss", "draw", "win")[1 + records[n].result] for n in pair)
                # Halves of pairs would favour whoever is to move first in them.
                so_far = Summary(series, [records[n] for pair in done for n in pair])
                tell(f"pair {record.number // 2 + 1}: {outcomes}; {so_far.score_text()}")
    return Summary(series, records.values())


def _known_opening(records: dict[int, GameRecord], pair: list[int]) -> list[list[str]] | None:
    """The opening of a pair of which one game was played."""
    return next((records[n ^ 1].opening for n in pair if n ^ 1 in records), None)


# ------------------------------------------------------------------------------------------------------------- results


@dataclass(frozen=True)
class Proofs:
    """When results were proven, over many games; a game in which that never happened counts as proven at its end."""

    first_ply: float
    """Median ply from which on the result was proven (see `GameRecord`)."""
    before_end: float
    """Median number of plies from that one to the last, both included."""
    never: int
    """Games in which it was not."""


class Summary:
    """What a series has shown so far."""

    def __init__(self, series: Series, records: Iterable[GameRecord]) -> None:
        self._series = series
        self._records = list(records)

    def score(self, *, chose_first: int | None = None) -> Score:
        """The first contender's score; on request only where that contender (0 or 1) was the first to choose."""
        score = Score()
        for record in self._records:
            if chose_first is None or record.chose_first == chose_first:
                score = score.plus(record.result)
        return score

    def score_text(self) -> str:
        """The score in one line: with its interval, and by who was the first to choose after the opening."""
        first, second = (self.score(chose_first=contender) for contender in (0, 1))
        return f"{self.score()}; moving first {_share_text(first)}, second {_share_text(second)}"

    def proofs(self, contenders: Iterable[int]) -> Proofs:
        """When one of these contenders had proven the result."""
        known = [
            min((ply for c in contenders if (ply := record.proven_from[c]) is not None), default=None)
            for record in self._records
        ]
        plies = [record.length + 1 if ply is None else ply for ply, record in zip(known, self._records, strict=True)]
        before_end = [record.length + 1 - ply for ply, record in zip(plies, self._records, strict=True)]
        return Proofs(statistics.median(plies), statistics.median(before_end), known.count(None))

    def busy(self, contender: int) -> float:
        """The share of its cores' time that a contender used, 0..1; well below 1 where it had to share them."""
        available = self._series.cores * sum(record.thought[contender] for record in self._records)
        return sum(record.cpu[contender] for record in self._records) / available if available else 1.0

    def lines(self) -> list[str]:
        """The report for people."""
        names = self._series.engines
        length = statistics.median(record.length for record in self._records)
        lines = [f"{names[0]} against {names[1]}: {self.score_text()}", f"median length of a match: {length:g} plies"]
        titles = f"first ({names[0]})", f"second ({names[1]})"
        for title, contenders in ((titles[0], [0]), (titles[1], [1]), ("either", [0, 1])):
            proofs = self.proofs(contenders)
            lines.append(
                f"{title}: result proven from ply {proofs.first_ply:g} on, {proofs.before_end:g} plies before the end "
                f"(medians); never in {proofs.never} of {len(self._records)} matches"
            )
        for contender, title in enumerate(titles):
            slowest = max(record.slowest[contender] for record in self._records)
            missed = sum(record.proofs_missed[contender] for record in self._records)
            lines.append(
                f"{title}: longest turn {slowest:.3f} s, used {100 * self.busy(contender):.0f} % of its cores' time, "
                f"proofs of more than it got: {missed}"
            )
        return lines

    def as_json(self) -> dict[str, object]:
        """The report as plain data."""
        return {
            **asdict(self._series),
            "score": _score_json(self.score()),
            "moving_first": _score_json(self.score(chose_first=0)),
            "moving_second": _score_json(self.score(chose_first=1)),
            "median_length": statistics.median(record.length for record in self._records),
            "proofs": [asdict(self.proofs([contender])) for contender in (0, 1)],
            "proofs_of_either": asdict(self.proofs([0, 1])),
            "proofs_missed": [sum(record.proofs_missed[contender] for record in self._records) for contender in (0, 1)],
            "slowest": [max(record.slowest[contender] for record in self._records) for contender in (0, 1)],
            "busy": [self.busy(contender) for contender in (0, 1)],
        }


def _share_text(score: Score) -> str:
    return f"{100 * score.share:.1f} % of {score.games}" if score.games else "0 games"


def _score_json(score: Score) -> dict[str, float]:
    if not score.games:
        return asdict(score)
    low, high = score.interval()
    return {**asdict(score), "share": score.share, "low": low, "high": high}


# ----------------------------------------------------------------------------------------------------------------- log


_LINE_START = b'{"file": '
"""How each line of a log begins, whole or not."""


def read_log(path: Path, series: Series) -> dict[int, GameRecord]:
    """The games in a log, by number; an incomplete last line is removed from the file.

    Raises `InputError` if the log is of another series, or is none.
    """
    try:
        data = path.read_bytes()
        end = data.rfind(b"\n") + 1
        games = dict(_from_log(path, series, json.loads(line)) for line in data[:end].splitlines())
        if not data[end:].startswith(_LINE_START[: len(data) - end]):
            raise ValueError
        if end < len(data):
            os.truncate(path, end)
        return games
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InputError(f"{path}: not a log of games") from None


def _from_log(path: Path, series: Series, row: dict[str, Any]) -> tuple[int, GameRecord]:
    for name, value in asdict(series).items():
        logged = row.pop(name)
        if logged != (list(value) if isinstance(value, tuple) else value):
            raise InputError(f"{path}: a log of another series, {name} is {logged} instead of {value}")
    return row["number"], GameRecord(**row)


def _append(path: Path, series: Series, record: GameRecord) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**asdict(series), **asdict(record)}) + "\n")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


# ----------------------------------------------------------------------------------------------------------- processes


@dataclass(frozen=True)
class _Task:
    """What a worker does next."""

    numbers: list[int]
    """Games of one pair."""
    opening: list[list[str]] | None = None
    """Theirs, if it is known already."""


_IDLE = "idle"
"""What a worker sends when it waits for a task; for each game of one it sends the `GameRecord`."""


def _play(series: Series, tasks: list[_Task], jobs: int) -> Generator[GameRecord, None, None]:
    """Carry out tasks, each in one process; yields games as they end. Closing it ends all processes."""
    cores = sorted(os.sched_getaffinity(0))
    pools = [cores[job * series.cores : (job + 1) * series.cores] for job in range(jobs)]
    waiting = list(reversed(tasks))
    workers: list[ChildProcess] = []

    def start_one() -> None:
        if waiting and pools:
            # Not forked: the caller may have threads that hold locks. It has children because it compiles.
            worker = ChildProcess(_work, series, pools.pop(0), method="spawn", may_have_children=True)
            workers.append(worker)

    try:
        start_one()
        while workers:
            for worker in wait_for_any(workers):
                message = worker.receive()
                if isinstance(message, GameRecord):
                    yield message
                elif waiting:
                    worker.send(waiting.pop())
                    # The first worker has filled the kernel cache before the next one is started.
                    start_one()
                else:
                    workers.remove(worker)
                    worker.end()
    except ChildLostError as error:
        raise LostWorkerError(f"a worker {error}") from None
    finally:
        for worker in workers:
            worker.end()


def _work(pipe: Connection, series: Series, cores: list[int]) -> None:
    """A worker's life, until it is ended."""
    os.sched_setaffinity(0, cores)
    for name in PLAYING:
        GROUPS[name].load()
    machine = compile_rules(load(series.file).checked)
    while True:
        pipe.send(_IDLE)
        task: _Task = pipe.recv()
        if task.opening is None:
            opening = pair_opening(machine, series, task.numbers[0] // 2)
        else:
            opening = [[read(move)[0] for move in joint] for joint in task.opening]
        for number in task.numbers:
            pipe.send(play_game(machine, series, number, opening))
