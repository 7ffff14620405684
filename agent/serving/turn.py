"""One turn of a match as the server process knows it, and the answer that follows."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass

from agent.playing.messages import Judged, Received, Situation, Thought, Unseen
from agent.serving.clock import Deadline
from games.machine import NO_MOVE, Term


@dataclass(eq=False)
class MatchTurn:
    """One turn: from the message with the last joint move to the next message."""

    number: int
    """Number of joint moves received before it."""
    deadline: Deadline | None = None
    """Deadline of the answer; None while none is wanted."""
    reference: Situation | None = None
    """The situation, once the reference has told it."""
    search: Situation | None = None
    """The situation as the search has it."""
    astray: bool = False
    """Whether the search does not know the state."""
    placed: Situation | None = None
    """The reference's situation that the search was told to think about."""
    thought: Thought | None = None
    """The engine's latest opinion."""
    answer: asyncio.Future[Term] | None = None
    """The answer to come; None before the turn's first PLAY. A repeated PLAY waits for the same one."""
    start_repeated: bool = False
    """Whether START came again during this turn. If a PLAY of the first turn follows, the match begins again."""

    @property
    def situation(self) -> Situation | None:
        """The situation: the reference's word, else that of the search."""
        return self.reference or self.search

    @property
    def answered(self) -> Term | None:
        """Our answer; None before it."""
        return self.answer.result() if self.answer is not None and self.answer.done() else None

    @property
    def decided(self) -> bool:
        """Whether there is nothing left to think about."""
        situation, thought = self.situation, self.thought
        if situation is None:
            return False
        if situation.terminal or situation.choices <= 1:
            return True
        return thought is not None and thought.opinion.final and thought.digest == situation.digest

    @property
    def search_is_wrong(self) -> bool:
        """Whether the search has come to another state than the reference, which is sure of its own.

        Where the search was told what to think about, an older report of it may still be under way.
        """
        here, there = self.reference, self.search
        if here is None or here.states > 1 or self.placed is not None:
            return False
        return there is not None and there.digest != here.digest

    @property
    def place_due(self) -> bool:
        """Whether the search must be told what to think about: it does not know, or cannot."""
        here = self.reference
        if here is None or here is self.placed:
            return False
        return self.astray or here.states > 1 or self.placed is not None

    def forget_search(self) -> None:
        """Forgets what the last search has told of the state."""
        self.search = self.placed = None
        self.astray = False

    def best_move(self) -> Term | None:
        """Returns the engine's choice, else a legal move; None while no legal moves are known."""
        situation, thought = self.situation, self.thought
        if situation is None or not situation.legal:
            return None
        if thought is not None:
            # A state may have more legal moves than a situation names.
            unnamed = thought.digest == situation.digest and situation.choices > len(situation.legal)
            if unnamed or thought.opinion.move in situation.legal:
                return thought.opinion.move
        return situation.legal[0]

    def reasons(self) -> str:
        """Returns the reasons for the best move, for the log."""
        if self.situation is not None and self.situation.choices == 1:
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


def any_move(named: Sequence[Term], latest: Situation | None, last: Received) -> Term:
    """Returns a move where the legal ones are unknown: a legal move of an earlier turn, or one that is `named`.

    Avoids the moves just made (`last`), which are rarely possible again.
    """
    if latest is not None and latest.legal:
        moves = () if isinstance(last, Unseen) else last.moves if isinstance(last, Judged) else last
        seen = frozenset(moves)
        fresh = [move for move in latest.legal if move not in seen]
        return random.choice(fresh or list(latest.legal))
    return random.choice(named) if named else NO_MOVE
