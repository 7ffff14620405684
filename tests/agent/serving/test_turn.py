"""Decisions and answers of a turn."""

from __future__ import annotations

from agent.worker.messages import Checkpoint, Situation, Thought

from agent.search.engine import Opinion, Score
from agent.serving.turn import MatchTurn
from games.machine import Term


def situation(*legal: Term, terminal: bool = False) -> Situation:
    """Returns a turn's reference state with these legal moves."""
    return Situation(3, 0, legal, terminal, None, Checkpoint(3), False)


def test_nothing_follows_from_nothing() -> None:
    """Without the reference state, nothing is decided and no move is known, whatever the engine's opinion."""
    turn = MatchTurn(3, thought=Thought(3, Opinion("a", final=True), "engine"))
    assert not turn.decided
    assert turn.best_move() is None


def test_forced_moves_and_ends_need_no_thought() -> None:
    """A turn without a choice is decided as soon as that is known."""
    turn = MatchTurn(3, situation=situation("a"))
    assert turn.decided
    assert (turn.best_move(), turn.reasons()) == ("a", "forced")
    assert MatchTurn(3, situation=situation("a", "b", terminal=True)).decided


def test_legal_opinion_is_the_answer() -> None:
    """The engine's move is taken if it is legal, the first legal one otherwise; a proof ends the thinking."""
    turn = MatchTurn(3, situation=situation("a", "b"))
    assert (turn.decided, turn.best_move(), turn.reasons()) == (False, "a", "no opinion")
    turn.thought = Thought(3, Opinion("b", Score(75.0)), "engine")
    assert (turn.decided, turn.best_move(), turn.reasons()) == (False, "b", "engine: value 75.0")
    turn.thought = Thought(3, Opinion("b", Score(100.0, proven=True), final=True, info={"depth": 4}), "engine")
    assert (turn.decided, turn.reasons()) == (True, "engine: value 100.0, proven, depth 4")
    turn.thought = Thought(3, Opinion("c"), "engine")
    assert turn.best_move() == "a"
