"""Compilation of kernels with its progress on a console."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from agent.console import is_quiet, shows_progress
from agent.kernels.keeper import KernelKeeper, KernelReport
from games import kernel_cache

STEP_SECONDS = 0.1
"""Seconds between two steps of the keeper."""


def prepare(names: Collection[str], beside: Collection[str] = ()) -> KernelKeeper:
    """Waits until the groups are in the kernel cache, or have failed. Without a cache, there is nothing to wait for.

    Meanwhile the groups `beside` are compiled on free cores. The returned keeper may still be compiling them, and must
    be closed. Progress goes to standard error: a bar on a terminal, else a line at the beginning and one at the end.
    """
    if kernel_cache.notice:
        _say(kernel_cache.notice)
    keeper = KernelKeeper({*names, *beside} if kernel_cache.is_kept() else ())
    if _settled(keeper, names):
        return keeper
    console = Console(stderr=True)
    begin = time.monotonic()
    try:
        if shows_progress():
            _show_bar(keeper, names, console)
        else:
            _say(f"compiling kernels ({', '.join(names)}), once per installation ...")
            while not _settled(keeper, names):
                keeper.step()
                time.sleep(STEP_SECONDS)
    except BaseException:
        keeper.close()
        raise
    for name, reason in keeper.failed.items():
        print(f"kernels for {name} are not compiled ahead: {reason}", file=sys.stderr)
    _say(f"kernels compiled in {time.monotonic() - begin:.0f} s")
    return keeper


def describe(report: KernelReport) -> str:
    """Returns the progress in a few words: share done, time left, and the kernel finished last."""
    left = "" if report.seconds_left is None else f"about {report.seconds_left:.0f} s left"
    return ", ".join(filter(None, (f"{100 * report.fraction:.0f} % compiled", left, report.latest)))


def _say(text: str) -> None:
    if not is_quiet():
        print(text, file=sys.stderr, flush=True)


def _show_bar(keeper: KernelKeeper, names: Collection[str], console: Console) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("compiling kernels, once per installation", total=1.0, text="")
        while not _settled(keeper, names):
            keeper.step()
            report = keeper.report(names)
            bar.update(task, completed=report.fraction, text=describe(report))
            time.sleep(STEP_SECONDS)


def _settled(keeper: KernelKeeper, names: Collection[str]) -> bool:
    return keeper.finished or all(name in keeper.ready or name in keeper.failed for name in names)
