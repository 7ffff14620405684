"""Tries many random rulesheets, and says what they covered: `python -m tests.generated.run --seeds 0:1000`.

One line for each sheet that shows a difference, then that sheet shrunk, then a table. Ends with status 1 if there were
differences; Ctrl-C ends it early. Seeds are independent: ranges may run side by side, and a seed means the same sheet
and matches everywhere.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from random import Random
from typing import Any

from games.gdl.grounding.ground import VARIANTS
from protocol import kif
from tests.generated.agreement import MATCHES, Record, Watch, compare, record
from tests.generated.coverage import Coverage
from tests.generated.sheets import sheet
from tests.generated.shrink import shrunk
from tests.generated.variations import varied

Sheet = tuple[Any, ...]


def trial(program: Sheet, seed: int, matches: int = MATCHES, watch: Watch | None = None) -> tuple[str | None, Record]:
    """What some way to play the program, or the program told otherwise, gets wrong (None: nothing); and its matches.

    Raises `ValueError` for a program that means nothing.
    """
    known = record(program, seed, matches)
    found = compare(program, known, single=seed % 8 == 0, watch=watch)
    if found is None:
        same, renamed = varied(program, known, Random(seed))
        variants = [VARIANTS[seed % len(VARIANTS)]]
        found = compare(same, renamed, interpreter=seed % 4 == 0, variants=variants, eager=seed % 2 == 0)
        if found is not None:
            found = f"told otherwise, {found}"
    return found, known


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


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.generated.run", description=__doc__)
    parser.add_argument("--seeds", default="0:1000", help="FIRST:END (default %(default)s)")
    parser.add_argument("--matches", type=int, default=MATCHES, help="random matches per program (default %(default)s)")
    parser.add_argument("--seconds", type=float, help="stop after so much CPU time")
    parser.add_argument("--stop", action="store_true", help="stop at the first difference")
    parser.add_argument("--no-shrink", action="store_true", help="leave differing sheets as they are, unprinted")
    options = parser.parse_args(arguments)
    begin, end = map(int, options.seeds.split(":"))
    coverage = Coverage()
    programs = differences = positions = moves = 0
    start = time.process_time()
    # What is imported stays; looking through it again and again would take a twentieth of the time.
    gc.collect()
    gc.freeze()
    with coverage.watching_circuits():
        for seed in range(begin, end):
            program = sheet(Random(seed))
            coverage.begin(program)
            try:
                found, known = trial(program, seed, options.matches, coverage.watch)
                coverage.played(known)
                positions += len(known.positions)
                moves += len(known.moves)
            except KeyboardInterrupt:
                break
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
            programs += 1
            if found is not None:
                differences += 1
                print(f"seed {seed}, program {programs}: {found[:1000]}", flush=True)
                if not options.no_shrink:
                    print(text(smallest(program, seed)), flush=True)
                if options.stop:
                    break
            if options.seconds and time.process_time() - start > options.seconds:
                break
    spent = time.process_time() - start
    print(coverage.table(programs))
    print(
        f"seeds {begin}:{begin + programs}: {programs} programs, {options.matches} matches each, "
        f"{positions} positions, {moves} joint moves, {differences} differences, {spent:.0f} s CPU"
    )
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
