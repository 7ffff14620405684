"""Random playouts per CPU second of circuit and interpreter, and the CPU time of setting up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

from agent.checking.playouts import Speed, circuit_speed, machine_speed
from agent.checking.timing import timed
from agent.sheet import Sheet, load
from games import rulesheets
from games.gdl.compile import compile_rules, warm_kernels
from games.gdl.interpreter.machine import Interpreter
from games.machine import GameError

_Measure: TypeAlias = Callable[[Sheet, float], tuple[float, Speed, bool]]
"""Measures a sheet for some seconds: CPU seconds of setting up, the speed, and whether it is that of a lean game."""


@dataclass(frozen=True)
class BenchRow:
    """One engine on one game; only game, engine and error where it cannot play it."""

    game: str
    engine: str
    setup_cpu_seconds: float | None = None
    """From the rulesheet's text to a machine that can play, child processes included."""
    playouts_per_s: float | None = None
    transitions_per_s: float | None = None
    lean: bool = False
    """Whether the playouts are those of the lean game, which searches use."""
    error: str | None = None


def bench(files: Sequence[str], seconds: float) -> dict[str, object]:
    """Measures circuit and interpreter for `seconds` of CPU time each on each sheet, printing a table.

    `files` are rulesheet files or names of own rulesheets; none means all own ones. Returns the table as JSON data.
    Raises `InputError` for a sheet that cannot be read; the table says why one cannot be played.
    """
    games = list(files) or rulesheets.names()
    _, warm_up = timed(warm_kernels)
    print(f"kernels loaded (or compiled) in {warm_up:.2f} s CPU", flush=True)
    print(f"{'game':24} {'engine':12} {'set-up s':>9} {'playouts/s':>12} {'transitions/s':>14}", flush=True)
    rows = []
    for game in games:
        for engine, measure in (("circuit", _measure_circuit), ("interpreter", _measure_interpreter)):
            rows.append(_row(game, engine, measure, seconds))
            _print(rows[-1])
    return {"kernel_warm_up_cpu_seconds": round(warm_up, 3), "seconds": seconds, "rows": [asdict(row) for row in rows]}


def _row(game: str, engine: str, measure: _Measure, seconds: float) -> BenchRow:
    # Reading and checking the sheet is part of setting it up.
    sheet, reading = timed(lambda: load(game))
    try:
        setup, speed, lean = measure(sheet, seconds)
    except GameError as error:
        return BenchRow(sheet.name, engine, error=str(error))
    return BenchRow(
        sheet.name,
        engine,
        setup_cpu_seconds=round(reading + setup, 4),
        playouts_per_s=round(speed.playouts_per_s, 2),
        transitions_per_s=round(speed.transitions_per_s, 2),
        lean=lean,
    )


def _measure_circuit(sheet: Sheet, seconds: float) -> tuple[float, Speed, bool]:
    machine, setup = timed(lambda: compile_rules(sheet.checked))
    return setup, circuit_speed(machine, seconds), machine.lean is not None


def _measure_interpreter(sheet: Sheet, seconds: float) -> tuple[float, Speed, bool]:
    machine, setup = timed(lambda: Interpreter(sheet.checked))
    return setup, machine_speed(machine, seconds), False


def _print(row: BenchRow) -> None:
    start = f"{row.game:24} {'lean ' * row.lean + row.engine:12}"
    if row.error is not None:
        print(f"{start} {row.error}", flush=True)
    else:
        print(
            f"{start} {row.setup_cpu_seconds:9.3f} {row.playouts_per_s:12,.0f} {row.transitions_per_s:14,.0f}",
            flush=True,
        )
