"""`ggp-agent conform`: replays reference traces on our machines and reports every difference.

A trace (`traces/<game>.json.gz` beside `<game>.kif`) holds matches played by another reasoner. In each of its states
the legal moves of all roles, the end, and the facts of the following state have to be the same, and the goals where a
match was played to its end. Each sheet is checked in a child process of its own with bounded memory and set-up time,
so that one that explodes costs one row of the table.
"""

from __future__ import annotations

import gzip
import json
import multiprocessing
import resource
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

from agent.errors import InputError
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules, check
from games.machine import GameError, LimitError, State, StateMachine, Term
from protocol import kif
from protocol.terms import decode

SETUP_CPU_SECONDS = 60
"""CPU time for reading, checking and compiling a sheet, in any one process."""

MEMORY_BYTES = 8 << 30
"""Address space of a sheet's processes."""

REPLAY_SECONDS = 120.0
"""CPU time for replaying a trace; if it is not enough, the states checked are spread evenly over the trace."""

SHEET_SECONDS = 600.0
"""Wall time after which a sheet's process is ended."""

MEASURABLE_SECONDS = 0.05
"""CPU time below which wall time is taken for the speed: the CPU clock may be as coarse as 10 ms."""

MAX_DESCRIBED = 5
"""Differences that are described; the others are only counted."""

CIRCUIT, INTERPRETER = "circuit", "interpreter"

MakeMachine = Callable[[CheckedRules], StateMachine]


def compile_circuit(checked: CheckedRules) -> StateMachine:
    """The circuit of some rules. Raises `LimitError` where it does not compile in bounds."""
    # Imported here: it loads Numba's kernels, which only this needs.
    from games.gdl.compile import compile_rules

    return compile_rules(checked)


def _load_kernels() -> None:
    """Loads the kernels into this process, for the children to inherit: what they measure is the sheet, not Numba."""
    from games.gdl.compile import warm_kernels

    warm_kernels()


@dataclass
class SheetReport:
    """What came out for one sheet."""

    game: str
    engine: str = ""
    """`circuit` or `interpreter`; empty where there was no machine."""
    differences: int = 0
    described: list[str] = field(default_factory=list)
    """The first few differences."""
    states: int = 0
    """States checked."""
    states_in_trace: int = 0
    setup_cpu_seconds: float = 0.0
    """Including what was spent on a circuit in vain."""
    peak_mb: float = 0.0
    """Most memory resident at once in any process of the sheet."""
    states_per_s: float = 0.0
    """Per CPU second (of wall time, where the trace is too short to measure that). A state means its facts read and
    compared, terminal, legal moves of all roles, and the next state or the goals."""
    error: str | None = None
    """Why there is no machine, or no trace."""

    @property
    def failed(self) -> bool:
        """Whether anything differs, or could not be checked."""
        return self.differences > 0 or self.error is not None


@dataclass
class Conformity:
    """The reports of all sheets."""

    sheets: list[SheetReport]

    @property
    def failed(self) -> bool:
        """Whether any sheet failed."""
        return any(sheet.failed for sheet in self.sheets)

    def as_json(self) -> dict[str, object]:
        """As plain data."""
        return {"sheets": [asdict(sheet) for sheet in self.sheets]}


def conform(
    directory: Path,
    games: Sequence[str] = (),
    *,
    compile_machine: MakeMachine | None = compile_circuit,
    replay_seconds: float = REPLAY_SECONDS,
    report: Callable[[str], None] = print,
) -> Conformity:
    """Checks the sheets of a folder (or those named) against their traces, and reports a table line by line.

    The machine is what `compile_machine` makes, or the interpreter where it raises `LimitError` or is None. Raises
    `InputError` where there is nothing to check.
    """
    known = sorted(path.stem for path in directory.glob("*.kif"))
    if missing := [game for game in games if game not in known]:
        raise InputError(f"{directory}: no rulesheet {', '.join(missing)}")
    chosen = list(games) or known
    if not chosen:
        raise InputError(f"{directory}: no rulesheets (*.kif)")
    if compile_machine is compile_circuit:
        _load_kernels()
    report(_HEADER)
    sheets = []
    for game in chosen:
        sheet = _check_in_child(directory, game, compile_machine, replay_seconds)
        sheets.append(sheet)
        for line in _table_lines(sheet):
            report(line)
    result = Conformity(sheets)
    report(_summary(result))
    return result


