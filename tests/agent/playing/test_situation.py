"""Digests of situations: circuit and interpreter must agree, else a search is ended for nothing."""

from __future__ import annotations

import random

import pytest

from agent.playing.situation import describe, digest_of, illegal_role, legal_moves
from agent.record.spelling import states_from_json, states_to_json
from games import rulesheets
from games.machine import NO_MOVE, State, StateMachine
from tests.circuits import own_machine
from tests.matches import own_interpreter

STATES = 16
"""States compared along a match, besides the first and the last."""


def digest(machine: StateMachine, state: State, role: int) -> bytes:
    """Returns the digest of a state."""
    return describe(machine, state, role, 0, legal_moves(machine, state), None).digest


@pytest.mark.parametrize("name", rulesheets.names())
def test_circuit_and_interpreter_have_the_same_digests(name: str) -> None:
    """In states of a random match, for every role; each has its own."""
    circuit, interpreter = own_machine(name), own_interpreter(name)
    rng = random.Random(1)
    states = [circuit.initial()]
    while not circuit.terminal(states[-1]) and len(states) < 400:
        joint_move = [rng.choice(moves or [NO_MOVE]) for moves in legal_moves(circuit, states[-1])]
        states.append(circuit.next(states[-1], joint_move))
    chosen = {0, len(states) - 1, *rng.sample(range(len(states)), min(STATES, len(states)))}
    found = set()
    for number in sorted(chosen):
        state = states[number]
        other = interpreter.state(circuit.facts(state))
        for role in range(len(circuit.roles)):
            assert digest(circuit, state, role) == digest(interpreter, other, role)
            assert circuit.state(interpreter.facts(other)) == state
        found.add(digest(circuit, state, 0))
    assert len(found) == len({states[number] for number in chosen})


def test_digest_tells_states_legal_moves_and_results_apart() -> None:
    """In any order."""
    one = digest_of(["a", ("b", "c")], ["go", "stay"], None)
    assert digest_of([("b", "c"), "a"], ["stay", "go"], None) == one
    others = [
        digest_of(["a"], ["go", "stay"], None),
        digest_of(["a", ("b", "c")], ["go"], None),
        digest_of(["a", ("b", "c"), "go"], ["stay"], None),
        digest_of(["a", ("b", "c")], ["go", "stay"], (100, 0)),
        digest_of(["a", ("b", "c")], ["go", "stay"], (0, 100)),
        digest_of(["a", ("b", "c")], ["go", "stay"], (None, 0)),
    ]
    assert len({one, *others}) == 7
    # Nobody makes a move where the match is over.
    assert digest_of(["a", ("b", "c")], [], (100, 0)) == others[3]


def test_states_are_read_as_they_were_written() -> None:
    """Weights, and facts that are strings or lists of these; nothing else."""
    states = [(frozenset(["on", ("cell", "1", ("f", "x")), "İ"]), 0.25), (frozenset(), 0.75)]
    assert states_from_json(states_to_json(states)) == states


NO_STATES = b"", b'"a"', b"{}", b"[]", b"[1]", b"[[1]]", b"[[1,[[]]]]", b"[[0,[]]]", b"[" * 99 + b"]" * 99, b"\xff"


@pytest.mark.parametrize("text", NO_STATES)
def test_other_text_is_no_list_of_states(text: bytes) -> None:
    """A journal may be damaged."""
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it is that is wrong
        states_from_json(text)


def test_role_without_legal_moves_may_do_anything() -> None:
    """The first role is named whose move is illegal."""
    assert illegal_role(("a", "b"), [["a"], []]) is None
    assert illegal_role(("a", "b"), [["a"], ["c"]]) == 1
