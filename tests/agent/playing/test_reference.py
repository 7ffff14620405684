"""The reference state, whatever the manager sends."""

from __future__ import annotations

import pytest

from agent.playing.messages import Checkpoint, Unseen
from agent.playing.reference import Reference
from tests.matches import interpreter_of

RULES = """
(role left) (role right)
(init (count 0)) (init (turn left))
(succ 0 1) (succ 1 2) (succ 2 3)
(<= (legal ?r add) (true (turn ?r)) (true (count ?n)) (succ ?n ?m))
(<= (legal ?r wait) (role ?r) (not (true (turn ?r))))
(<= (next (count ?m)) (does ?r add) (true (count ?n)) (succ ?n ?m))
(<= (next (count ?n)) (true (count ?n)) (not added))
(<= added (does ?r add))
(<= (next (turn left)) (true (turn right)))
(<= (next (turn right)) (true (turn left)))
(<= (goal ?r 100) (role ?r) (true (count 3)))
(<= terminal (true (count 3)))
"""


@pytest.fixture
def reference() -> Reference:
    """Returns the left player's match, at its start."""
    return Reference(interpreter_of(RULES), 0, Checkpoint())


def count(reference: Reference) -> str:
    """Returns the present count."""
    (number,) = [fact[1] for fact in reference.machine.facts(reference.state) if fact[0] == "count"]
    return str(number)


def test_legal_joint_move_is_applied(reference: Reference) -> None:
    """A legal joint move leads to the next state, which the situation describes."""
    ((joint_move, state),) = reference.follow(("add", "wait"))
    assert joint_move == ("add", "wait")
    assert state == reference.state
    situation = reference.situation()
    assert (situation.turn, situation.legal, situation.terminal) == (1, ("wait",), False)


def test_illegal_joint_move_is_not_applied(reference: Reference) -> None:
    """A move that is illegal for its role changes nothing but the number of the turn."""
    assert reference.follow(("add", "add")) == []
    assert count(reference) == "0"
    assert reference.situation().turn == 1
    assert len(reference.follow(("add", "wait"))) == 1


def test_joint_move_of_wrong_length_is_not_applied(reference: Reference) -> None:
    """One move for two roles changes nothing."""
    assert reference.follow(("add",)) == []
    assert count(reference) == "0"


def test_refused_joint_move_is_applied_once_the_next_one_needs_it(reference: Reference) -> None:
    """An illegal joint move was meant if the manager goes on from there."""
    reference.follow(("wait", "wait"))
    assert [joint_move for joint_move, _ in reference.follow(("wait", "add"))] == [("wait", "wait"), ("wait", "add")]
    assert count(reference) == "1"


def test_unseen_joint_move_is_completed(reference: Reference) -> None:
    """If only the own move is known, the others' may be any legal ones."""
    reference.follow(Unseen("add"))
    assert count(reference) == "1"


def test_situation_tells_another_reference_where_to_go_on(reference: Reference) -> None:
    """A second machine takes the match up from the reported checkpoint."""
    reference.follow(("add", "wait"))
    checkpoint = reference.situation().checkpoint
    other = Reference(reference.machine, 1, checkpoint)
    assert (other.turn, other.legal) == (1, [["wait"], ["add"]])


def test_terminal_situation_has_goals(reference: Reference) -> None:
    """At the end the result is part of the situation."""
    for joint_move in (("add", "wait"), ("wait", "add"), ("add", "wait")):
        reference.follow(joint_move)
    situation = reference.situation()
    assert situation.terminal
    assert situation.goals == (100, 100)


def test_joint_move_is_repeatable_only_where_legal_again(reference: Reference) -> None:
    """A player who alternates cannot move twice in a row."""
    reference.follow(("add", "wait"))
    assert not reference.situation().repeatable


def test_every_state_on_the_way_is_observed_once() -> None:
    """Each step is observed, also both of two applied at once; a refused one is not."""
    checkpoint = Checkpoint(since=(("add", "wait"),))
    reference = Reference(interpreter_of(RULES), 0, checkpoint)
    first, second = reference.observations()
    assert first.initial
    assert first.step is None
    assert not second.initial
    assert second.step is not None
    assert (second.step.before, second.step.joint_move) == (first.facts, ("add", "wait"))
    assert second.legal == (("wait",), ("add",))
    reference.follow(("add", "add"))
    assert not list(reference.observations())
    assert len(reference.follow(("wait", "add"))) == 1
    assert [seen.facts for seen in reference.observations()] == [reference.machine.facts(reference.state)]


def test_known_state_is_not_observed_as_the_initial_one() -> None:
    """A match taken up somewhere in the middle has no step to compare first."""
    reference = Reference(interpreter_of(RULES), 0, Checkpoint(1, frozenset([("count", "1")])))
    (seen,) = reference.observations()
    assert not seen.initial
    assert seen.step is None
