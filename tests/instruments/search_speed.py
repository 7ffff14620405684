"""Playouts per second of the tree search, beside raw ones, on one core and on two."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

from agent.checking.playouts import circuit_speed
from agent.search.engine import UNLIMITED
from agent.search.tree.engine import TreeSearch
from agent.sheet import Sheet, load
from games import rulesheets
from games.gdl.compile import compile_rules
from games.machine import GameError

EARLY, LATE = 2.0, 20.0
"""Seconds of thinking after which the speed is measured: since the beginning, and when the tree is large."""
WINDOW = 2.0
"""Length of the late measurement, in seconds."""


@dataclass(frozen=True)
class SearchSpeedRow:
    """One game; only game and error where it has no circuit.

    Raw playouts are per CPU second of one core, those of the search per second of the clock: nothing else should be
    running. Two cores are two threads on one tree.
    """

    game: str
    raw_playouts_per_s: float | None = None
    search_playouts_per_s: float | None = None
    """Over the first 2 s of thinking about the initial position, without a learnt evaluation."""
    search_playouts_per_s_late: float | None = None
    """From 18 s to 20 s."""
    search_playouts_per_s_two_cores: float | None = None
    search_playouts_per_s_two_cores_late: float | None = None
    solved: bool = False
    """Whether the search ended early with a proof; figures are those until then."""
    error: str | None = None


def bench_search(files: Sequence[str], seconds: float) -> dict[str, object]:
    """Measures raw playouts for `seconds` of CPU time and the tree search for 20 s, on each sheet; prints a table.

    `files` are rulesheet files or names of own rulesheets; none means all own ones. Returns the table as JSON data.
    Raises `InputError` for a sheet that cannot be read; the table says why one cannot be played.
    """
    cores = len(os.sched_getaffinity(0))
    print("playouts/s; in the tree over the first 2 s of a search, and from 18 s to 20 s", flush=True)
    print(
        f"{'game':24} {'raw':>11} {'tree':>11} {'late':>11} {'two cores':>11} {'late':>11}  of raw  two/one", flush=True
    )
    rows = []
    for game in list(files) or rulesheets.names():
        row = _row(load(game), seconds, cores >= 2)
        _print(row)
        rows.append(row)
    return {"seconds": seconds, "cores": cores, "rows": [asdict(row) for row in rows]}


def _row(sheet: Sheet, seconds: float, two_cores: bool) -> SearchSpeedRow:
    try:
        machine = compile_rules(sheet.checked).searched
    except GameError as error:
        return SearchSpeedRow(sheet.name, error=str(error))
    raw = circuit_speed(machine, seconds).playouts_per_s
    engine = TreeSearch(machine, 0, threads=1, seed=1)
    early, late, solved = _speeds(engine)
    both: tuple[float | None, float | None] = (None, None)
    if two_cores:
        early_both, late_both, _ = _speeds(TreeSearch(machine, 0, threads=2, seed=1))
        both = (early_both, late_both)
    return SearchSpeedRow(sheet.name, raw, early, late, *both, solved=solved)


def _speeds(engine: TreeSearch) -> tuple[float, float, bool]:
    """Returns playouts per second, early and late, and whether the search ended by itself."""
    engine.begin(engine.machine.initial())
    stop = np.zeros(1, np.uint8)
    thread = threading.Thread(target=engine.think, args=(stop, lambda opinion: None, UNLIMITED))
    samples = [(0.0, 0)]
    begin = time.monotonic()
    thread.start()
    for at in (EARLY, LATE - WINDOW, LATE):
        thread.join(max(0.0, begin + at - time.monotonic()))
        samples.append((time.monotonic() - begin, engine.playouts))
        if not thread.is_alive():
            break
    solved = not thread.is_alive()
    stop[0] = 1
    thread.join()
    rates = [(after[1] - before[1]) / max(after[0] - before[0], 1e-3) for before, after in pairwise(samples)]
    return rates[0], rates[-1], solved


def _print(row: SearchSpeedRow) -> None:
    if row.error is not None:
        print(f"{row.game:24} {row.error}", flush=True)
        return
    assert row.raw_playouts_per_s is not None
    assert row.search_playouts_per_s is not None
    figures = (
        row.raw_playouts_per_s,
        row.search_playouts_per_s,
        row.search_playouts_per_s_late,
        row.search_playouts_per_s_two_cores,
        row.search_playouts_per_s_two_cores_late,
    )
    text = " ".join(f"{'-' if figure is None else format(figure, ',.0f'):>11}" for figure in figures)
    share = 100 * row.search_playouts_per_s / max(row.raw_playouts_per_s, 1e-9)
    one, both = row.search_playouts_per_s, row.search_playouts_per_s_two_cores
    # A game that is solved at once leaves nothing to compare.
    gain = f"{both / one:8.2f}" if both and one else f"{'-':>8}"
    print(f"{row.game:24} {text}  {share:4.0f} %{gain}{'  solved' if row.solved else ''}", flush=True)
