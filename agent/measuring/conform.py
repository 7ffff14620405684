"""`ggp-agent conform`: replays reference traces on our machines and reports every difference.

A trace (`traces/<game>.json.gz` beside `<game>.kif`) holds matches played by another reasoner. In each of its states
the legal moves of all roles, the end, and the facts of the following state have to be the same, and the goals where a
match was played to its end. Each sheet is checked in a child process of its own with bounded memory and set-up time,
so that one that explodes costs one row of the table.
"""

from __future__ import annotations

import gzip
import json
import resource
import signal
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

from agent.errors import InputError
from agent.measuring.conformity import CIRCUIT, HEADER, INTERPRETER, Conformity, SheetReport, summary, table_lines
from agent.measuring.trace_replay import Trace, replay
from games.child_process import Bounds, ChildLostError, ChildProcess, cpu_seconds
from games.gdl.interpreter.machine import Interpreter
from games.gdl.rules.check import CheckedRules, check
from games.machine import GameError, LimitError, StateMachine
from protocol import kif
from protocol.terms import decode

SETUP_CPU_SECONDS = 60
"""CPU time for reading, checking and compiling a sheet, in any one process."""

MEMORY_BYTES = 8 << 30
"""Address space of a sheet's processes."""

REPLAY_SECONDS = 120.0
"""CPU time for replaying a trace; if it is not enough, the states checked are spread evenly over the trace. These
bounds are set by hand; not tuned."""

SHEET_SECONDS = 600.0
"""Wall time after which a sheet's process is ended."""

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
    report(HEADER)
    sheets = []
    for game in chosen:
        sheet = _check_in_child(directory, game, compile_machine, replay_seconds)
        sheets.append(sheet)
        for line in table_lines(sheet):
            report(line)
    result = Conformity(sheets)
    report(summary(result))
    return result


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
    child = ChildProcess(
        _report_on,
        directory,
        game,
        compile_machine,
        replay_seconds,
        bounds=Bounds(memory_bytes=MEMORY_BYTES),
        may_have_children=True,
    )
    try:
        report: SheetReport = child.receive(SHEET_SECONDS)
    except (ChildLostError, LimitError):
        return None
    except Exception:
        traceback.print_exc()
        return None
    finally:
        child.end()
    return report


def _report_on(
    pipe: Connection, directory: Path, game: str, compile_machine: MakeMachine | None, replay_seconds: float
) -> SheetReport:
    sheet = SheetReport(game)
    try:
        check_sheet(directory, sheet, compile_machine, replay_seconds)
    except (GameError, ValueError, OSError, MemoryError) as error:
        sheet.error = f"{type(error).__name__}: {error}"
    peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    sheet.peak_mb = max(peaks) / 1024
    return sheet


def check_sheet(
    directory: Path, sheet: SheetReport, compile_machine: MakeMachine | None, replay_seconds: float
) -> None:
    """Sets a machine up and replays the trace on it, in this process; fills in the report."""
    begin = cpu_seconds()
    with _CpuBound(SETUP_CPU_SECONDS):
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
    sheet.setup_cpu_seconds = cpu_seconds() - begin
    with gzip.open(directory / "traces" / f"{sheet.game}.json.gz") as file:
        trace: Trace = json.load(file)
    replay(machine, trace, replay_seconds, sheet)


class _CpuBound:
    """Within, the process may use `seconds` of CPU time; then `LimitError` is raised."""

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
