"""Feeds mutated messages to what reads them: `python -m tests.fuzz.run --layer messages --inputs 1000000`.

One line for each input that does what must not be (shown so that Python reads it), then how many inputs there were a
second, what became of them, and which took longest. Ends with status 1 if there were faults; Ctrl-C ends it early. A
seed means the same inputs everywhere.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import logging
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from agent import bounded_json
from protocol import infix, kif
from tests.fuzz.checks import (
    Log,
    check_journal,
    check_log,
    check_memory,
    check_message,
    check_record,
    check_sheet,
    check_terms,
)
from tests.fuzz.inputs import JsonMutator, Mutator, composed, entries, journals, logs, records, requests, sheets
from tests.fuzz.wire import check_request, served

FILES = {
    "journal": (journals, check_journal),
    "records": (records, check_record),
    "memory": (entries, check_memory),
    "logs": (logs, check_log),
}
"""Kinds of files: those to begin with, and what reads one."""

LAYERS = ("messages", "terms", "sheets", *FILES, "http")

AGAIN = 3
"""Times that what took longest until then is measured again."""

AT_ONCE = 32
"""Requests under way."""

MOST_READ = 12
"""Characters that readers may look at for each byte of a file, at most: how often they begin again."""

SLOW = 0.1
"""Seconds of CPU time that no input may take where the server reads it. Rulesheets are checked in workers."""


@dataclass
class Report:
    """What became of the inputs."""

    beside: bool = False
    """Whether it is not the server that reads the inputs."""
    inputs: int = 0
    bytes: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0
    """CPU seconds, of the input below."""
    slowest_input: bytes = b""
    slowest_per_kilobyte: float = 0.0
    """CPU seconds for 1024 bytes, of the input below."""
    slowest_for_its_size: bytes = b""
    most_read: float = 0.0
    """Characters looked at for each byte, of the input below."""
    most_read_input: bytes = b""

    def add(self, text: bytes, check: Callable[[bytes], str]) -> None:
        """Checks an input."""
        self.inputs += 1
        self.bytes += len(text)
        kilobytes = max(1, len(text)) / 1024
        READ.characters = 0
        begin = time.thread_time()
        try:
            self.outcomes[check(text)] += 1
        except Exception as error:
            self.fault(text, f"{type(error).__name__}: {error}")
        seconds, read = time.thread_time() - begin, READ.characters / max(100, len(text))
        for _ in range(AGAIN):
            if seconds <= self.slowest and seconds / kilobytes <= self.slowest_per_kilobyte and seconds <= SLOW:
                break
            # On a busy machine, once may be an accident.
            begin = time.thread_time()
            with contextlib.suppress(Exception):
                check(text)
            seconds = min(seconds, time.thread_time() - begin)
        if seconds > SLOW and not self.beside:
            self.fault(text, f"takes {seconds:.3f} s")
        if read > MOST_READ:
            self.fault(text, f"{read:.0f} characters are read for each byte")
        if seconds > self.slowest:
            self.slowest, self.slowest_input = seconds, text
        if seconds / kilobytes > self.slowest_per_kilobyte and len(text) >= 100:
            self.slowest_per_kilobyte, self.slowest_for_its_size = seconds / kilobytes, text
        if read > self.most_read:
            self.most_read, self.most_read_input = read, text

    def fault(self, text: bytes, what: str) -> None:
        """Notes an input that does what must not be."""
        self.outcomes["fault"] += 1
        if len(self.faults) < 20:
            self.faults.append(what)
            print(f"input {self.inputs}: {what[:1000]}\n{text!r}", flush=True)

    def show(self, seconds: float) -> None:
        """Prints the figures."""
        print(f"{self.inputs} inputs, {self.bytes} bytes, {seconds:.0f} s CPU, {self.inputs / seconds:.0f} inputs/s")
        print(", ".join(f"{name} {count}" for name, count in self.outcomes.most_common()))
        print(f"slowest: {1000 * self.slowest:.1f} ms CPU, {len(self.slowest_input)} bytes")
        if self.slowest > SLOW / 4:
            print(repr(self.slowest_input[:200]))
        print(f"slowest for its size: {1000 * self.slowest_per_kilobyte:.2f} ms CPU per KiB")
        print(f"{self.slowest_for_its_size[:200]!r}")
        print(f"read most often: {self.most_read:.1f} characters for each byte")
        print(f"{self.most_read_input[:200]!r}")


class Reading:
    """Counts the characters that readers of JSON and of terms are given."""

    def __init__(self) -> None:
        self.characters = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Counts them within the context."""
        decode, loads = kif.decode, bounded_json.loads

        def counting_decode(text: str | bytes) -> str:
            self.characters += len(text)
            return decode(text)

        def counting_loads(text: str) -> Any:
            self.characters += len(text)
            return loads(text)

        with ExitStack() as patches:
            for module in (kif, infix):
                patches.enter_context(patch.object(module, "decode", counting_decode))
            patches.enter_context(patch.object(bounded_json, "loads", counting_loads))
            yield


