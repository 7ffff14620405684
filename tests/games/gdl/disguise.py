"""Disguises rules: the same rules in other words."""

from __future__ import annotations

import random
from collections.abc import Sequence

from games.machine import Term
from protocol.scramble import ScrambleStyle, make_scrambler
from protocol.terms import fold_keywords


def _reordered(term: Term, rng: random.Random) -> Term:
    """The statement with the parts of bodies, disjunctions and `distinct` in another order."""
    if isinstance(term, str) or not term:
        return term
    if term[0] == "not":
        return ("not", _reordered(term[1], rng))
    fixed = {"<=": 2, "or": 1, "and": 1, "distinct": 1}.get(str(term[0]))
    if fixed is None:
        return term
    rest = [_reordered(part, rng) for part in term[fixed:]]
    rng.shuffle(rest)
    return (*term[:fixed], *rest)


def disguised(
    statements: Sequence[Term], terms: Sequence[Term], style: ScrambleStyle, seed: int
) -> tuple[list[Term], list[Term]]:
    """The rules scrambled as a manager does, in another order, and the new form of some of their terms."""
    scrambler, rng = make_scrambler(style, seed), random.Random(seed)
    scrambled = fold_keywords(tuple(map(scrambler.scramble, statements)))
    found = [_reordered(statement, rng) for statement in scrambled]
    rng.shuffle(found)
    return found, [scrambler.scramble(term) for term in terms]
