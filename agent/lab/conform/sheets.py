"""Comparison of circuits with reference traces, or with the interpreter: the command `lab conform`.

A trace (`traces/<game>.json.gz` beside `<game>.kif`) holds matches played by another reasoner. In each of its states
the legal moves of all roles, the end, the next state and the goals have to be the same. Without a trace, the circuit is
compared with the interpreter on random matches (`games.gdl.crosscheck`). Each sheet is checked in a child process with
bounded memory and set-up time: one that explodes costs one row of the table.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

from agent.errors import InputError
from agent.lab.conform.conformity import (
    CIRCUIT,
    HEADER,
    INTERPRETER,
    NOTHING,
    TRACE,
    Conformity,
    SheetReport,
    summary,
    table_lines,
)
from agent.lab.conform.trace_replay import MEASURABLE_SECONDS, Replay, Trace
from agent.lab.jobs.executor import Executor, JobDone, JobSession, Lost, Task
from agent.lab.jobs.inline import InlineExecutor
from agent.search.kernel_groups import CIRCUIT as CIRCUIT_KERNELS
from agent.sheet import SUFFIXES
from games.child_process import Bounds, ChildLostError, ChildProcess, cpu_seconds
from games.gdl.crosscheck import CrossCheck
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules, check
from games.machine import GameError, Interrupted, LimitError, StateMachine
from protocol.sheets import read_rulesheet, span
from protocol.terms import decode, position_of

SETUP_CPU_SECONDS = 60
"""CPU time for reading, checking and compiling a sheet, in each process."""

MEMORY_BYTES = 8 << 30
"""Address space of each process of a sheet."""

REPLAY_SECONDS = 120.0
"""CPU time for replaying a trace, or for random matches. If it is too short, the checked states are spread evenly over
the trace."""

MATCHES = 10
"""Random matches of a sheet without a trace."""

SHEET_SECONDS = 600.0
"""Wall time of a sheet's process, at most."""

MakeMachine = Callable[[CheckedRules], StateMachine]


def compile_circuit(checked: CheckedRules) -> StateMachine:
    """Returns the circuit of rules. Raises `LimitError` where it does not compile within bounds."""
    # Imported here: it loads Numba's kernels, which only this needs.
    from games.gdl.compile import compile_rules

    return compile_rules(checked)


@dataclass(frozen=True)
class ConformPlan:
    """Parameters of a check."""

    compile_machine: MakeMachine | None = compile_circuit
    """Makes the machine; where it raises `LimitError` or is None, the interpreter plays."""
    seconds: float = REPLAY_SECONDS
    """CPU time for comparing a sheet's states."""
    matches: int = MATCHES
    """Random matches on a sheet without a trace."""
    seed: int = 1
    """Seed of random matches."""


HERE = InlineExecutor()
"""Checks one sheet after the other, in child processes of this process."""


@dataclass(frozen=True)
class SheetFiles:
    """A job: the contents of a sheet and its trace, as a worker may not have the files."""

    name: str
    rules: bytes
    trace: bytes | None
    """Content of the file (.json.gz)."""


def conform(
    target: Path,
    games: Sequence[str] = (),
    plan: ConformPlan = ConformPlan(),
    *,
    report: Callable[[str], None] = print,
    executor: Executor = HERE,
    tell: Callable[[str], None] = lambda line: None,
) -> Conformity:
    """Checks the sheets of a folder (all, or `games`), or a file; reports a table line by line, in its order.

    Sheets of a folder are compared with their traces; a sheet without a trace, and a file, with the interpreter.
    `tell` gets lines about workers. Raises `InputError` where there is nothing to check.
    """
    sheets = [(path, _trace_of(path)) for path in _chosen(target, games)] if target.is_dir() else [(target, None)]
    if not target.is_dir() and games:
        raise InputError(f"{target}: no folder to choose {', '.join(games)} from")
    try:
        jobs = [
            SheetFiles(path.stem, path.read_bytes(), None if trace is None else trace.read_bytes())
            for path, trace in sheets
        ]
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}") from None
    kernels = (CIRCUIT_KERNELS,) if plan.compile_machine is compile_circuit else ()
    session = JobSession(partial(_open_session, plan), kernels=kernels)
    report(HEADER)
    reports: dict[int, SheetReport] = {}
    shown = 0
    with contextlib.closing(executor.run(session, [Task(job) for job in jobs], tell)) as events:
        for event in events:
            if isinstance(event, JobDone):
                reports[event.number] = event.result
            elif isinstance(event, Lost):
                reason = f"its worker was lost twice ({event.reason})"
                reports[event.number] = SheetReport(jobs[event.number].name, error=reason)
            while shown in reports:
                for line in table_lines(reports[shown]):
                    report(line)
                shown += 1
    result = Conformity([reports[number] for number in range(len(jobs))])
    report(summary(result))
    return result


