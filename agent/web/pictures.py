"""Positions as pictures and tables, drawn on demand in a thread and cached."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from agent.boards.layout import Layout
from agent.boards.pieces import colours_of_roles
from agent.web.replaying import replayed, unseen
from agent.web.transcript import Position, Transcript
from games.machine import Term
from protocol.kif import write

log = logging.getLogger(__name__)

KEPT_DRAWINGS = 300
KEPT_LAYOUTS = 40
"""Sizes of the caches."""

SAMPLED = 24
"""Most positions of a match from which its layout is found."""

MOST_FACTS = 3000
"""Most facts in the table of a position."""


@dataclass(slots=True)
class _Known:
    layout: Layout | None
    """None where the search for boards has failed."""
    positions: int
    """Number of positions from which it was found."""


class Pictures:
    """Draws positions of matches."""

    def __init__(self) -> None:
        # Drawing takes one core at most, with any number of pages.
        self._thread = ThreadPoolExecutor(1, "pictures")
        self._layouts: OrderedDict[str, _Known] = OrderedDict()
        self._followed: OrderedDict[str, None] = OrderedDict()
        """Matches whose unseen positions were computed, successfully or not."""
        self._drawings: OrderedDict[tuple[object, ...], dict[str, Any]] = OrderedDict()

    def close(self) -> None:
        """Ends the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def draw(self, transcript: Transcript, ply: int) -> dict[str, Any]:
        """Returns the position at a ply as JSON data: `svg` boards, the `rest` of the facts, those `gone` since the
        position before, a person's `choices` by square, the `colours` of each role's pieces.

        An unknown position is empty, and so is one not reached (moves may have been taken back meanwhile).
        """
        run = asyncio.get_running_loop().run_in_executor
        if transcript.key not in self._followed and unseen(transcript, ply):
            self._followed[transcript.key] = None
            if len(self._followed) > KEPT_LAYOUTS:
                self._followed.popitem(last=False)
            transcript.fill_in(await run(self._thread, _follow, transcript))
        return await run(self._thread, self.drawing, transcript, ply)

    def drawing(self, transcript: Transcript, ply: int) -> dict[str, Any]:
        """Does the work of `draw` for known positions, in the caller's thread."""
        positions = list(transcript.positions)
        position = positions[ply] if ply < len(positions) else Position()
        facts = position.facts
        if facts is None:
            return {"ply": ply, "known": False, "svg": [], "rest": [], "gone": [], "choices": {}, "colours": []}
        seat = transcript.seat
        # Only the position in which a person is asked has choices.
        legal = position.legal.get(seat["role"], ()) if seat is not None and seat["ply"] == ply else ()
        known = self._layout(transcript, [one.facts for one in positions if one.facts is not None])
        key = (transcript.key, ply, position.version if legal else 0, facts, known.positions)
        if key in self._drawings:
            self._drawings.move_to_end(key)
            return self._drawings[key]
        before = positions[ply - 1].facts if ply else None
        roles = list(map(write, transcript.roles))
        colours = known.layout.colours(roles) if known.layout is not None else colours_of_roles(roles, ())
        drawing = {
            "ply": ply,
            "known": True,
            "colours": colours,
            **_draw(known.layout, facts, before, legal, position.moves or ()),
        }
        self._drawings[key] = drawing
        if len(self._drawings) > KEPT_DRAWINGS:
            self._drawings.popitem(last=False)
        return drawing

    def _layout(self, transcript: Transcript, states: list[frozenset[Term]]) -> _Known:
        """Returns the layout of the match, found anew each time that the known positions have doubled, up to
        `SAMPLED`."""
        known = self._layouts.get(transcript.key)
        if known is None or (known.positions < SAMPLED and len(states) >= 2 * known.positions):
            step = max(1, len(states) // SAMPLED)
            layout: Layout | None = None
            try:
                layout = Layout.find(states[::step][:SAMPLED], transcript.possible, transcript.rules)
            except Exception:
                log.exception("%s: no board can be found: facts are listed", transcript.game)
            known = self._layouts[transcript.key] = _Known(layout, min(SAMPLED, len(states)))
            if len(self._layouts) > KEPT_LAYOUTS:
                self._layouts.popitem(last=False)
        return known


def _follow(transcript: Transcript) -> list[frozenset[Term]]:
    try:
        return replayed(transcript) or []
    except Exception as error:
        # The other positions can still be shown.
        log.warning("%s: positions from before the restart cannot be told: %s", transcript.game, error)
        return []


def _draw(
    layout: Layout | None,
    facts: frozenset[Term],
    before: frozenset[Term] | None,
    legal: tuple[Term, ...],
    last: tuple[Term, ...],
) -> dict[str, Any]:
    if layout is not None:
        try:
            drawing = layout.draw(facts, before, legal, last)
        except Exception:
            log.exception("a position cannot be drawn: its facts are listed")
        else:
            return {
                "svg": list(drawing.svg),
                "rest": [[text, new] for text, new in drawing.rest[:MOST_FACTS]],
                "gone": list(drawing.gone[:MOST_FACTS]),
                "choices": {square: list(moves) for square, moves in drawing.choices.items()},
            }
    rest = sorted((write(fact), before is not None and fact not in before) for fact in facts)
    gone = sorted(write(fact) for fact in (before or frozenset()) - facts)
    return {"svg": [], "rest": rest[:MOST_FACTS], "gone": gone[:MOST_FACTS], "choices": {}}
