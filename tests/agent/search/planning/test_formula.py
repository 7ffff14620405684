"""Formulas: folding, sharing, solving."""

from __future__ import annotations

import pytest

from agent.search.planning.formula import FALSE, TRUE, Formula, Literal


def _satisfiable(formula: Formula, *assumptions: Literal) -> bool:
    return bool(formula.control().solve(assumptions).satisfiable)


def test_constants_are_folded_and_equal_definitions_are_one() -> None:
    """No atom is made for constants and existing definitions."""
    formula = Formula()
    a, b = formula.choice(), formula.choice()
    assert formula.all_of([]) == TRUE
    assert formula.any_of([]) == FALSE
    assert formula.all_of([a, TRUE]) == a
    assert formula.all_of([a, b, FALSE]) == FALSE
    assert formula.all_of([a, -a]) == FALSE
    assert formula.all_of([a, b]) == formula.all_of([b, a, b])
    assert formula.any_of([a, TRUE]) == TRUE
    assert formula.either(a, b, b) == b


@pytest.mark.parametrize(("true", "count", "holds"), [(2, 2, True), (2, 3, False), (0, 1, False), (3, 0, True)])
def test_counts(true: int, count: int, holds: bool) -> None:
    """At least `count` of three atoms, `true` of which hold."""
    formula = Formula()
    atoms = [formula.choice() for _ in range(3)]
    enough = formula.at_least(count, atoms)
    given = [atom if i < true else -atom for i, atom in enumerate(atoms)]
    assert _satisfiable(formula, *given, enough) is holds


def test_what_supports_only_itself_is_false() -> None:
    """Cyclic definitions need a reason outside of the cycle."""
    formula = Formula()
    reason, first, second = formula.choice(), formula.atom(), formula.atom()
    formula.define(first, (second,))
    formula.define(second, (first,))
    formula.define(second, (reason,))
    assert _satisfiable(formula, first, reason)
    assert not _satisfiable(formula, first, -reason)


def test_at_most_one() -> None:
    """None, one, but not two."""
    formula = Formula()
    a, b = formula.choice(), formula.choice()
    formula.at_most_one([a, b])
    assert _satisfiable(formula, -a, -b)
    assert _satisfiable(formula, a, -b)
    assert not _satisfiable(formula, a, b)
