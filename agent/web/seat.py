"""A person's seat at the page: the possible actions, and the person's choice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from agent.record.thinking import Thinking
from agent.web.transcript import Transcript
from games.machine import Term
from protocol.kif import write

Hint: TypeAlias = Callable[[], Awaitable[Thinking]]
"""Finds a good move, and what to expect of it. Raises `SeatError`."""


HINTED = ("move", "value", "proven", "plies", "line")
"""Parts of an agent's thoughts that a hint tells."""


class SeatError(Exception):
    """An action is not possible; the text says why."""


@dataclass(slots=True)
class _Asked:
    """A person who is asked for a move."""

    answer: asyncio.Future[Term]
    hint: Hint | None


class Seat:
    """The seat of all persons of one match, who share the page and are asked one after the other."""

    def __init__(
        self,
        transcript: Transcript,
        take_back: Callable[[int], bool] | None = None,
        resign: Callable[[int], bool] = lambda role: False,
    ) -> None:
        """`take_back(ply)` takes the match back to a ply; None where moves stand. `resign(role)` ends the match if a
        person plays this role. Both return whether that is so."""
        self._transcript = transcript
        transcript.friendly = take_back is not None
        self._take_back = take_back
        self._resign = resign
        self._asked: dict[int, _Asked] = {}
        self._hinting = False

    def is_at(self, key: str) -> bool:
        """Returns whether it belongs to the match of this key."""
        return self._transcript.key == key

    async def choose(
        self, role: int, legal: Sequence[Term], seconds: float | None = None, hint: Hint | None = None
    ) -> Term:
        """Returns the person's move in the newest position.

        `seconds` is the person's clock; None: no clock. Raises `TimeoutError` when it is over.
        """
        transcript = self._transcript
        answer: asyncio.Future[Term] = asyncio.get_running_loop().create_future()
        self._asked[role] = _Asked(answer, hint)
        transcript.allow(role, tuple(legal))
        transcript.wait(role, "moves", seconds)
        self._show()
        try:
            async with asyncio.timeout(seconds):
                return await answer
        finally:
            del self._asked[role]
            transcript.go_on(role)
            self._show()

    async def act(self, action: str, data: dict[str, Any]) -> dict[str, Any]:
        """Performs an action of the page. Raises `SeatError` where it is not possible (any more)."""
        transcript = self._transcript
        ply = len(transcript.positions) - 1
        role = data.get("role")
        if isinstance(role, bool) or isinstance(data.get("ply"), bool):
            # Python counts truth values among the numbers.
            raise SeatError("Roles and plies are numbers.")
        if action == "resign":
            if not (transcript.running and isinstance(role, int) and self._resign(role)):
                raise SeatError("There is nothing to resign.")
            return {"ply": ply}
        if action == "undo" and isinstance(role, int) and data.get("ply") == ply:
            goal = self._transcript.last_choice(role) if role in range(len(transcript.roles)) else None
            if self._take_back is None or goal is None or not self._take_back(goal):
                raise SeatError("There is nothing to take back.")
            return {"ply": ply}
        asked = self._asked.get(role) if isinstance(role, int) else None
        if data.get("ply") != ply or asked is None or asked.answer.done():
            raise SeatError("The match has gone on meanwhile: nobody waits for that.")
        assert isinstance(role, int)
        match action:
            case "move":
                move = next((one for one in transcript.last.legal[role] if write(one) == data.get("move")), None)
                if move is None:
                    raise SeatError("That move is not legal.")
                asked.answer.set_result(move)
                self._show()
            case "hint":
                found = (await self._find_hint(asked)).as_json() or {}
                return {"ply": ply, **{name: found[name] for name in HINTED}}
            case _:
                raise SeatError("There is no such thing to do.")
        return {"ply": ply}

    async def _find_hint(self, asked: _Asked) -> Thinking:
        if asked.hint is None:
            raise SeatError("There are no hints in this match.")
        if self._hinting:
            raise SeatError("A hint is being looked for.")
        self._hinting = True
        try:
            return await asked.hint()
        finally:
            self._hinting = False

    def _show(self) -> None:
        """Updates the possible actions in the transcript."""
        transcript = self._transcript
        waiting = [role for role, asked in self._asked.items() if not asked.answer.done()]
        if waiting and transcript.running:
            role = waiting[0]
            transcript.offer(
                {
                    "ply": len(transcript.positions) - 1,
                    "role": role,
                    "moves": [write(move) for move in transcript.last.legal[role]],
                    "hint": self._asked[role].hint is not None,
                }
            )
        else:
            transcript.offer(None)
