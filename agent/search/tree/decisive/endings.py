"""Endings of a match: sets of facts that together make a state terminal."""

from __future__ import annotations

from typing import NamedTuple

from games.gdl.running.layout import FIRST_FLUENT, SLOT_FALSE, SLOT_TRUE, CircuitPrograms, gates_of
from games.time_limit import time_limit

MOST_EDGES = 50_000
"""Most gate inputs of a circuit that is examined."""
MOST_TERMS = 2000
"""Most products in a signal's sum."""
MOST_FACTS, MOST_ABSENT = 6, 2
"""Most facts that a product wants to hold, and to be absent; larger ones are dropped. Two more pieces make a line too
long, which does not win everywhere."""

_Signal = tuple[int, bool]
"""A slot, and whether it is meant itself (true) or its complement."""
_Terms = set[frozenset[int]]
"""A sum of products; fluent f is the factor f + 1, its complement -f - 1."""


class Ending(NamedTuple):
    """Fluents by index, ascending; the match is over when they hold and those `absent` do not."""

    facts: tuple[int, ...]
    absent: tuple[int, ...] = ()


def find_endings(programs: CircuitPrograms, seconds: float) -> list[Ending]:
    """The endings that need the fewest facts; none of absent ones alone.

    These are the products in the disjunctive normal form of the terminal signal, multiplied out from the fluents up.
    Products that grow too large are dropped, so endings may be missing. Empty if it takes more than `seconds` (see
    `time_limit`).
    """
    if len(programs.legal.inputs) > MOST_EDGES:
        return []
    gates = list(gates_of(programs.legal))
    wanted: set[_Signal] = {(int(programs.terminal_slot), True)}
    for out, flip, inputs in reversed(gates):
        for positive in (True, False):
            if (out, positive) in wanted:
                # A product of its inputs, or a sum of their complements.
                wanted.update((slot, positive != bool(flip)) for slot in inputs)
    n_fluents = len(programs.next_slot)
    terms: dict[_Signal, _Terms | None] = {}
    for slot, positive in wanted:
        if slot in (SLOT_TRUE, SLOT_FALSE):
            terms[slot, positive] = {frozenset()} if (slot == SLOT_TRUE) == positive else set()
        elif FIRST_FLUENT <= slot < FIRST_FLUENT + n_fluents:
            fact = slot - FIRST_FLUENT + 1
            terms[slot, positive] = {frozenset((fact if positive else -fact,))}
    is_over = time_limit(seconds)
    for out, flip, inputs in gates:
        if is_over():
            return []
        for positive in (True, False):
            if (out, positive) not in wanted:
                continue
            # Cyclic signals have no gate: their terms are unknown.
            operands = [terms.get((slot, positive != bool(flip))) for slot in inputs]
            found = _product(operands) if positive != bool(flip) else _sum(operands)
            terms[out, positive] = found
    endings = terms.get((int(programs.terminal_slot), True)) or set()
    by_factor: dict[int, list[frozenset[int]]] = {}
    for ending in endings:
        for factor in ending:
            by_factor.setdefault(factor, []).append(ending)
    smallest = [sorted(one) for one in endings if not any(other < one for factor in one for other in by_factor[factor])]
    return sorted(
        Ending(tuple(f - 1 for f in one if f > 0), tuple(sorted(-f - 1 for f in one if f < 0)))
        for one in smallest
        if one and one[-1] > 0
    )


def _product(operands: list[_Terms | None]) -> _Terms | None:
    """The product; None if an operand is unknown or there would be too many terms."""
    product: _Terms = {frozenset()}
    # The smallest first: an empty operand ends it early.
    for terms in sorted(operands, key=lambda terms: -1 if terms is None else len(terms)):
        if terms is None or len(product) * len(terms) > MOST_TERMS:
            return None
        joined = {one | other for one in product for other in terms}
        product = {term for term in joined if _is_small(term) and not any(-factor in term for factor in term)}
    return product


def _is_small(term: frozenset[int]) -> bool:
    absent = sum(factor < 0 for factor in term)
    return absent <= MOST_ABSENT and len(term) - absent <= MOST_FACTS


def _sum(operands: list[_Terms | None]) -> _Terms:
    """The sum, without unknown or too large operands: each product is sufficient by itself."""
    found: _Terms = set()
    for terms in operands:
        if terms is not None and len(found) + len(terms) <= MOST_TERMS:
            found |= terms
    return found
