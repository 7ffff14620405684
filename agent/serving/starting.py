"""Starts processes of matches, each with its share of the memory.

After a crash, each match of the journal waits for a reference. It is started before the server imports anything else,
so this module imports little.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from pathlib import Path
from typing import Final, Literal, TypeAlias

from games.child_process import Bounds, ChildProcess
from games.memory import machine_memory, memory_bound

log = logging.getLogger(__name__)

Kind: TypeAlias = Literal["reference", "search"]

REFERENCE: Final = "reference"
"""The process that knows the state of a match."""

SEARCH: Final = "search"
"""The process that thinks."""

PLAY = "agent.playing.main:play"
"""Work of both processes, by its name: nothing is imported here."""

SPARES = 1
"""Spare processes of each kind, beside those of the matches."""

PROCESSES_SHARE = 0.8
"""The processes' share of the memory; the rest is for the server, the page, and kernels being compiled."""

SHARE_OF: dict[Kind, float] = {REFERENCE: 1 / 8, SEARCH: 1 / 2}
"""Share of a match's memory by kind of process. The rest is for the search's children, which compile the rules."""

NICENESS = 1
"""Niceness of these processes: the server, which only runs for moments, goes first."""

MIN_MEMORY = 2 << 30
"""Least bytes for a match: tables and groundings of large games fit."""

JOURNAL_SUFFIX = ".match.jsonl"
"""File name suffix of the journal's files."""


def memory_share(matches: int) -> int:
    """Returns the bytes for the processes of each match, with their children; the spares take as much as a match."""
    found = machine_memory()
    own = min(found, memory_bound() or found)
    # Who has a part of the machine gives less.
    least = MIN_MEMORY if own == found else MIN_MEMORY // 2
    return max(least, int(own * PROCESSES_SHARE) // (matches + SPARES))


def too_little_memory(matches: int) -> str:
    """Returns a line for the user where the least shares exceed the memory; else the empty text."""
    wanted, found = MIN_MEMORY * (matches + SPARES) / PROCESSES_SHARE, machine_memory()
    if found >= wanted:
        return ""
    return (
        f"{matches} matches at a time may need {wanted / 1e9:.0f} GB of memory, and {found / 1e9:.1f} GB are there: "
        "where it runs out, the kernel ends processes of matches, not the server"
    )


def start_early(journal: Path | None, matches: int) -> list[ChildProcess]:
    """Starts references for matches of the journal, as many as cores; fewer if one cannot be started."""
    started: list[ChildProcess] = []
    found = [] if journal is None else list(journal.glob(f"*{JOURNAL_SUFFIX}"))
    try:
        for _ in found[: min(matches + SPARES, len(os.sched_getaffinity(0)))]:
            started.append(start_process(REFERENCE, memory_share(matches)))
    except OSError as error:
        log.error("a process cannot be started: %s", error)
    return started


def start_process(kind: Kind, memory: int, without: Collection[str] = ()) -> ChildProcess:
    """Starts a process of a match that has `memory` bytes in all; it lacks some groups of kernels. Raises `OSError`."""
    share, bounds = int(SHARE_OF[kind] * memory), Bounds(niceness=NICENESS)
    return ChildProcess(PLAY, kind, share, without, method="spawn", bounds=bounds)
