"""`SubgameSearch` plays each part of a game as a game of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from agent.search.engine import START_SECONDS, UNLIMITED, Engine, Limit, Opinion, Report, StopFlag, limited
from agent.search.subgames.division import Subgame
from games.gdl.running.machine import CircuitMachine
from games.machine import State, Term

PONDER_SECONDS = 5.0
"""While others think: seconds of searching one part before the next."""
IDLE_SECONDS = 0.02
"""Pause where nothing is left to find out in a part."""


class SubgameSearch(Engine):
    """One engine for each part found by `find_subgames`: lines are shorter there, and states far fewer.

    An engine for the whole game plays only where no part can tell the move. A proof holds for its part alone, since
    another part may end the match before.
    """

    uses_start_clock = True

    def __init__(
        self,
        machine: CircuitMachine,
        role: int,
        parts: Sequence[tuple[Subgame, Engine]],
        whole: Callable[[], Engine],
    ) -> None:
        """`parts` come with an engine for the role there; `whole` makes the engine for the whole game when it is
        needed."""
        self._machine, self._role, self._parts = machine, role, parts
        self._make_whole = whole
        self._whole: Engine | None = None
        self._state = machine.initial()
        self._next = 0
        """Counts the parts pondered on, which take turns."""
        self.name = self._parts[0][1].name
        self.reason = self._reason_of(self._parts[0][1])

    def begin(self, state: State) -> None:
        self._state = state
        for part, engine in self._parts:
            engine.begin(part.state(state))
        if self._whole is not None:
            self._whole.begin(state)

    def advance(self, joint_move: tuple[Term, ...], state: State) -> None:
        self._state = state
        for part, engine in self._parts:
            engine.advance(part.joint_move(joint_move), part.state(state))
        if self._whole is not None:
            self._whole.advance(joint_move, state)

    def prepare(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        legal = self._machine.legal(self._state, self._role)
        report(Opinion(legal[0]))
        share = (limit.seconds or START_SECONDS) / len(self._parts)
        for _, engine in self._parts:
            with limited(stop, share) as halt:
                engine.prepare(halt, _ignore, Limit(share))
        self.uses_start_clock = False

    def think(self, stop: StopFlag, report: Report, limit: Limit) -> None:
        legal = self._machine.legal(self._state, self._role)
        if len(legal) == 1:
            report(Opinion(legal[0], final=True))
        if limit == UNLIMITED or len(legal) == 1:
            self._ponder(stop)
            return
        engine = self._engine_for(legal)
        if engine is None:
            if self._whole is None:
                self._whole = self._make_whole()
                self._whole.begin(self._state)
            self._whole.think(stop, report, limit)
            self.name, self.reason = self._whole.name, self._whole.reason
            return

        def take(opinion: Opinion) -> None:
            report(_of_part(opinion))

        engine.think(stop, take, limit)
        self.name, self.reason = engine.name, self._reason_of(engine)
        if not limit.exact:
            # A part that is solved leaves time for the others.
            self._ponder(stop)

    def _reason_of(self, engine: Engine) -> str:
        return (
            f"the game has {len(self._parts)} parts, each of which is searched by itself; in this one: {engine.reason}"
        )

    def _engine_for(self, legal: Sequence[Term]) -> Engine | None:
        """The engine of the part that has all legal moves; None if there is none, or it is over."""
        for part, engine in self._parts:
            if all(part.has(self._role, move) for move in legal):
                return None if self._over(part) else engine
        return None

    def _over(self, part: Subgame) -> bool:
        return part.machine.terminal(part.state(self._state))

    def _ponder(self, stop: StopFlag) -> None:
        """Searches the parts by turns until `stop`."""
        going = [engine for part, engine in self._parts if not self._over(part)]
        while going and not stop[0]:
            self._next += 1
            begin = time.monotonic()
            with limited(stop, PONDER_SECONDS) as halt:
                going[self._next % len(going)].think(halt, _ignore, UNLIMITED)
            if time.monotonic() - begin < IDLE_SECONDS:
                time.sleep(IDLE_SECONDS)


def _of_part(opinion: Opinion) -> Opinion:
    """An opinion on a part as one on the game: nothing that it proves holds there."""
    candidates = tuple(replace(one, score=one.score and one.score.estimate) for one in opinion.candidates)
    return Opinion(opinion.move, opinion.score and opinion.score.estimate, info=opinion.info, candidates=candidates)


def _ignore(opinion: Opinion) -> None:
    """Takes opinions that nobody waits for."""
