"""Finds in random matches which moves make which facts true, and under which conditions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from games.time_limit import time_limit

MOST_CONDITIONS = 3
"""Most conditions under which a move makes a fact true; moves with more are left out."""
SEEN = 5
"""Fewest times that a move was made, and made the fact true."""

Condition = tuple[int, int]
"""(f + 1, 0): fact f holds; (-f - 1, 0): it does not; (f + 1, g + 1): one of facts f and g holds. Numbers f from the
number of facts on are groups, of which at most one fact holds: they tell empty cells that no fact names."""


class Transitions:
    """Positions of random matches, the joint moves made there, and the next positions."""

    def __init__(self, before: NDArray[np.bool_], after: NDArray[np.bool_], moves: NDArray[np.int32]) -> None:
        """`before` (n, fluents + groups) and `after` (n, fluents) say whether facts and groups hold; `moves` (n, roles)
        are numbered over all roles."""
        self.before, self.after, self.moves = before, after, moves

    def __getitem__(self, which: NDArray[np.bool_]) -> Transitions:
        """The transitions of a mask (n)."""
        return Transitions(self.before[which], self.after[which], self.moves[which])


def with_groups(facts: NDArray[np.bool_], groups: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """(n, fluents + groups): whether each fact (n, fluents), and any fact of each group, holds."""
    known = np.zeros((len(facts), facts.shape[1] + len(groups)), np.bool_)
    known[:, : facts.shape[1]] = facts
    for i, group in enumerate(groups, facts.shape[1]):
        known[:, i] = facts[:, group].any(axis=1)
    return known


def find_makers(
    transitions: Transitions, wanted: NDArray[np.bool_], rivals: Sequence[Sequence[int]], seconds: float
) -> dict[tuple[int, int], list[Condition]]:
    """By move and fact, the conditions under which the legal move makes the fact true, if it ever did.

    `wanted` (fluents) are the facts that matter, `rivals` the facts that exclude each one. Only moves count that a role
    made while the others had to wait. Empty after more than `seconds` (see `time_limit`).
    """
    is_over = time_limit(seconds)
    added = transitions.after & ~transitions.before[:, : transitions.after.shape[1]]
    makers: dict[tuple[int, int], list[Condition]] = {}
    for role in range(transitions.moves.shape[1]):
        moves, others = transitions.moves[:, role], np.delete(transitions.moves, role, axis=1)
        order = np.argsort(moves, kind="stable")
        values, begins = np.unique(moves[order], return_index=True)
        for move, rows in zip(values.tolist(), np.split(order, begins[1:]), strict=True):
            if len(rows) < SEEN or (others[rows] != others[rows[0]]).any():
                continue
            made, held = added[rows], transitions.before[rows]
            for fact in np.flatnonzero(wanted & (made.sum(axis=0) >= SEEN)).tolist():
                if is_over():
                    return {}
                did = made[:, fact]
                conditions = _conditions(held[did], held[~did & ~held[:, fact]], rivals)
                if conditions is not None:
                    makers[move, fact] = conditions
    return makers


def _conditions(
    where: NDArray[np.bool_], elsewhere: NDArray[np.bool_], rivals: Sequence[Sequence[int]]
) -> list[Condition] | None:
    """Conditions that all hold in every state of `where`, and in none of `elsewhere` (n, fluents + groups).

    Found greedily, by the number of excluded states; None if more than `MOST_CONDITIONS` are needed.
    """
    conditions: list[Condition] = []
    always, never = where.all(axis=0), ~where.any(axis=0)
    while len(elsewhere):
        if len(conditions) == MOST_CONDITIONS:
            return None
        holding = elsewhere.sum(axis=0)
        by_presence = np.where(always, len(elsewhere) - holding, 0)
        by_absence = np.where(never, holding, 0)
        present, absent = int(by_presence.argmax()), int(by_absence.argmax())
        if by_presence[present] >= by_absence[absent]:
            most, best, left = int(by_presence[present]), (present + 1, 0), elsewhere[:, present]
        else:
            most, best, left = int(by_absence[absent]), (-absent - 1, 0), ~elsewhere[:, absent]
        if most < len(elsewhere):
            facts = np.flatnonzero(~always & ~never)
            for f in facts[facts < len(rivals)].tolist():
                for g in rivals[f]:
                    if g > f and (where[:, f] | where[:, g]).all():
                        either = elsewhere[:, f] | elsewhere[:, g]
                        excluded = len(elsewhere) - int(either.sum())
                        if excluded > most:
                            most, best, left = excluded, (f + 1, g + 1), either
        if most == 0:
            return None
        conditions.append(best)
        elsewhere = elsewhere[left]
    return conditions
