"""Matches of a variant of this checkout against the checkout itself, each side in a process of its own.

Each opening is played once with the variant in each role, the other side in all others. The two sides of a match share
one core, on which one of them thinks at a time; matches beside it have cores of their own.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any

from agent.errors import InputError
from agent.lab.jobs.cores import claim_or_share_cores
from agent.lab.tally import wilson
from agent.lab.tournament.openings import after, draw_opening
from agent.sheet import Sheet
from games.kernel_cache import sources_digest
from games.machine import points
from games.roles import is_random_role
from protocol.kif import read_one, write

CHECKOUT = Path(__file__).resolve().parents[2]
SEAT = Path(__file__).with_name("variant_seat.py")

MOST_PLIES = 400
"""Plies after which a match counts as it stands."""

CERTAINTY = math.log(19.0)
"""Log-likelihood ratio at which the test ends: errors of 5 % either way."""
FEWEST_PAIRS = 12
"""Openings before the test may end: the variance of few is not known."""


@dataclass(frozen=True)
class Side:
    """One side of all matches."""

    folder: Path
    """A checkout."""
    engine: str
    """`agent` for the one that the agent would choose, or an engine of `tournament`."""
    settings: Mapping[str, str]
    """Constants that are set at run time, by their dotted names, and the texts of their values."""
    memory: Path | None = None
    """Folder of what was learnt of games, for the engine `agent`; each process has a copy."""


@dataclass(frozen=True)
class BoutClocks:
    """Times of both sides, in seconds."""

    move: float
    start: float
    """Before the first move of each match."""


@dataclass(frozen=True)
class Bout:
    """A match to be played."""

    game: str
    """The rulesheet's name."""
    opening: int
    """Number of the opening, from 1."""
    role: int
    """The variant's."""


@dataclass(frozen=True)
class BoutResult(Bout):
    """A match that was played: a row of the file of results."""

    share: float
    """Of the points, 0..1: 0.5 and half of what the variant's goal exceeds the mean of the other side's by."""
    plies: int
    slowest: float
    """Longest turn of either side, in seconds."""

    @property
    def bout(self) -> Bout:
        """The match."""
        return Bout(self.game, self.opening, self.role)


def patched(patch: Path) -> Path:
    """Returns a copy of this checkout with a patch applied.

    It is kept among temporary files, as its kernels are kept in it. Raises `InputError`.
    """
    try:
        text = patch.read_bytes()
    except OSError as error:
        raise InputError(f"{patch}: {error.strerror}") from None
    name = hashlib.sha256(text + sources_digest().encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"ggp-agent-variants-{os.getuid()}" / f"{patch.stem}-{name}"
    if folder.exists():
        return folder
    new = Path(tempfile.mkdtemp(prefix="ggp-agent-variant-"))
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, check=True, capture_output=True, text=True)
    for file in listed.stdout.split("\0")[:-1]:
        (new / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / file, new / file)
    applied = subprocess.run(["git", "apply", str(patch.resolve())], cwd=new, capture_output=True, text=True)
    if applied.returncode:
        shutil.rmtree(new)
        raise InputError(f"{patch}: {applied.stderr.strip()}")
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    shutil.move(new, folder)
    return folder