_HEADER = (
    f"{'game':<36} {'engine':<11} {'differences':>11} {'states':>8} {'set-up s':>9} {'peak MB':>8} {'states/s':>9}"
)


def _table_lines(sheet: SheetReport) -> Iterator[str]:
    yield (
        f"{sheet.game:<36} {sheet.engine or '-':<11} {sheet.differences:>11} {sheet.states:>8} "
        f"{sheet.setup_cpu_seconds:>9.3f} {sheet.peak_mb:>8.0f} {sheet.states_per_s:>9.0f}"
    )
    if sheet.error is not None:
        yield f"    error: {sheet.error}"
    if sheet.error is None and sheet.states < sheet.states_in_trace:
        yield f"    checked {sheet.states} of {sheet.states_in_trace} states in the time there is"
    for text in sheet.described:
        yield f"    {text}"


def _summary(result: Conformity) -> str:
    sheets = result.sheets
    by_circuit = sum(sheet.engine == CIRCUIT for sheet in sheets)
    by_interpreter = sum(sheet.engine == INTERPRETER for sheet in sheets)
    return (
        f"{len(sheets)} sheets, {by_circuit} by circuit, {by_interpreter} by interpreter: "
        f"{sum(sheet.differences for sheet in sheets)} differences, {sum(s.error is not None for s in sheets)} errors"
    )


# --------------------------------------------------------------------------------------------------- in a child process


def _check_in_child(
    directory: Path, game: str, compile_machine: MakeMachine | None, replay_seconds: float
) -> SheetReport:
    """The report on a sheet; if the process that compiles it dies, the interpreter gets one of its own."""
    sheet = _run_child(directory, game, compile_machine, replay_seconds)
    if sheet is None and compile_machine is not None:
        sheet = _run_child(directory, game, None, replay_seconds)
    return sheet or SheetReport(game, error="the process that checked it died, or was ended after too long a time")


def _run_child(
    directory: Path, game: str, compile_machine: MakeMachine | None, replay_seconds: float
) -> SheetReport | None:
    # Forked, so that loaded modules and kernels are there already: what is measured is the sheet.
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, directory, game, compile_machine, replay_seconds))
    process.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(SHEET_SECONDS) else None
    except EOFError:
        return None
    finally:
        receiver.close()
        if process.is_alive():
            process.join(1.0)
        if process.is_alive():
            process.kill()
        process.join()


def _child(
    sender: Connection, directory: Path, game: str, compile_machine: MakeMachine | None, replay_seconds: float
) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    sheet = SheetReport(game)
    try:
        check_sheet(directory, sheet, compile_machine, replay_seconds)
    except (GameError, ValueError, OSError, MemoryError) as error:
        sheet.error = f"{type(error).__name__}: {error}"
    peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    sheet.peak_mb = max(peaks) / 1024
    sender.send(sheet)


def check_sheet(
    directory: Path, sheet: SheetReport, compile_machine: MakeMachine | None, replay_seconds: float
) -> None:
    """Sets a machine up and replays the trace on it, in this process; fills in the report."""
    begin = _cpu_seconds()
    with _cpu_bound(SETUP_CPU_SECONDS):
        source = decode((directory / f"{sheet.game}.kif").read_bytes())
        checked = check(kif.read_rulesheet(source))
        machine: StateMachine | None = None
        if compile_machine is not None:
            try:
                machine = compile_machine(checked)
                sheet.engine = CIRCUIT
            except LimitError:
                pass
    if machine is None:
        machine = Interpreter(checked)
        sheet.engine = INTERPRETER
    sheet.setup_cpu_seconds = _cpu_seconds() - begin
    with gzip.open(directory / "traces" / f"{sheet.game}.json.gz") as file:
        trace = json.load(file)
    _Replay(machine, trace, sheet).run(replay_seconds)


