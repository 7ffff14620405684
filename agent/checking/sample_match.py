"""A match at random, drawn for the author of the rules."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field

from agent.boards.layout import Layout
from games.machine import StateMachine, Term
from protocol.kif import write

MOST_PLIES = 400
"""Plies after which a match is cut off."""

MOST_SECONDS = 5.0
"""Time after which a match is cut off."""

MOST_FACTS = 12
"""Facts shown of a position without a board."""

MOST_MOVES = 12
"""Moves shown between two positions: the first and the last ones."""


@dataclass
class SampleMatch:
    """A match, perhaps not to its end."""

    positions: list[frozenset[Term]]
    moves: list[tuple[Term, ...]] = field(default_factory=list)
    goals: list[int | None] | None = None
    """None for a match that was cut off."""


def play_sample(machine: StateMachine, seed: int = 1) -> SampleMatch:
    """Plays a match at random."""
    chance = random.Random(seed)
    deadline = time.monotonic() + MOST_SECONDS
    state = machine.initial()
    match = SampleMatch([machine.facts(state)])
    roles = range(len(machine.roles))
    while not machine.terminal(state):
        legal = [machine.legal(state, role) for role in roles]
        if not all(legal) or len(match.moves) >= MOST_PLIES or time.monotonic() > deadline:
            return match
        joint_move = tuple(chance.choice(moves) for moves in legal)
        state = machine.next(state, joint_move)
        match.moves.append(joint_move)
        match.positions.append(machine.facts(state))
    match.goals = [machine.goal(state, role) for role in roles]
    return match


def sample_json(match: SampleMatch, count: int) -> dict[str, object]:
    """Moves, goals, and the facts of the drawn positions."""
    return {
        "moves": [[write(move) for move in joint_move] for joint_move in match.moves],
        "goals": match.goals,
        "positions": [
            {"ply": ply, "facts": sorted(map(write, match.positions[ply]))}
            for ply in chosen(len(match.positions), count)
        ],
    }


def chosen(positions: int, count: int) -> list[int]:
    """`count` plies, spread evenly from the first to the last."""
    if count < 2 or positions < 2:
        return list(range(min(count, positions)))
    count = min(count, positions)
    return [round(index * (positions - 1) / (count - 1)) for index in range(count)]


def draw_sample(match: SampleMatch, layout: Layout, machine: StateMachine, count: int) -> list[str]:
    """Positions as text boards, or else as new facts, with the moves between them."""
    lines: list[str] = []
    before = 0
    for ply in chosen(len(match.positions), count):
        for joint_move in _some(match.moves[before:ply]):
            lines.append("  " + joint_move)
        facts = match.positions[ply]
        lines += ["", f"after {ply} {'ply' if ply == 1 else 'plies'}:" if ply else "the first position:"]
        board = layout.text(facts)
        if board is None:
            old = match.positions[before] if ply else frozenset()
            new = sorted(map(write, facts - old))
            more = [f"  ... and {len(new) - MOST_FACTS} more"] if len(new) > MOST_FACTS else []
            lines += [f"  {fact}" for fact in new[:MOST_FACTS]] + more
        else:
            lines += [f"  {line}" for line in board.split("\n")]
        before = ply
    roles = [write(role) for role in machine.roles]
    if match.goals is None:
        lines.append("the match goes on, or is stuck, from here")
    else:
        goals = ("no value" if goal is None else str(goal) for goal in match.goals)
        lines.append("the end: " + ", ".join(f"{role} {goal}" for role, goal in zip(roles, goals, strict=True)))
    return lines


def _some(moves: list[tuple[Term, ...]]) -> list[str]:
    texts = [" | ".join(map(write, joint_move)) for joint_move in moves]
    if len(texts) <= MOST_MOVES:
        return texts
    half = MOST_MOVES // 2
    return [*texts[:half], f"... {len(texts) - 2 * half} more ...", *texts[-half:]]