def _open_session(plan: ConformPlan) -> Callable[[SheetFiles], Iterator[SheetReport]]:
    """In a worker: returns the function that checks sheets."""
    if plan.compile_machine is compile_circuit:
        from games.gdl.compile import warm_kernels

        # Children inherit the kernels, and measure the sheet instead of Numba.
        warm_kernels()

    def check_one(job: SheetFiles) -> Iterator[SheetReport]:
        yield _check_in_child(job, plan)

    return check_one


def _chosen(directory: Path, games: Sequence[str]) -> list[Path]:
    known = {path.stem: path for path in sorted(directory.iterdir()) if path.suffix in SUFFIXES}
    if missing := [game for game in games if game not in known]:
        raise InputError(f"{directory}: no rulesheet {', '.join(missing)}")
    if not known:
        raise InputError(f"{directory}: no rulesheets (*{', *'.join(SUFFIXES)})")
    return [known[game] for game in games or known]


def _trace_of(path: Path) -> Path | None:
    trace = path.parent / "traces" / f"{path.stem}.json.gz"
    return trace if trace.exists() else None


# --------------------------------------------------------------------------------------------------- in a child process


def _check_in_child(files: SheetFiles, plan: ConformPlan) -> SheetReport:
    """Returns the report on a sheet; if the process that compiles it dies, the interpreter gets another one."""
    for attempt in dict.fromkeys((plan, replace(plan, compile_machine=None))):
        # Forked: modules and kernels are loaded already.
        bounds = Bounds(memory_bytes=MEMORY_BYTES)
        child = ChildProcess(_report_on, files, attempt, bounds=bounds)
        try:
            report: SheetReport = child.receive(SHEET_SECONDS)
            return report
        except (ChildLostError, LimitError):
            continue
        except Exception:
            traceback.print_exc()
        finally:
            child.end()
    return SheetReport(files.name, error="the process that checked it died, or was ended after too long a time")


def _report_on(pipe: Connection, files: SheetFiles, plan: ConformPlan) -> SheetReport:
    sheet = SheetReport(files.name)
    try:
        check_sheet(files, plan, sheet)
    except (GameError, ValueError, OSError, MemoryError) as error:
        sheet.error = f"{type(error).__name__}: {error}"
    peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    sheet.peak_mb = max(peaks) / 1024
    return sheet


def check_sheet(files: SheetFiles, plan: ConformPlan, sheet: SheetReport) -> None:
    """Compares a sheet's machine with the trace or the interpreter, in this process; fills in the report."""
    begin = cpu_seconds()
    with _bounded_cpu(SETUP_CPU_SECONDS):
        source = decode(files.rules)
        checked = check(read_rulesheet(source))
        machine: StateMachine | None = None
        if plan.compile_machine is not None:
            try:
                machine = plan.compile_machine(checked)
                sheet.engine = CIRCUIT
            except LimitError:
                pass
    if machine is None:
        machine = Interpreter(checked)
        sheet.engine = INTERPRETER
    sheet.setup_cpu_seconds = cpu_seconds() - begin
    if files.trace is not None:
        sheet.against = TRACE
        traced: Trace = json.loads(gzip.decompress(files.trace))
        Replay(machine, traced, sheet).run(plan.seconds)
    elif sheet.engine == INTERPRETER:
        sheet.against = NOTHING
    else:
        sheet.against = INTERPRETER
        _cross_check(machine, checked, source, plan, sheet)


def _cross_check(
    machine: StateMachine, checked: CheckedRules, source: str, plan: ConformPlan, sheet: SheetReport
) -> None:
    """Compares a machine with the interpreter on random matches."""
    interpreter = Interpreter(checked)
    check = CrossCheck(machine, interpreter, seed=plan.seed)
    begin, begin_wall = time.process_time(), time.perf_counter()

    def over() -> bool:
        return time.process_time() - begin > plan.seconds

    with interpreter.interruptible(over):
        while check.matches < plan.matches and not over():
            number, ply = check.matches, check.ply
            try:
                difference = check.step()
            except Interrupted:
                break
            if difference is not None:
                place = f"random match {number}, step {ply}"
                sheet.differ(place, difference.describe(checked.rules, place=lambda index: _line(source, index)))
    sheet.states, sheet.matches, sheet.cut = check.states, check.matches, check.matches < plan.matches
    spent = time.process_time() - begin
    if spent < MEASURABLE_SECONDS:
        spent = time.perf_counter() - begin_wall
    sheet.states_per_s = check.states / spent


def _line(source: str, statement: int) -> str:
    return f"line {position_of(source, span(source, (statement,))[0]).line}: "


@contextlib.contextmanager
def _bounded_cpu(seconds: int) -> Iterator[None]:
    """A context in which `LimitError` is raised after `seconds` of CPU time."""

    def exceeded(number: int, frame: FrameType | None) -> None:
        raise LimitError(f"set-up took more than {seconds} s of CPU time")

    before, handler = resource.getrlimit(resource.RLIMIT_CPU), signal.signal(signal.SIGXCPU, exceeded)
    soft, hard = int(time.process_time()) + seconds, before[1]
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, before)
        signal.signal(signal.SIGXCPU, handler)
