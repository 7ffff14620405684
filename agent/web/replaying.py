"""Unseen positions of a match that was taken up after a restart, computed from its moves."""

from __future__ import annotations

import time

from agent.web.transcript import Transcript
from games.machine import Term

MOST_SECONDS = 5.0
"""Most seconds for replaying a match."""


def unseen(transcript: Transcript, ply: int) -> bool:
    """Returns whether the position at a ply is unknown, but a later one is known."""
    positions = transcript.positions[: len(transcript.positions)]
    return (
        bool(transcript.rules)
        and ply < len(positions)
        and positions[ply].facts is None
        and any(position.facts is not None for position in positions[ply + 1 :])
    )


def replayed(transcript: Transcript) -> list[frozenset[Term]] | None:
    """Returns the positions before the first known one, according to the rules and the moves.

    None where a move is unknown, the moves do not lead to the known position, or the time is over. Raises `GameError`.
    To be called in a thread.
    """
    positions = list(transcript.positions)
    known = next((ply for ply, position in enumerate(positions) if position.facts is not None), None)
    if known is None or any(position.moves is None for position in positions[1 : known + 1]):
        return None
    # Imported here, as pages rarely need them.
    from games.gdl.interpreter.machine import Interpreter
    from games.gdl.rules.check import check

    deadline = time.monotonic() + MOST_SECONDS
    machine = Interpreter(check(transcript.rules))
    state = machine.initial()
    found = []
    for position in positions[1 : known + 1]:
        found.append(machine.facts(state))
        state = machine.next(state, position.moves or ())
        if time.monotonic() > deadline:
            return None
    return found if machine.facts(state) == positions[known].facts else None
