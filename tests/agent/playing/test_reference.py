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
    reference.follow(("add", "wait"))
    assert count(reference) == "1"
    situation = reference.situation()
    assert (situation.turn, situation.legal, situation.terminal) == (1, ("wait",), False)


def test_illegal_joint_move_is_not_applied(reference: Reference) -> None:
    """A move that is illegal for its role changes nothing but the number of the turn."""
    reference.follow(("add", "add"))
    assert count(reference) == "0"
    assert reference.situation().turn == 1
    reference.follow(("add", "wait"))
    assert count(reference) == "1"


def test_joint_move_of_wrong_length_is_not_applied(reference: Reference) -> None:
    """One move for two roles changes nothing."""
    reference.follow(("add",))
    assert count(reference) == "0"


def test_refused_joint_move_is_applied_once_the_next_one_needs_it(reference: Reference) -> None:
    """An illegal joint move was meant if the manager goes on from there."""
    reference.follow(("wait", "wait"))
    assert count(reference) == "0"
    reference.follow(("wait", "add"))
    assert count(reference) == "1"


def test_unseen_joint_move_is_completed(reference: Reference) -> None:
    """If only the own move is known, the others' may be any legal ones."""
    reference.follow(Unseen("add"))
    assert count(reference) == "1"


def test_situation_tells_another_reference_where_to_go_on(reference: Reference) -> None:
    """A second machine takes the match up from the reported checkpoint."""
    reference.follow(("add", "wait"))
    checkpoint = reference.situation().checkpoint
    assert checkpoint is not None
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