class SideProcess:
    """A process that plays for one side, on one core."""

    def __init__(self, side: Side, clocks: BoutClocks, core: int) -> None:
        environment = {**os.environ, "PYTHONPATH": str(side.folder)}
        environment.pop("NUMBA_CACHE_DIR", None)
        self._side = side
        self._memory = None if side.memory is None else tempfile.mkdtemp(prefix="ggp-agent-memory-")
        if side.memory is not None and self._memory is not None:
            shutil.copytree(side.memory, self._memory, dirs_exist_ok=True)
        # `-P` leaves out the program's folder, in which modules have names that others may have.
        self._process = subprocess.Popen(
            ["taskset", "-c", str(core), sys.executable, "-P", str(SEAT)],
            cwd=side.folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._clocks = clocks

    def begin(self) -> None:
        """Waits until it is ready. Raises `InputError` where it ends before."""
        side, clocks = self._side, self._clocks
        times = {"seconds": clocks.move, "start_seconds": clocks.start}
        self._tell({"engine": side.engine, **times, "settings": dict(side.settings), "memory": self._memory})

    def __enter__(self) -> SideProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.kill()
        # Its pipes are closed, and it is waited for.
        with self._process:
            pass
        if self._memory is not None:
            shutil.rmtree(self._memory, ignore_errors=True)

    def ask(self, method: str, **arguments: object) -> dict[str, Any]:
        """Returns the answer of a method of `VariantSeat`. Raises `InputError` where the process has ended."""
        return self._tell([method, arguments])

    def _tell(self, message: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps(message), file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise InputError(f"{self._side.folder}: the process of its {self._side.engine} engine ended, see above")
        found: dict[str, Any] = json.loads(answer)
        return found


class BoutTable:
    """Plays matches on one core."""

    def __init__(
        self,
        sides: Sequence[Side],
        sheets: Mapping[str, Sheet],
        clocks: BoutClocks,
        plies: int,
        seed: int,
        core: int,
    ) -> None:
        """The first side is the variant; `plies` is the length of openings."""
        self._sides, self._clocks, self._core = sides, clocks, core
        self._children: list[SideProcess] = []
        self._stack = ExitStack()
        self._sheets, self._plies, self._seed = sheets, plies, seed
        self._game = ""

    def __enter__(self) -> BoutTable:
        with ExitStack() as stack:
            self._children = [stack.enter_context(SideProcess(side, self._clocks, self._core)) for side in self._sides]
            for child in self._children:
                child.begin()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def play(self, bout: Bout) -> BoutResult:
        """Plays a match. Raises `InputError`."""
        sheet = self._sheets[bout.game]
        if bout.game != self._game:
            self._game, self._machine = bout.game, sheet.machine()
        machine, seed = self._machine, f"{self._seed} {bout.game} {bout.opening}"
        opening = draw_opening(machine, self._plies, seed)
        seats = {role: self._children[role != bout.role] for role in players(sheet)}
        spelled = [[write(move) for move in joint_move] for joint_move in opening]
        for child in self._children:
            roles = [role for role, of in seats.items() if of is child]
            child.ask("begin", game=str(sheet.path.resolve()), roles=roles, opening=spelled)
        state, plies, slowest = after(machine, opening), len(opening), 0.0
        chance = random.Random(seed)
        while not machine.terminal(state) and plies < MOST_PLIES:
            joint_move = []
            for role in range(len(machine.roles)):
                legal = machine.legal(state, role)
                if role in seats and len(legal) > 1:
                    answer = seats[role].ask("choose", role=role)
                    slowest = max(slowest, answer["seconds"])
                    joint_move.append(read_one(answer["move"]))
                else:
                    joint_move.append(chance.choice(legal))
            state = machine.next(state, joint_move)
            plies += 1
            for child in self._children:
                child.ask("advance", joint_move=[write(move) for move in joint_move])
        goals = {role: machine.goal_scale.worth(points(machine.goal(state, role))) for role in seats}
        own = goals.pop(bout.role)
        share = 0.5 + (own - sum(goals.values()) / len(goals)) / 200
        return BoutResult(bout.game, bout.opening, bout.role, share, plies, round(slowest, 3))


def players(sheet: Sheet) -> list[int]:
    """Returns the roles that are not nature's."""
    return [role for role, name in enumerate(sheet.roles) if not is_random_role(name)]


@dataclass(frozen=True)
class SeriesVerdict:
    """The result of a series so far."""

    matches: int
    share: float
    """Of the points, 0..1."""
    low: float
    high: float
    """Its 95 % confidence interval."""
    ratio: float
    """Log-likelihood ratio of the upper bound of the test to the lower one."""

    @property
    def text(self) -> str:
        """The result as a line."""
        return f"{100 * self.share:5.1f} % of {self.matches} ({100 * self.low:.0f} to {100 * self.high:.0f})"


def verdict(outcomes: Sequence[BoutResult], bounds: tuple[float, float]) -> SeriesVerdict:
    """Judges matches by a sequential test of two shares of the points, 0..1, at least one match.

    Generalised SPRT on the means of openings, which vary less than single matches (Van den Bergh 2020, "A practical
    introduction to the GSPRT", by the normal approximation).
    """
    share = sum(outcome.share for outcome in outcomes) / len(outcomes)
    by_opening: dict[tuple[str, int], list[float]] = {}
    for outcome in outcomes:
        by_opening.setdefault((outcome.game, outcome.opening), []).append(outcome.share)
    means = [sum(shares) / len(shares) for shares in by_opening.values()]
    n, mean = len(means), sum(means) / len(means)
    ratio = 0.0
    if n >= FEWEST_PAIRS:
        variance = max(sum((one - mean) ** 2 for one in means) / n, 0.01)
        ratio = n * (bounds[1] - bounds[0]) * (2 * mean - sum(bounds)) / (2 * variance)
    return SeriesVerdict(len(outcomes), share, *wilson(share, len(outcomes)), ratio)


class SeriesResults:
    """The outcomes of a series, and their file."""

    def __init__(self, path: Path | None) -> None:
        """Reads what was played before. Raises `InputError`."""
        self.outcomes: list[BoutResult] = []
        self._path = path
        if path is not None and path.exists():
            try:
                with path.open(newline="", encoding="utf-8") as file:
                    for game, opening, role, share, plies, slowest in list(csv.reader(file))[1:]:
                        outcome = BoutResult(game, int(opening), int(role), float(share), int(plies), float(slowest))
                        self.outcomes.append(outcome)
            except (OSError, ValueError) as error:
                raise InputError(f"{path}: no results of this instrument: {error}") from None

    def add(self, outcome: BoutResult) -> None:
        """Adds a match. Raises `InputError` where the file cannot be written."""
        self.outcomes.append(outcome)
        if self._path is not None:
            try:
                with self._path.open("a", newline="", encoding="utf-8") as file:
                    writer = csv.writer(file)
                    if file.tell() == 0:
                        writer.writerow([field.name for field in fields(BoutResult)])
                    writer.writerow(astuple(outcome))
            except OSError as error:
                raise InputError(f"{self._path}: {error.strerror}") from None


def schedule(sheets: Mapping[str, Sheet], openings: int) -> Iterator[Bout]:
    """Yields all matches: an opening of each game, then the next."""
    for opening in range(1, openings + 1):
        for game, sheet in sheets.items():
            for role in players(sheet):
                yield Bout(game, opening, role)


def run_series(
    bouts: Iterable[Bout],
    open_table: Callable[[int], BoutTable],
    results: SeriesResults,
    jobs: int,
    over: Callable[[], bool],
    told: Callable[[BoutResult], None],
) -> None:
    """Plays what the results lack, `jobs` matches at a time on a core each, until it is `over`. Raises `InputError`.

    A table keeps the processes, and the circuits of one game: it takes the matches of an opening one after the other.
    """
    known = {outcome.bout for outcome in results.outcomes}
    waiting: dict[tuple[str, int], list[Bout]] = {}
    for bout in bouts:
        if bout not in known:
            waiting.setdefault((bout.game, bout.opening), []).append(bout)
    groups = iter(waiting.values())
    lock = threading.Lock()
    done: queue.Queue[BoutResult | BaseException | None] = queue.Queue()

    def work(core: int) -> None:
        try:
            with open_table(core) as table:
                while True:
                    with lock:
                        group = None if over() else next(groups, None)
                    if group is None:
                        break
                    for bout in group:
                        done.put(table.play(bout))
            done.put(None)
        except BaseException as error:
            done.put(error)

    with closing(claim_or_share_cores(jobs)) as claim:
        threads = [threading.Thread(target=work, args=(core,), daemon=True) for core in claim.cores]
        for thread in threads:
            thread.start()
        left = len(threads)
        while left:
            outcome = done.get()
            if isinstance(outcome, BaseException):
                raise outcome
            if outcome is None:
                left -= 1
            else:
                results.add(outcome)
                told(outcome)


def as_json(outcomes: Sequence[BoutResult], bounds: tuple[float, float]) -> dict[str, object]:
    """Returns the result by game and in all."""
    games = dict.fromkeys(outcome.game for outcome in outcomes)
    return {
        "games": {game: asdict(verdict([one for one in outcomes if one.game == game], bounds)) for game in games},
        "all": asdict(verdict(outcomes, bounds)) if outcomes else None,
    }
