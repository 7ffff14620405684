"""A series of games between two engines: spread over worker processes, logged so that it can be resumed, summed up."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from agent.lab.jobs.executor import Done, Executor, Lost, LostWorkerError, Session, Task
from agent.lab.measuring.strength.game import GameRecord, Series, pair_opening, play_game
from agent.lab.tally import Score
from agent.lab.tournament.log import MatchLog
from agent.search.kernel_groups import kernel_groups, playing
from agent.sheet import Sheet, load
from games.gdl.compile import compile_rules
from protocol.kif import read_one


def run_series(
    series: Series,
    *,
    games: int,
    executor: Executor,
    log: Path | None = None,
    tell: Callable[[str], None] = lambda line: None,
    progress: Callable[[int], None] = lambda missing: None,
) -> Summary:
    """Play the first `games` games of a series, each pair of them by one worker of the executor; the results.

    Each worker has `series.cores` cores to itself. With a log, games that it already holds are counted and not
    played, and others are added as they end. `tell` gets a line per pair, `progress` the number of games that are
    missing, at first and after each. To be called in the main thread, which gets `KeyboardInterrupt`; the workers end
    with it. Raises `InputError` where options or log make no sense, and `LostWorkerError`, also after all other games
    where some were lost twice.
    """
    executor.check(series.cores)
    records = {} if log is None else {n: record for n, record in read_log(log, series).items() if n < games}
    if records:
        tell(f"{len(records)} games are in {log} already")
    pairs = [[n for n in (even, even + 1) if n < games] for even in range(0, games, 2)]
    missing = [[n for n in pair if n not in records] for pair in pairs]
    tasks = [Task(_Pair(pair, _known_opening(records, pair))) for pair in missing if pair]
    progress(games - len(records))
    session = Session(partial(_open_session, series, load(series.file)), series.cores, playing())
    lost: list[int] = []
    with contextlib.closing(executor.run(session, tasks, tell)) as events:
        for event in events:
            if isinstance(event, Lost):
                lost += tasks[event.number].job.numbers
                tell(f"pair {tasks[event.number].job.numbers[0] // 2 + 1}: lost twice ({event.reason})")
            if not isinstance(event, Done):
                continue
            record = event.result
            if log is not None:
                _log(log, series).append(asdict(record))
            records[record.number] = record
            progress(games - len(records))
            done = [pair for pair in pairs if all(n in records for n in pair)]
            pair = pairs[record.number // 2]
            if pair in done:
                outcomes = " ".join(("loss", "draw", "win")[1 + records[n].result] for n in pair)
                # Halves of pairs would favour whoever is to move first in them.
                so_far = Summary(series, [records[n] for pair in done for n in pair])
                tell(f"pair {record.number // 2 + 1}: {outcomes}; {so_far.score_text()} [{event.place}]")
    if missed := [number for number in lost if number not in records]:
        raise LostWorkerError(
            f"{len(missed)} of {games} games are missing: their workers ended twice; with a log, the same command "
            "plays them"
        )
    return Summary(series, [records[number] for number in sorted(records)])


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


# ------------------------------------------------------------------------------------------------- log and processes


def read_log(path: Path, series: Series) -> dict[int, GameRecord]:
    """The games in a log, by number; an incomplete last line is removed from the file.

    Raises `InputError` if the log is of another series, or is none.
    """
    return {record.number: record for record in _log(path, series).read()}


def _log(path: Path, series: Series) -> MatchLog[GameRecord]:
    return MatchLog(path, asdict(series), lambda row: GameRecord(**row))


@dataclass(frozen=True)
class _Pair:
    """What a worker does next."""

    numbers: list[int]
    """Games of one pair."""
    opening: list[list[str]] | None = None
    """Theirs, if it is known already."""


def _open_session(series: Series, sheet: Sheet) -> Callable[[_Pair], Iterator[GameRecord]]:
    """In a worker: loads what playing needs; returns what plays a pair's games."""
    for name in playing():
        kernel_groups()[name].load()
    machine = compile_rules(sheet.checked)

    def play(pair: _Pair) -> Iterator[GameRecord]:
        if pair.opening is None:
            opening = pair_opening(machine, series, pair.numbers[0] // 2)
        else:
            opening = [[read_one(move) for move in joint] for joint in pair.opening]
        for number in pair.numbers:
            yield play_game(machine, series, number, opening)

    return play
