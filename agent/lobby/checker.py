"""Rulesheets checked, and their first positions drawn, in processes with bounds.

A process that has everything loaded forks one for each sheet, which takes some hundredths of a second.
"""

from __future__ import annotations

import asyncio
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from agent.errors import first_line
from games.child_process import Bounds, ChildLostError, ChildProcess
from games.machine import LimitError

SHEET_BOUNDS = Bounds(cpu_seconds=10, memory_bytes=1 << 30)
"""Bounds for one sheet: real ones take some hundredths of a second."""

WAIT_SECONDS = 20.0
"""Seconds after which a check is given up, where the machine is too busy to use up its bounds."""

ANSWER_SECONDS = 30.0
"""Seconds after which the checking process itself is given up."""


class Checker:
    """Checks sheets one after the other. Make it, and use it, in the main thread."""

    def __init__(self, bounds: Bounds = SHEET_BOUNDS) -> None:
        """`bounds` are those of each check."""
        self._bounds = bounds
        self._child: ChildProcess | None = None
        self._turn = asyncio.Lock()

    async def check(self, text: str) -> dict[str, Any]:
        """Returns the `diagnostics` of a sheet (`line`, `column`, None for the sheet as a whole, `severity`, `message`,
        `excerpt`), its `roles` that need players, and its first position as a `picture`, see `Pictures.draw`; these are
        None for a sheet with errors."""
        async with self._turn:
            if self._child is None:
                self._child = ChildProcess(_serve, self._bounds, method="spawn")
            child = self._child
            try:
                child.send(text)
                answer: dict[str, Any] = await asyncio.to_thread(child.receive, ANSWER_SECONDS)
            except (ChildLostError, LimitError) as error:
                self.close()
                answer = _refused(f"cannot be checked: {error}")
            except asyncio.CancelledError:
                # Its answer would be taken for that of the next sheet.
                self.close()
                raise
            return answer

    def close(self) -> None:
        """Ends the process."""
        if self._child is not None:
            self._child.end()
            self._child = None


def _refused(message: str) -> dict[str, Any]:
    remark = {"severity": "error", "message": message, "line": None, "column": None, "excerpt": ""}
    return {"diagnostics": [remark], "roles": None, "picture": None}


# ------------------------------------------------------------------------------------------------------- in the child


def _serve(pipe: Connection, bounds: Bounds) -> None:
    # Loaded before the first sheet comes.
    import agent.sheet
    import agent.web.drawing  # noqa: F401
    import games.gdl.interpreter.machine  # noqa: F401

    while True:
        text = pipe.recv()
        child = ChildProcess(_examine, text, bounds=bounds)
        try:
            answer = child.receive(WAIT_SECONDS)
        except Exception as error:
            # Whatever one sheet does, the next one is checked.
            answer = _refused(f"cannot be checked within bounds: {first_line(error)}")
        finally:
            child.end()
        pipe.send(answer)


def _examine(pipe: Connection, text: str) -> dict[str, Any]:
    from agent.sheet import examine_text
    from agent.web import drawing
    from games.gdl.interpreter.machine import Interpreter
    from games.machine import GameError
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
        return {"diagnostics": diagnostics, "roles": None, "picture": None}
    picture = None
    try:
        machine = Interpreter(sheet.checked)
        facts = machine.facts(machine.initial())
        drawing.find("", [facts], sheet.rulesheet, ())
        drawn = drawing.draw("", list(map(write, sheet.roles)), facts, None, (), ())
        picture = {"ply": 0, "known": True, **drawn}
    except GameError as error:
        diagnostics += _refused(f"has no first position: {error}")["diagnostics"]
    roles = [write(role) for role in sheet.roles if not is_random_role(role)]
    return {"diagnostics": diagnostics, "roles": roles, "picture": picture}
