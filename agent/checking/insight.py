"""Insight for authors of rulesheets: reach of random matches, winners of small games."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from agent.search.engine import Limit, consider
from agent.search.tree.engine import TreeSearch
from games.gdl.running.batches import facts_in
from games.gdl.running.machine import CircuitMachine
from games.machine import Term

PROOF_SECONDS = 1.0
"""Seconds of search for each role to prove the value of a small game."""


@dataclass(frozen=True)
class Reached:
    """Reach of random matches."""

    facts: int
    """Changing facts that were ever true."""
    possible_facts: int
    moves: int
    """Moves of all roles that were ever legal."""
    possible_moves: int
    latches: dict[str, int]
    """Facts that became true and never false again, by relation."""
    never_legal: dict[str, int]
    """Moves that were never legal, by name."""


def reached_by(machine: CircuitMachine) -> Reached:
    """The reach of random matches, over all their positions."""
    game, positions = machine.game, machine.sample
    bits = facts_in(positions.states, len(game.fluents))
    before, after = bits[:-1], bits[1:]
    same = (positions.match[1:] == positions.match[:-1])[:, None]
    rises = (~before & after & same).any(axis=0)
    falls = (before & ~after & same).any(axis=0)
    legal, _ = machine.legal_of(positions.states[~positions.terminal])
    moves = [move for of_role in game.moves for move in of_role]
    seen = legal.any(axis=0)
    return Reached(
        facts=int(bits.any(axis=0).sum()),
        possible_facts=len(game.fluents),
        moves=int(seen.sum()),
        possible_moves=len(moves),
        latches=_by_name(game.fluents[i] for i in np.flatnonzero(rises & ~falls)),
        never_legal=_by_name(moves[i] for i in np.flatnonzero(~seen)),
    )


def _by_name(terms: Iterable[Term]) -> dict[str, int]:
    return dict(Counter(str(term[0]) if isinstance(term, tuple) and term else str(term) for term in terms))


def proven_values(machine: CircuitMachine) -> list[float] | None:
    """The goal of each role by best play; None where `PROOF_SECONDS` a role do not prove it."""
    values = []
    state = machine.initial()
    if machine.terminal(state):
        return None
    for role in range(len(machine.roles)):
        engine = TreeSearch(machine, role)
        engine.begin(state)
        opinion = consider(engine, machine.legal(state, role), Limit(PROOF_SECONDS))
        if opinion.score is None or not opinion.score.proven:
            return None
        values.append(round(opinion.score.goal, 2))
    return values
