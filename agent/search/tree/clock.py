"""Fluents that count the moves of a match, such as step counters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.gdl.running.layout import ARITY, COUNT, FIRST, FIRST_FLUENT, OUT, CircuitPrograms


def clock_fluents(programs: CircuitPrograms) -> NDArray[np.bool_]:
    """Per fluent, whether its value depends only on the number of moves made since the initial state.

    They are the largest set of fluents whose next values depend on no choice of a move and on no other fluent.
    """
    n_fluents = len(programs.next_slot)
    fluents = slice(FIRST_FLUENT, FIRST_FLUENT + n_fluents)
    dependent = np.zeros(programs.n_slots, np.bool_)
    """Per slot, whether it depends on moves or other fluents."""
    # The other sets tell that no move is made: one is, whichever it may be.
    dependent[programs.set_slot[: programs.set_start[programs.role_start[-1]]]] = True
    while True:
        before = int(dependent.sum())
        for program in (programs.legal, programs.next):
            for run in program.runs:
                arity, count, first, out = (int(run[column]) for column in (ARITY, COUNT, FIRST, OUT))
                if arity:
                    inputs = program.inputs[first : first + arity * count].reshape(count, arity)
                    dependent[out : out + count] |= dependent[inputs].any(axis=1)
                else:
                    pairs = program.inputs[first : first + 2 * count].reshape(count, 2)
                    dependent[pairs[:, 0]] |= dependent[pairs[:, 1]]
        dependent[fluents] |= dependent[programs.next_slot]
        if int(dependent.sum()) == before:
            return ~dependent[fluents]
