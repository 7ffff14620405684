"""One turn of a match as the server process knows it, and the answer that follows."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

from agent.serving.clock import Deadline
from agent.worker.messages import Judged, Received, Situation, Thought, Unseen
from games.gdl.rules.surface import named_moves
from games.machine import NO_MOVE, Term
from protocol.messages import Start


@dataclass(eq=False)
class MatchTurn:
    """One turn: from the message with the last joint move to the next message."""

    number: int
    """Number of joint moves received before it."""
    deadline: Deadline | None = None
    """Deadline of the answer; None while none is wanted."""
    situation: Situation | None = None
    """The reference state, once a worker has reported it."""
    thought: Thought | None = None
    """The engine's latest opinion."""
    answer: asyncio.Future[Term] | None = None
    """The answer to come; None before the turn's first PLAY. A repeated PLAY waits for the same one."""
    start_repeated: bool = False
    """Whether START came again during this turn. If a PLAY of the first turn follows, the match begins again."""

    @property
    def answered(self) -> Term | None:
        """Our answer; None before it."""
        return self.answer.result() if self.answer is not None and self.answer.done() else None

    @property
    def decided(self) -> bool:
        """Whether there is nothing left to think about."""
        if self.situation is None:
            return False
        if self.situation.terminal or len(self.situation.legal) <= 1:
            return True
        return self.thought is not None and self.thought.opinion.final

    def best_move(self) -> Term | None:
        """Returns the engine's choice, else a legal move; None while no legal moves are known."""
        if self.situation is None or not self.situation.legal:
            return None
        if self.thought is not None and self.thought.opinion.move in self.situation.legal:
            return self.thought.opinion.move
        return self.situation.legal[0]

    def reasons(self) -> str:
        """Returns the reasons for the best move, for the log."""
        if self.situation is not None and len(self.situation.legal) == 1:
            return "forced"
        if self.thought is None:
            return "no opinion"
        opinion = self.thought.opinion
        score = opinion.score
        value = "?" if score is None else f"{score.goal:.1f}"
        if score is not None and score.proven:
            value += ", proven" if score.plies is None else f", proven, over in {score.plies} plies"
        details = "".join(f", {name} {what}" for name, what in opinion.info.items())
        return f"{self.thought.engine}: value {value}{details}"


def any_move(start: Start, latest: Situation | None, last: Received) -> Term:
    """Returns a move where the legal ones are unknown: a legal move of an earlier turn, or one that the rules name.

    Avoids the moves just made (`last`), which are rarely possible again.
    """
    if latest is not None and latest.legal:
        seen = () if isinstance(last, Unseen) else last.moves if isinstance(last, Judged) else last
        fresh = [move for move in latest.legal if move not in seen]
        return random.choice(fresh or list(latest.legal))
    named = named_moves(start.rules, start.role)
    return random.choice(named) if named else NO_MOVE
