"""Positions as pictures and tables, drawn on demand by a child process and cached; records, read there.

Rules and records are as strangers send them: what looks through them is bounded in memory and time, and stops no thread
of this process.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, cast

from agent.record.match import Position
from agent.web import drawing
from agent.web.records import Version
from agent.web.transcript import Transcript
from games.child_process import Bounds, ChildProcess
from games.memory import memory_part
from protocol.kif import write

log = logging.getLogger(__name__)

KEPT_DRAWINGS = 300
KEPT_LAYOUTS = 40
"""Sizes of the caches."""

MEMORY_BYTES, MEMORY_SHARE = 1 << 29, 1 / 20
"""Most memory of the child, in bytes, and as a share of what this process may have."""

MEMORY_FACTOR = 16
"""Bytes of memory that it may have at least for each byte of the largest record."""

NICENESS = 10
"""Niceness of the child: matches go first, unless a person waits for the picture."""

MOST_SECONDS = 10.0
"""Most seconds for each piece of the child's work: to replay a match, say, on a busy machine."""

MOST_SECONDS_READING = 60.0
"""The same where a record may have to be read whole."""


class Pictures:
    """Draws positions of matches, and has records read."""

    def __init__(self, largest_record: int = 0, niceness: int = NICENESS) -> None:
        """`largest_record` is the size in bytes of the largest record that is read; `niceness` is the child's."""
        self._niceness = niceness
        self._largest_record = largest_record
        # Drawing takes one core at most, with any number of pages.
        self._thread = ThreadPoolExecutor(1, "pictures")
        self._child: ChildProcess | None = None
        self._layouts: OrderedDict[str, bool] = OrderedDict()
        """Whether the child has found the layout of a match, or failed to."""
        self._followed: OrderedDict[str, None] = OrderedDict()
        """Matches whose unseen positions were computed, successfully or not."""
        self._drawings: OrderedDict[tuple[object, ...], dict[str, Any]] = OrderedDict()
        self._plain: OrderedDict[Version, None] = OrderedDict()
        """Records whose positions cannot be drawn."""
        self._closed = False

    def close(self) -> None:
        """Ends the thread and the child."""
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._end()

    def prepare(self) -> None:
        """Starts the child."""
        self._thread.submit(self._ask, drawing.unknown, 0)

    async def draw(self, transcript: Transcript, ply: int) -> dict[str, Any]:
        """Returns the position at a ply as JSON data: `svg` boards, the `rest` of the facts, those `gone` since the
        position before, a person's `choices` by square, the `colours` of each role's pieces.

        An unknown position is empty, and so is one not reached (moves may have been taken back meanwhile).
        """
        run = asyncio.get_running_loop().run_in_executor
        if transcript.key not in self._followed and await run(self._thread, drawing.unseen, transcript, ply):
            self._followed[transcript.key] = None
            if len(self._followed) > KEPT_LAYOUTS:
                self._followed.popitem(last=False)
            transcript.fill_in(await run(self._thread, self._follow, transcript))
        return await run(self._thread, self._draw, transcript, ply)

    async def draw_record(self, version: Version, ply: int) -> dict[str, Any]:
        """Returns the position of a record at a ply, as `draw` does. Raises as `read_record` does."""
        if version not in self._plain:
            try:
                return cast("dict[str, Any]", await self.ask(drawing.draw_record, version, ply, False))
            except Exception as error:
                if self._closed:
                    raise
                log.warning("%s: positions cannot be drawn: facts are listed: %s", version[0], error)
                self._plain[version] = None
                if len(self._plain) > KEPT_LAYOUTS:
                    self._plain.popitem(last=False)
        return cast("dict[str, Any]", await self.ask(drawing.draw_record, version, ply, True))

    async def draw_further(self, match: Transcript | Version, ply: int, line: Sequence[drawing.JointMove]) -> Any:
        """Returns the position after a line of joint moves from a ply, see `drawing.further`.

        Raises `ValueError`, and what else there is for a match without rules, or with rules that cannot be followed.
        """
        if not isinstance(match, Transcript):
            return await self.ask(drawing.further_record, match, ply, line)
        positions = list(match.positions)
        state = positions[ply].state if ply < len(positions) else None
        if state is None or not match.rules:
            raise ValueError("this position is not known, or its rules are not")
        return await self._ask_about(match, drawing.further, state, line, match.running)

    async def spell(self, match: Transcript | Version, moves: Sequence[str]) -> Any:
        """Returns moves as people write them, see `drawing.spell`. Raises as `draw_further` does."""
        if not isinstance(match, Transcript):
            return await self.ask(drawing.spell, match, moves)
        return await self._ask_about(match, drawing.spell, moves)

    async def _ask_about(self, transcript: Transcript, function: Callable[..., Any], *arguments: object) -> Any:
        """Returns the result of a function that needs the layout of a match. Raises `ValueError`, and as `ask` does."""

        def asked() -> object:
            if not self._find(transcript):
                raise ValueError("these rules cannot be followed")
            return self._ask(function, transcript.key, *arguments)

        return await asyncio.get_running_loop().run_in_executor(self._thread, asked)

    async def ask(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Returns the result of a function that reads a record. Raises as `_ask` does."""
        call = partial(self._ask, function, *arguments, seconds=MOST_SECONDS_READING)
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    # --- in the thread

    def _ask(self, function: Callable[..., Any], *arguments: object, seconds: float | None = None) -> Any:
        """Returns the result of a function in the child. Raises `LimitError`, `ChildLostError` and what it raises.

        After any but `OSError`, `ValueError` and `GameError` another child is started for the next one. Raises
        `RuntimeError` once this is closed.
        """
        try:
            if self._closed:
                raise RuntimeError("pictures are closed")
            if self._child is None:
                memory = max(memory_part(MEMORY_BYTES, MEMORY_SHARE), MEMORY_FACTOR * self._largest_record)
                bounds = Bounds(memory_bytes=memory, niceness=self._niceness)
                # A forked one would hold the managers' connections open.
                self._child = ChildProcess(drawing.work, method="spawn", bounds=bounds)
            self._child.send((function, arguments))
            result, error = self._child.receive(MOST_SECONDS if seconds is None else seconds)
        except BaseException as loss:
            self._end()
            for key in [key for key, found in self._layouts.items() if found]:
                del self._layouts[key]
            if self._closed:
                raise RuntimeError("pictures are closed") from loss
            raise
        if error is not None:
            raise error
        return result

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()

    def _follow(self, transcript: Transcript) -> list[bytes]:
        """Returns the positions before the first known one, as far as the moves to it are known."""
        try:
            return cast("list[bytes]", self._ask(drawing.replay, *drawing.gap(transcript)))
        except Exception as error:
            # The other positions can still be shown.
            log.warning("%s: positions from before the restart cannot be told: %s", transcript.game, error)
            return []

    def _draw(self, transcript: Transcript, ply: int) -> dict[str, Any]:
        positions = list(transcript.positions)
        position = positions[ply] if ply < len(positions) else Position()
        state, moves = transcript.shown_at(position)
        if state is None:
            return drawing.unknown(ply)
        seat = transcript.seat
        # Only the position in which a person is asked has choices.
        legal = position.legal.get(seat["role"], ()) if seat is not None and seat["ply"] == ply else ()
        known = self._find(transcript)
        before = transcript.shown_at(positions[ply - 1])[0] if ply else None
        last = [move for move in moves if move is not None]
        key = (transcript.key, ply, position.version if legal else 0, state, known, transcript.hides)
        if key in self._drawings:
            self._drawings.move_to_end(key)
            return self._drawings[key]
        roles = list(map(write, transcript.roles))
        drawn = None
        if known:
            try:
                drawn = self._ask(drawing.draw, transcript.key, roles, state, before, legal, last)
            except Exception as error:
                log.warning("%s: a position cannot be drawn: facts are listed: %s", transcript.game, error)
                self._layouts[transcript.key] = False
        found = {"ply": ply, "known": True, **(drawn or drawing.table(roles, state, before))}
        self._drawings[key] = found
        if len(self._drawings) > KEPT_DRAWINGS:
            self._drawings.popitem(last=False)
        return found

    def _find(self, transcript: Transcript) -> bool:
        """Has the layout of the match found, once; returns whether there is one."""
        key = transcript.key
        if key not in self._layouts:
            try:
                self._ask(drawing.find, key, drawing.sample(transcript), transcript.rules, list(self._layouts))
                self._layouts[key] = True
            except Exception as error:
                log.warning("%s: no board can be found: facts are listed: %s", transcript.game, error)
                self._layouts[key] = False
            if len(self._layouts) > KEPT_LAYOUTS:
                self._layouts.popitem(last=False)
        return self._layouts[key]