READ = Reading()


def run(layer: str, inputs: int, seed: int, seconds: float | None = None) -> Report:
    """Feeds so many inputs, for so much CPU time at most, to a layer."""
    report, log = Report(beside=layer == "sheets"), Log()
    begin = time.process_time()

    def over() -> bool:
        return report.inputs >= inputs or (seconds is not None and time.process_time() - begin > seconds)

    gc.collect()
    gc.freeze()
    # No other handler: pytest reports what is logged, and cannot where it is half a character.
    with patch.object(logging.getLogger(), "handlers", [log]), contextlib.suppress(KeyboardInterrupt):
        if layer == "http":
            asyncio.run(_send(Mutator(requests(), Random(seed)), over, report))
        else:
            with tempfile.TemporaryDirectory() as folder:
                mutator, check = _layer(layer, Random(seed), Path(folder))
                with READ.counted():
                    while not over():
                        report.add(mutator.draw(), check)
    gc.unfreeze()
    for wrong in log.wrong[:20]:
        report.fault(b"", f"in the log: {wrong}")
    return report


def _layer(name: str, rng: Random, folder: Path) -> tuple[Mutator, Callable[[bytes], str]]:
    bodies = [request.partition(b"\r\n\r\n")[2] for request in requests()]
    if name == "messages":
        return Mutator([*(body for body in bodies if body), *composed(300), *composed(3000)[::7]], rng), check_message
    if name == "terms":
        return Mutator(sheets(500), rng), check_terms
    if name == "sheets":
        return Mutator([body for body in composed(2000) if body.lower().lstrip(b"( ").startswith(b"start")], rng), (
            check_sheet
        )
    seeds, check = FILES[name]
    return JsonMutator(seeds(), rng), partial(check, folder)


async def _send(mutator: Mutator, over: Callable[[], bool], report: Report) -> None:
    async with served() as port:

        async def client() -> None:
            while not over():
                request = mutator.draw_request()
                report.inputs += 1
                report.bytes += len(request)
                try:
                    report.outcomes[await check_request(port, request)] += 1
                except Exception as error:
                    report.fault(request, f"{type(error).__name__}: {error}")

        await asyncio.gather(*(client() for _ in range(AT_ONCE)))


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description=__doc__)
    parser.add_argument(
        "--layer", choices=LAYERS, default=LAYERS[0], help="what reads the inputs (default %(default)s)"
    )
    parser.add_argument("--inputs", type=int, default=100_000, metavar="N", help="at most (default %(default)s)")
    parser.add_argument("--seconds", type=float, metavar="S", help="of CPU time, at most")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="(default %(default)s)")
    options = parser.parse_args(arguments)
    logging.getLogger().addHandler(logging.NullHandler())
    begin = time.process_time()
    report = run(options.layer, options.inputs, options.seed, options.seconds)
    print(f"layer {options.layer}, seed {options.seed}, {len(report.faults)} faults")
    report.show(time.process_time() - begin)
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
