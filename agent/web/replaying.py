"""Positions that were not seen, from the moves that led to them: a match that was taken up again after a restart."""

from __future__ import annotations

import time

from agent.web.transcript import Transcript
from games.machine import Term

MOST_SECONDS = 5.0
"""That following a match may take. Set by hand; not tuned."""


def unseen(transcript: Transcript, ply: int) -> bool:
    """Whether the position at a ply is not known, but one that the match has reached from there is."""
    positions = transcript.positions[: len(transcript.positions)]
    return (
        bool(transcript.rules)
        and ply < len(positions)
        and positions[ply].facts is None
        and any(position.facts is not None for position in positions[ply + 1 :])
    )


def replayed(transcript: Transcript) -> list[frozenset[Term]] | None:
    """The positions from the first to the one before the first known one, by the rules and the moves.

    None where they cannot be told: some move is not known, the known position is not what these moves lead to, it takes
    too long. Raises `GameError` where the rules do not bear it. To be called in a thread.
    """
    positions = list(transcript.positions)
    known = next((ply for ply, position in enumerate(positions) if position.facts is not None), None)
    if known is None or any(position.moves is None for position in positions[1 : known + 1]):
        return None
    # Hardly a page needs them.
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
