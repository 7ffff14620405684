"""Tries many random rulesheets, and says what they covered: `python -m tests.generated.run --seeds 0:1000`.

One line for each sheet that shows a difference, then that sheet shrunk, then a table. Each sheet is compiled as for a
match, too: one line for each error of this program there. Ends with status 1 if there were differences or errors;
Ctrl-C ends it early. Seeds are independent: `--jobs` and `--cluster` let ranges of them run side by side,
and a seed means the same sheet and matches everywhere.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from agent.commands.options import count
from agent.lab.commands.options import add_cluster_option, executor
from agent.lab.jobs.executor import JobDone, JobSession, Lost, Task
from agent.lab.jobs.inline import InlineExecutor
from agent.search.kernel_groups import CIRCUIT
from games.gdl.grounding.ground import VARIANTS
from protocol import kif
from tests.generated.agreement import MATCHES, Record, Watch, compare, compiled, record
from tests.generated.coverage import Coverage
from tests.generated.sheets import sheet
from tests.generated.shrink import shrunk
from tests.generated.variations import in_parentheses, varied

Sheet = tuple[Any, ...]

BATCH = 20
"""Sheets that a worker tries in a row."""


def trial(program: Sheet, seed: int, matches: int = MATCHES, watch: Watch | None = None) -> tuple[str | None, Record]:
    """What some way to play the program, or the program told otherwise, gets wrong (None: nothing); and its matches.

    Raises `ValueError` for a program that means nothing.
    """
    known = record(program, seed, matches)
    written = written_of(program, seed)
    found = compare(kif.read_rulesheet(text(written)), known, single=seed % 8 == 0, watch=watch)
    if found is None:
        same, renamed = varied(program, known, Random(seed))
        variants = [VARIANTS[seed % len(VARIANTS)]]
        found = compare(same, renamed, interpreter=seed % 4 == 0, variants=variants, eager=seed % 2 == 0)
        if found is not None:
            found = f"told otherwise, {found}"
    return found, known


def written_of(program: Sheet, seed: int) -> Sheet:
    """The program as somebody may write it: some of its constants in parentheses, everywhere or here and there."""
    rng = Random(seed)
    share: dict[str, float] = {}
    return in_parentheses(program, lambda name: rng.random() < share.setdefault(name, rng.choice((0, 0, 0.5, 1))))


def smallest(program: Sheet, seed: int) -> Sheet:
    """A smaller program that shows a difference as well."""
    first = trial(program, seed)[0] or ""

    def shows(candidate: Sheet) -> bool:
        try:
            found, _ = trial(candidate, seed, 4)
        except Exception:
            return False
        # A sheet that is refused shows nothing, unless it was refused at first.
        return found is not None and ("Error: " not in found or "Error: " in first)

    return shrunk(program, shows)


def text(program: Sheet) -> str:
    """The program as a rulesheet."""
    return "\n".join(map(kif.write, program))


@dataclass(frozen=True)
class Seeds:
    """A job: some sheets in a row."""

    begin: int
    end: int


@dataclass
class Found:
    """What came of some sheets."""

    programs: int = 0
    positions: int = 0
    moves: int = 0
    seconds: float = 0.0
    """CPU time."""
    differences: list[tuple[int, str]] = field(default_factory=list)
    """Seeds with what differs, and the sheet shrunk if that was wanted."""
    faults: list[str] = field(default_factory=list)
    """Seeds with what fails in compiling for another reason than size."""
    interpreted: int = 0
    """Sheets without a circuit."""
    coverage: Counter[str] = field(default_factory=Counter)

    def add(self, other: Found) -> None:
        """Counts what came of other sheets as well."""
        self.programs += other.programs
        self.positions += other.positions
        self.moves += other.moves
        self.seconds += other.seconds
        self.differences += other.differences
        self.faults += other.faults
        self.interpreted += other.interpreted
        self.coverage += other.coverage


def open_trials(matches: int, shrink: bool) -> Callable[[Seeds], Iterator[Found]]:
    """In a worker: what tries sheets."""
    # What is imported stays; looking through it again and again would take a twentieth of the time.
    gc.collect()
    gc.freeze()

    def try_all(seeds: Seeds) -> Iterator[Found]:
        coverage, found = Coverage(), Found()
        start = time.process_time()
        with coverage.watching_circuits():
            for seed in range(seeds.begin, seeds.end):
                program = sheet(Random(seed))
                coverage.begin()
                try:
                    difference, known = trial(program, seed, matches, coverage.watch)
                    coverage.played(known)
                    found.positions += len(known.positions)
                    found.moves += len(known.moves)
                    faults, has_circuit = compiled(program)
                    found.faults += [f"seed {seed}: {fault}" for fault in faults]
                    found.interpreted += not has_circuit
                except Exception as error:
                    difference = f"{type(error).__name__}: {error}"
                found.programs += 1
                if difference is not None:
                    lines = [f"seed {seed}: {difference[:1000]}"]
                    if shrink:
                        lines.append(text(smallest(program, seed)))
                    found.differences.append((seed, "\n".join(lines)))
        found.seconds = time.process_time() - start
        found.coverage = coverage.total()
        yield found

    return try_all


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.generated.run", description=__doc__)
    parser.add_argument("--seeds", default="0:1000", help="FIRST:END (default %(default)s)")
    parser.add_argument("--matches", type=int, default=MATCHES, help="random matches per program (default %(default)s)")
    parser.add_argument("--seconds", type=float, help="stop after so much CPU time")
    parser.add_argument("--stop", action="store_true", help="stop at the first difference")
    parser.add_argument("--no-shrink", action="store_true", help="leave differing sheets as they are, unprinted")
    parser.add_argument("--jobs", type=count, help="processes (default: 1, or what a cluster can)")
    add_cluster_option(parser, "try sheets")
    options = parser.parse_args(arguments)
    begin, end = map(int, options.seeds.split(":"))
    alone = options.cluster is None and (options.jobs or 1) == 1
    # One by one where it may stop soon.
    size = 1 if alone else BATCH
    tasks = [Task(Seeds(first, min(first + size, end))) for first in range(begin, end, size)]
    session = JobSession(partial(open_trials, options.matches, not options.no_shrink), kernels=(CIRCUIT,))
    total, lost = Found(), 0
    with (
        InlineExecutor() if alone else executor(options, options.jobs, 1) as workers,
        contextlib.closing(workers.run(session, tasks, partial(print, flush=True))) as events,
        contextlib.suppress(KeyboardInterrupt),
    ):
        for event in events:
            if isinstance(event, Lost):
                seeds = tasks[event.number].job
                lost += seeds.end - seeds.begin
                print(f"seeds {seeds.begin}:{seeds.end} have ended their worker twice ({event.reason})", flush=True)
            elif isinstance(event, JobDone):
                total.add(event.result)
                for lines in (*[lines for _, lines in event.result.differences], *event.result.faults):
                    print(lines, flush=True)
                if options.stop and (total.differences or total.faults):
                    break
                if options.seconds and total.seconds > options.seconds:
                    break
    print(Coverage.table(total.coverage, total.programs))
    print(
        f"seeds {begin}:{begin + total.programs}: {total.programs} programs, {options.matches} matches each, "
        f"{total.positions} positions, {total.moves} joint moves, {len(total.differences)} differences, "
        f"{total.interpreted} without a circuit, {len(total.faults)} errors in compiling, {total.seconds:.0f} s CPU"
    )
    return 1 if total.differences or total.faults or lost else 0


if __name__ == "__main__":
    # By its own name: workers on other machines do not know what this process calls `__main__`.
    from tests.generated import run

    sys.exit(run.main())
