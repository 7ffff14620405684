"""`ggp-agent validate`: errors and oddities of rulesheets, from their text and from random matches.

A game should end, give every role a move until it does, and every role one goal then (Genesereth, Love, Pell: General
Game Playing, 2005: well-formed games). Rules alone do not tell; random matches show a part of it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from agent.errors import InputError
from agent.sheet import SUFFIXES, Remark, Sheet, examine, find
from games.child_process import Bounds, ChildLostError, ChildProcess
from games.gdl.interpreter.machine import Interpreter
from games.machine import GameError, LimitError
from protocol.kif import write

MOST_STEPS = 1000
"""A longer random match counts as endless. Real games have up to some 300 steps."""

SHEET_SECONDS = 60
"""CPU seconds for a sheet."""

MATCH_SECONDS = 20.0
"""Seconds of these for random matches."""

MEMORY_BYTES = 4 << 30
"""Address space for a sheet."""


@dataclass(frozen=True)
class SheetVerdict:
    """Findings on one sheet."""

    file: Path
    roles: tuple[str, ...]
    """Empty for a sheet with errors."""
    matches: int
    """Random matches played to the end."""
    remarks: tuple[Remark, ...]

    def count(self, severity: str) -> int:
        """Number of remarks of a severity."""
        return sum(remark.severity == severity for remark in self.remarks)

    def as_json(self) -> dict[str, object]:
        """As data; `line` and `column` count from 1, and are None for remarks about the sheet as a whole."""
        return {
            "file": str(self.file),
            "roles": list(self.roles),
            "matches": self.matches,
            "remarks": [
                {
                    "severity": remark.severity,
                    "message": remark.message,
                    "line": remark.position and remark.position.line,
                    "column": remark.position and remark.position.column,
                }
                for remark in self.remarks
            ],
        }


def sheets_in(targets: Sequence[str]) -> list[Path]:
    """The rulesheets of files, names of own rulesheets and folders. Raises `InputError` where there are none."""
    files: list[Path] = []
    for target in targets:
        path = find(target)
        found = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES) if path.is_dir() else [path]
        if not found:
            raise InputError(
                f"{target}: no rulesheets in this folder ({', '.join(f'*{suffix}' for suffix in SUFFIXES)})"
            )
        files += found
    return list(dict.fromkeys(files))


def validate(
    files: Sequence[Path], matches: int, seed: int, tell: Callable[[SheetVerdict], None] = lambda verdict: None
) -> list[SheetVerdict]:
    """Checks each sheet; `tell` hears of each verdict at once.

    Each has a process with bounded time and memory: one that explodes costs one error. Raises `InputError` for a file
    that cannot be read.
    """
    verdicts = []
    for file in files:
        child = ChildProcess(
            _work, file, matches, seed, bounds=Bounds(cpu_seconds=SHEET_SECONDS, memory_bytes=MEMORY_BYTES)
        )
        try:
            verdict = child.receive()
        except (LimitError, ChildLostError) as error:
            remark = _about_all(file, "error", f"cannot be checked within bounds: {error}")
            verdict = SheetVerdict(file, (), 0, (remark,))
        finally:
            child.end()
        tell(verdict)
        verdicts.append(verdict)
    return verdicts


def _work(pipe: Connection, file: Path, matches: int, seed: int) -> SheetVerdict:
    sheet, remarks = examine(file)
    if sheet is None:
        return SheetVerdict(file, (), 0, tuple(remarks))
    played = 0
    if matches:
        try:
            played, found = _play(sheet, matches, seed)
            remarks += found
        except GameError as error:
            remarks.append(_about_all(file, "error", f"cannot be played: {error}"))
    return SheetVerdict(file, tuple(map(write, sheet.roles)), played, tuple(remarks))


def _play(sheet: Sheet, matches: int, seed: int) -> tuple[int, list[Remark]]:
    """Random matches by the interpreter: the number played to the end, and the remarks, each once."""
    machine = Interpreter(sheet.checked)
    generator = random.Random(seed)
    deadline = time.monotonic() + MATCH_SECONDS
    found: dict[str, Remark] = {}
    roles = range(len(machine.roles))
    named = {rule.head[2] for rule in sheet.checked.rules if rule.head[0] == "goal"}
    played = 0

    def remark(kind: str, severity: str, message: str) -> None:
        found.setdefault(kind, _about_all(sheet.path, severity, message))

    for number in range(1, matches + 1):
        state = machine.initial()
        for step in range(MOST_STEPS + 1):
            if machine.terminal(state) or time.monotonic() > deadline:
                break
            legal = [machine.legal(state, role) for role in roles]
            stuck = next((role for role, moves in enumerate(legal) if not moves), None)
            if stuck is not None:
                message = f"{write(machine.roles[stuck])} has no legal move after step {step}, before the end"
                remark("stuck", "error", f"random match {number}: {message}")
                break
            state = machine.next(state, [generator.choice(moves) for moves in legal])
        else:
            remark("endless", "warning", f"random match {number} is not over after {MOST_STEPS} steps")
        if not machine.terminal(state):
            continue
        played += 1
        for role in roles:
            values, name = machine.goal_values(state, role), write(machine.roles[role])
            if not values:
                message = f"{name} has no goal value at the end"
                remark(f"goal {role}", "error", f"random match {number}: {message}")
                continue
            if len(values) > 1:
                listed = " and ".join(map(str, values))
                message = f"{name} has several goal values at the end, {listed}: it gets the greatest"
                remark(f"goals {role}", "warning", f"random match {number}: {message}")
            if not 0 <= values[-1] <= 100 and str(values[-1]) not in named:
                message = f"{name} gets {values[-1]}, which is not from 0 to 100, as goals should be"
                remark("range", "warning", f"random match {number}: {message}")
    if played < matches and not found:
        remark("slow", "warning", f"only {played} of {matches} random matches ended within {MATCH_SECONDS:g} s")
    return played, list(found.values())


def _about_all(file: Path, severity: str, message: str) -> Remark:
    return Remark("error" if severity == "error" else "warning", message, None, f"{file}: {severity}: {message}")
