"""A turn's situation in a known state, as either process of a match describes it, and its digest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from agent.playing.messages import MOST_SHOWN, JointMove, Situation
from games.machine import State, StateMachine, Term
from protocol.kif import write

DIGEST_BYTES = 16


def legal_moves(machine: StateMachine, state: State) -> list[list[Term]]:
    """Returns the legal moves of every role."""
    return [machine.legal(state, role) for role in range(len(machine.roles))]


def illegal_role(joint_move: JointMove, legal: Sequence[Sequence[Term]]) -> int | None:
    """Returns the first role whose move is illegal, or None. A role without legal moves may do anything."""
    for role, (move, moves) in enumerate(zip(joint_move, legal, strict=True)):
        if moves and move not in moves:
            return role
    return None


def describe(
    machine: StateMachine,
    state: State,
    role: int,
    turn: int,
    legal: Sequence[Sequence[Term]],
    last: JointMove | None,
) -> Situation:
    """Returns the situation of a known state. `last` is the joint move that led there; None if it is not known."""
    own = legal[role]
    terminal = machine.terminal(state)
    goals = tuple(machine.goal(state, one) for one in range(len(machine.roles))) if terminal else None
    return Situation(
        turn=turn,
        role=role,
        digest=digest_of(machine.facts(state), own, goals),
        legal=tuple(own[:MOST_SHOWN]),
        choices=len(own),
        terminal=terminal,
        goals=goals,
        repeatable=last is not None and not terminal and illegal_role(last, legal) is None,
    )


def digest_of(facts: Iterable[Term], legal: Iterable[Term], goals: Sequence[int | None] | None) -> bytes:
    """Returns the digest of a state: of its facts and the own legal moves; in a terminal state, where machines may
    differ in legal moves that nobody makes, of its facts and goals."""
    rest = sorted(map(write, legal)) if goals is None else ["terminal", *map(str, goals)]
    text = "\n".join((*sorted(map(write, facts)), "", *rest))
    return blake2b(text.encode(errors="surrogatepass"), digest_size=DIGEST_BYTES).digest()