def _cpu_seconds() -> float:
    """CPU time of this process and of its finished children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class _cpu_bound:
    """Within, the process may use so many seconds of CPU time; then `LimitError` is raised."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        self._before = resource.getrlimit(resource.RLIMIT_CPU)
        self._handler = signal.signal(signal.SIGXCPU, self._exceeded)
        soft = int(used.ru_utime + used.ru_stime) + self._seconds
        hard = self._before[1]
        resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_CPU, self._before)
        signal.signal(signal.SIGXCPU, self._handler)

    def _exceeded(self, _signal: int, _frame: FrameType | None) -> None:
        raise LimitError(f"set-up took more than {self._seconds} s of CPU time")


# --------------------------------------------------------------------------------------------------------------- replay


class _Replay:
    """A trace played on a machine."""

    def __init__(self, machine: StateMachine, trace: dict[str, Any], sheet: SheetReport) -> None:
        self._machine = machine
        self._trace = trace
        self._sheet = sheet
        self._term = cache(kif.read_one)

    def run(self, seconds: float) -> None:
        """Checks all states, or as many as there is time for."""
        roles = tuple(map(self._term, self._trace["roles"]))
        if self._machine.roles != roles:
            self._differ("the roles", f"{_list(self._machine.roles)}, should be {_list(roles)}")
            return
        games = self._trace["games"]
        places = [(number, step) for number, game in enumerate(games) for step in range(len(game["steps"]))]
        self._sheet.states_in_trace = len(places)
        for number, game in enumerate(games):
            self._same_facts(f"match {number}, initial state", self._machine.initial(), game["steps"][0]["state"])
        begin, begin_wall = time.process_time(), time.perf_counter()
        for number, step in spread(places):
            self._check(number, step)
            self._sheet.states += 1
            if time.process_time() - begin > seconds:
                break
        spent = time.process_time() - begin
        if spent < MEASURABLE_SECONDS:
            spent = time.perf_counter() - begin_wall
        self._sheet.states_per_s = self._sheet.states / spent

    def _check(self, number: int, step: int) -> None:
        machine = self._machine
        game = self._trace["games"][number]
        here = game["steps"][step]
        place = f"match {number}, step {step}"
        try:
            state = machine.state([self._term(fact) for fact in here["state"]])
            terminal = machine.terminal(state)
            if terminal != here["terminal"]:
                self._differ(place, f"terminal is {terminal}")
            if here["legal"] is not None:
                for role, moves in enumerate(here["legal"]):
                    self._same(
                        f"{place}, legal moves of {kif.write(machine.roles[role])}",
                        machine.legal(state, role),
                        map(self._term, moves),
                    )
            if step + 1 < len(game["steps"]):
                successor = machine.next(state, [self._term(move) for move in here["joint"]])
                self._same_facts(f"{place}, next state", successor, game["steps"][step + 1]["state"])
            elif here["terminal"]:
                self._same_goals(place, [machine.goal(state, r) for r in range(len(machine.roles))], game["goals"])
        except GameError as error:
            self._differ(place, f"{type(error).__name__}: {error}")

    def _same_goals(self, place: str, goals: list[int | None], expected: list[int | None] | None) -> None:
        # A reasoner that gives up at the first role without a goal leaves no list at all.
        if None not in goals if expected is None else goals != expected:
            self._differ(place, f"goals are {goals}, should be {expected}")

    def _same_facts(self, place: str, state: State, facts: Iterable[str]) -> None:
        self._same(place, self._machine.facts(state), map(self._term, facts))

    def _same(self, place: str, found: Iterable[Term], expected: Iterable[Term]) -> None:
        ours, theirs = set(found), set(expected)
        if ours != theirs:
            self._differ(place, f"too many: {_list(ours - theirs)}; missing: {_list(theirs - ours)}")

    def _differ(self, place: str, text: str) -> None:
        self._sheet.differences += 1
        if len(self._sheet.described) < MAX_DESCRIBED:
            self._sheet.described.append(f"{place}: {text}")


def spread(places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """All the places, so that any first part of them is spread evenly (the van der Corput sequence to base 2)."""
    bits = max(1, (len(places) - 1).bit_length())
    for i in range(1 << bits):
        j = int(format(i, f"0{bits}b")[::-1], 2)
        if j < len(places):
            yield places[j]


def _list(terms: Iterable[Term]) -> str:
    texts = sorted(map(kif.write, terms))
    return (" ".join(texts[:4]) + (f" and {len(texts) - 4} more" if len(texts) > 4 else "")) or "none"
