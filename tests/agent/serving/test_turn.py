"""Decisions and answers of a turn."""

from __future__ import annotations

from dataclasses import replace

from agent.playing.messages import Thought
from agent.search.engine import Opinion, Score
from agent.serving.turn import MatchTurn
from tests.agent.serving.virtual import situation

HERE, FORCED = situation(3), situation(3, "a")


def test_nothing_follows_from_nothing() -> None:
    """Without a situation, nothing is decided and no move is known, whatever the engine's opinion."""
    turn = MatchTurn(3, thought=Thought(3, HERE.digest, Opinion("a", final=True), "engine"))
    assert not turn.decided
    assert turn.best_move() is None


def test_forced_moves_and_ends_need_no_thought() -> None:
    """A turn without a choice is decided as soon as that is known."""
    turn = MatchTurn(3, reference=FORCED)
    assert turn.decided
    assert (turn.best_move(), turn.reasons()) == ("a", "forced")
    assert MatchTurn(3, search=replace(HERE, terminal=True)).decided


def test_legal_opinion_is_the_answer() -> None:
    """The engine's move is taken if it is legal, the first legal one otherwise; a proof ends the thinking."""
    turn = MatchTurn(3, reference=HERE)
    assert (turn.decided, turn.best_move(), turn.reasons()) == (False, "a", "no opinion")
    turn.thought = Thought(3, HERE.digest, Opinion("b", Score(75.0)), "engine")
    assert (turn.decided, turn.best_move(), turn.reasons()) == (False, "b", "engine: value 75.0")
    turn.thought = Thought(
        3, HERE.digest, Opinion("b", Score(100.0, proven=True), final=True, info={"depth": 4}), "engine"
    )
    assert (turn.decided, turn.reasons()) == (True, "engine: value 100.0, proven, depth 4")
    turn.thought = Thought(3, HERE.digest, Opinion("c"), "engine")
    assert turn.best_move() == "a"


def test_reference_is_believed() -> None:
    """Where both processes have told a situation, the reference's counts; an opinion on another one ends no turn."""
    turn = MatchTurn(3, search=HERE, thought=Thought(3, HERE.digest, Opinion("b", final=True), "engine"))
    assert (turn.decided, turn.best_move(), turn.search_is_wrong) == (True, "b", False)
    turn.reference = situation(3, "c", "d")
    assert (turn.decided, turn.best_move(), turn.search_is_wrong) == (False, "c", True)
    turn.reference = situation(3, "c", "d", states=2)
    assert (turn.search_is_wrong, turn.place_due) == (False, True)
