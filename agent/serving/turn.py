"""What the server process knows of one turn of a match, and the answer that follows from it."""

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
    """One turn: from the message that told of the last joint move until the next one. Made anew for every turn."""

    number: int
    """How many joint moves were received before it."""
    deadline: Deadline | None = None
    """When the answer is due; None while none is wanted."""
    situation: Situation | None = None
    """The reference state, once a worker has reported it."""
    thought: Thought | None = None
    """The engine's latest opinion."""
    answer: asyncio.Future[Term] | None = None
    """Will be the answer; None before the turn's first PLAY. A repeated PLAY waits for the same one."""
    start_repeated: bool = False
    """Whether START came again during this turn: if PLAY for the first turn follows, the match begins again."""

    @property
    def answered(self) -> Term | None:
        """What we answered, if we have."""
        return self.answer.result() if self.answer is not None and self.answer.done() else None

    @property
    def decided(self) -> bool:
        """Whether there is nothing (more) to think about."""
        if self.situation is None:
            return False
        if self.situation.terminal or len(self.situation.legal) <= 1:
            return True
        return self.thought is not None and self.thought.opinion.final

    def best_move(self) -> Term | None:
        """The engine's choice, or some legal move without one; None while no legal moves are known."""
        if self.situation is None or not self.situation.legal:
            return None
        if self.thought is not None and self.thought.opinion.move in self.situation.legal:
            return self.thought.opinion.move
        return self.situation.legal[0]

    def reasons(self) -> str:
        """Why the best move is the best, for the log."""
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
    """Some move, where it is not known what is legal: one of the last turn's that is known, or one that the rules name.

    What the roles have just done (`last`) is rarely possible again.
    """
    if latest is not None and latest.legal:
        seen = () if isinstance(last, Unseen) else last.moves if isinstance(last, Judged) else last
        fresh = [move for move in latest.legal if move not in seen]
        return random.choice(fresh or list(latest.legal))
    named = named_moves(start.rules, start.role)
    return random.choice(named) if named else NO_MOVE
