"""Positions as pictures and tables, drawn on demand by a child process and cached.

Rules are as strangers send them: what looks through them, or interprets them, is bounded in memory and time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agent.boards.pieces import colours_of_roles
from agent.record.match import Position
from agent.web import drawing
from agent.web.transcript import Transcript
from games.child_process import Bounds, ChildProcess
from games.machine import Term
from games.memory import memory_part
from protocol.kif import write

log = logging.getLogger(__name__)

KEPT_DRAWINGS = 300
KEPT_LAYOUTS = 40
"""Sizes of the caches."""

SAMPLED = 24
"""Most positions of a match without rules from which its layout is found."""

MEMORY_BYTES, MEMORY_SHARE = 1 << 29, 1 / 20
"""Most memory of the child, in bytes, and as a share of what this process may have."""

NICENESS = 10
"""Niceness of the child: matches go first."""

MOST_SECONDS = 10.0
"""Most seconds for each piece of the child's work: to replay a match, say, on a busy machine."""


class Pictures:
    """Draws positions of matches."""

    def __init__(self) -> None:
        # Drawing takes one core at most, with any number of pages.
        self._thread = ThreadPoolExecutor(1, "pictures")
        self._child: ChildProcess | None = None
        self._layouts: OrderedDict[str, bool] = OrderedDict()
        """Whether the child has found the layout of a match, or failed to."""
        self._followed: OrderedDict[str, None] = OrderedDict()
        """Matches whose unseen positions were computed, successfully or not."""
        self._drawings: OrderedDict[tuple[object, ...], dict[str, Any]] = OrderedDict()

    def close(self) -> None:
        """Ends the thread and the child."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._end()

    async def draw(self, transcript: Transcript, ply: int) -> dict[str, Any]:
        """Returns the position at a ply as JSON data: `svg` boards, the `rest` of the facts, those `gone` since the
        position before, a person's `choices` by square, the `colours` of each role's pieces.

        An unknown position is empty, and so is one not reached (moves may have been taken back meanwhile).
        """
        run = asyncio.get_running_loop().run_in_executor
        if transcript.key not in self._followed and _unseen(transcript, ply):
            self._followed[transcript.key] = None
            if len(self._followed) > KEPT_LAYOUTS:
                self._followed.popitem(last=False)
            transcript.fill_in(await run(self._thread, self._follow, transcript))
        return await run(self._thread, self._draw, transcript, ply)

    # --- in the thread

    def _ask(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Returns the result of a function of `drawing`. Raises `LimitError`, `ChildLostError` and what it raises.

        After any of these another child is started for the next one.
        """
        try:
            if self._child is None:
                bounds = Bounds(memory_bytes=memory_part(MEMORY_BYTES, MEMORY_SHARE), niceness=NICENESS)
                # A forked one would hold the managers' connections open.
                self._child = ChildProcess(drawing.work, method="spawn", bounds=bounds)
            self._child.send((function, arguments))
            return self._child.receive(MOST_SECONDS)
        except BaseException:
            self._end()
            for key in [key for key, found in self._layouts.items() if found]:
                del self._layouts[key]
            raise

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()

    def _follow(self, transcript: Transcript) -> list[frozenset[Term]]:
        """Returns the positions before the first known one, as far as the moves to it are known."""
        positions = list(transcript.positions)
        known = next((ply for ply, position in enumerate(positions) if position.facts is not None), 0)
        moves = [position.moves for position in positions[1 : known + 1]]
        try:
            return [] if None in moves else self._ask(drawing.replay, transcript.rules, moves, positions[known].facts)
        except Exception as error:
            # The other positions can still be shown.
            log.warning("%s: positions from before the restart cannot be told: %s", transcript.game, error)
            return []

    def _draw(self, transcript: Transcript, ply: int) -> dict[str, Any]:
        positions = list(transcript.positions)
        position = positions[ply] if ply < len(positions) else Position()
        facts = position.facts
        if facts is None:
            return {"ply": ply, "known": False, "svg": [], "rest": [], "gone": [], "choices": {}, "colours": []}
        seat = transcript.seat
        # Only the position in which a person is asked has choices.
        legal = position.legal.get(seat["role"], ()) if seat is not None and seat["ply"] == ply else ()
        known = self._find(transcript, [one.facts for one in positions if one.facts is not None])
        key = (transcript.key, ply, position.version if legal else 0, facts, known)
        if key in self._drawings:
            self._drawings.move_to_end(key)
            return self._drawings[key]
        before = positions[ply - 1].facts if ply else None
        roles = list(map(write, transcript.roles))
        drawn = None
        if known:
            try:
                drawn = self._ask(drawing.draw, transcript.key, roles, facts, before, legal, position.moves or ())
            except Exception as error:
                log.warning("%s: a position cannot be drawn: facts are listed: %s", transcript.game, error)
                self._layouts[transcript.key] = False
        found = {"ply": ply, "known": True, **(drawn or _table(roles, facts, before))}
        self._drawings[key] = found
        if len(self._drawings) > KEPT_DRAWINGS:
            self._drawings.popitem(last=False)
        return found

    def _find(self, transcript: Transcript, states: list[frozenset[Term]]) -> bool:
        """Has the layout of the match found, once; returns whether there is one.

        With rules, one position is enough, and a record gets the same layout as the running match.
        """
        key = transcript.key
        if key not in self._layouts:
            sample = states[:1] if transcript.rules else states[:: max(1, len(states) // SAMPLED)][:SAMPLED]
            try:
                self._ask(drawing.find, key, sample, transcript.rules, list(self._layouts))
                self._layouts[key] = True
            except Exception as error:
                log.warning("%s: no board can be found: facts are listed: %s", transcript.game, error)
                self._layouts[key] = False
            if len(self._layouts) > KEPT_LAYOUTS:
                self._layouts.popitem(last=False)
        return self._layouts[key]


def _unseen(transcript: Transcript, ply: int) -> bool:
    """Returns whether the position at a ply is unknown, but a later one is known, as after a restart."""
    positions = transcript.positions[: len(transcript.positions)]
    return (
        bool(transcript.rules)
        and ply < len(positions)
        and positions[ply].facts is None
        and any(position.facts is not None for position in positions[ply + 1 :])
    )


def _table(roles: list[str], facts: frozenset[Term], before: frozenset[Term] | None) -> dict[str, Any]:
    rest = sorted((write(fact), before is not None and fact not in before) for fact in facts)
    gone = sorted(write(fact) for fact in (before or frozenset()) - facts)
    return {
        "colours": colours_of_roles(roles, ()),
        "svg": [],
        "rest": rest[: drawing.MOST_FACTS],
        "gone": gone[: drawing.MOST_FACTS],
        "choices": {},
    }
