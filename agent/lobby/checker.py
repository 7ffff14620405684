"""Rulesheets checked, and their first positions drawn, in processes with bounds.

A process that has everything loaded forks one for each sheet, which takes some hundredths of a second. They run side by
side: no sheet waits for a heavier one.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import pickle
import time
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from agent.errors import first_line
from games.child_process import AsyncEnd, Bounds, ChildProcess
from games.machine import LimitError
from games.memory import memory_part

SHEET_BOUNDS = Bounds(cpu_seconds=10, memory_bytes=memory_part(1 << 30, 1 / 16), niceness=5)
"""Bounds for one sheet: real ones take some hundredths of a second."""

WAIT_SECONDS = 20.0
"""Seconds after which a check is given up, where the machine is too busy to use up its bounds."""

ANSWER_SECONDS = 30.0
"""Seconds after which the checking process itself is given up."""

MOST_ANSWER = 4 << 20
"""Longest answer about a sheet, in bytes."""

MOST_UNREAD = 100
"""Most sheets that the checking process has not read."""

_NOTHING = {"roles": None, "hidden": None, "picture": None}
"""The answer about a sheet with errors, but for its diagnostics."""


class Checker:
    """Checks sheets, as many at once as are asked for."""

    def __init__(self, bounds: Bounds = SHEET_BOUNDS) -> None:
        """`bounds` are those of each check."""
        self._bounds = bounds
        self._process: _CheckingProcess | None = None

    async def check(self, text: str) -> dict[str, Any]:
        """Returns the `diagnostics` of a sheet (`line`, `column`, None for the sheet as a whole, `severity`, `message`,
        `excerpt`), its `roles` that need players, whether facts are `hidden` from players, and its first position as a
        `picture`, see `Pictures.draw`, with the choices of all roles; these are None for a sheet with errors."""
        if self._process is not None and self._process.lost:
            await self.close()
        if self._process is None:
            try:
                self._process = _CheckingProcess(self._bounds)
            except OSError as error:
                return _refused(f"cannot be checked: {error}")
        process = self._process
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await process.check(text)
        except TimeoutError:
            answer = None
        if answer is not None:
            return answer
        if process is self._process:
            await self.close()
        return _refused("cannot be checked: the process that checks has ended")

    async def close(self) -> None:
        """Ends the process."""
        process, self._process = self._process, None
        if process is not None:
            await process.end()


class _CheckingProcess(AsyncEnd):
    def __init__(self, bounds: Bounds) -> None:
        super().__init__(ChildProcess(_serve, bounds, method="spawn"), "checking process", MOST_ANSWER, MOST_UNREAD)
        self._numbers = itertools.count()
        self.lost = False
        """Whether it has ended."""
        self._asked: dict[int, asyncio.Future[dict[str, Any] | None]] = {}

    async def check(self, text: str) -> dict[str, Any] | None:
        """Returns the answer about a sheet; None where the process is lost."""
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any] | None] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        self.write([(number, text)])
        try:
            return await answer
        finally:
            self._asked.pop(number, None)

    def take(self, message: tuple[int, dict[str, Any]]) -> None:
        number, answer = message
        asked = self._asked.pop(number, None)
        if asked is not None and not asked.done():
            asked.set_result(answer)

    def lose(self) -> None:
        self.lost = True
        for asked in self._asked.values():
            if not asked.done():
                asked.set_result(None)


def _refused(message: str) -> dict[str, Any]:
    remark = {"severity": "error", "message": message, "line": None, "column": None, "excerpt": ""}
    return {"diagnostics": [remark], **_NOTHING}


# ------------------------------------------------------------------------------------------------------- in the child


def _serve(pipe: Connection, bounds: Bounds) -> None:
    # Loaded before the first sheet comes.
    import agent.sheet
    import agent.web.drawing  # noqa: F401
    import games.gdl.interpreter.machine  # noqa: F401

    running: dict[ChildProcess, tuple[int, float]] = {}
    while True:
        ready = wait([pipe, *(child.pipe for child in running)], 1.0 if running else None)
        for child, (number, deadline) in list(running.items()):
            late = time.monotonic() > deadline
            if child.pipe in ready or late:
                del running[child]
                pipe.send((number, _answer(child, late)))
        if pipe in ready:
            number, text = pipe.recv()
            running[ChildProcess(_examine, text, bounds=bounds)] = number, time.monotonic() + WAIT_SECONDS


def _answer(child: ChildProcess, late: bool) -> dict[str, Any]:
    try:
        if late:
            raise LimitError(f"no answer within {WAIT_SECONDS:g} s")
        answer: dict[str, Any] = child.receive()
    except Exception as error:
        # Whatever one sheet does, the others are checked.
        return _refused(f"cannot be checked within bounds: {first_line(error)}")
    finally:
        child.end()
    return answer if len(pickle.dumps(answer)) < MOST_ANSWER // 2 else _refused("has more to show than a page holds")


def _examine(pipe: Connection, text: str) -> dict[str, Any]:
    from agent.sheet import examine_text
    from agent.web import drawing
    from games.gdl.interpreter.machine import Interpreter
    from games.machine import GameError, Term
    from games.roles import is_random_role
    from protocol.kif import write

    sheet, remarks = examine_text(Path("sheet"), text)
    diagnostics = [
        {
            "severity": remark.severity,
            "message": remark.message,
            "line": remark.position and remark.position.line,
            "column": remark.position and remark.position.column,
            "excerpt": remark.text.partition("\n")[2],
        }
        for remark in remarks
    ]
    if sheet is None:
        return {"diagnostics": diagnostics, **_NOTHING}
    picture = None
    try:
        machine = Interpreter(sheet.checked)
        state = machine.initial()
        facts = machine.facts(state)
        drawing.find("", [facts], sheet.rulesheet, ())
        choices: list[Term] = []
        with contextlib.suppress(GameError):
            # Whoever begins clicks on it before the match's own process draws anything.
            legal = [machine.legal(state, role) for role in range(len(machine.roles))]
            choices = [move for moves in legal if len(moves) > 1 for move in moves]
        drawn = drawing.draw("", list(map(write, sheet.roles)), facts, None, choices, ())
        picture = {"ply": 0, "known": True, **drawn}
    except GameError as error:
        diagnostics += _refused(f"has no first position: {error}")["diagnostics"]
    roles = [write(role) for role in sheet.roles if not is_random_role(role)]
    return {"diagnostics": diagnostics, "roles": roles, "hidden": sheet.imperfect, "picture": picture}
