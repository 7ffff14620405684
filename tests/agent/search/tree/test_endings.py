"""Endings of matches."""

from __future__ import annotations

from agent.search.tree.decisive.endings import find_endings
from games import rulesheets
from tests.circuits import machine_of


def endings_of(text: str) -> set[tuple[frozenset[object], frozenset[object]]]:
    """Facts that hold, and facts that do not."""
    game = machine_of(text).game
    return {
        (frozenset(game.fluents[fact] for fact in facts), frozenset(game.fluents[fact] for fact in absent))
        for facts, absent in find_endings(game.programs, 60.0)
    }


def test_lines_of_tic_tac_toe() -> None:
    """Eight lines for each mark; a full board is no set of facts."""
    endings = endings_of(rulesheets.text("tic_tac_toe"))
    assert len(endings) == 16
    assert {(len(facts), len(absent)) for facts, absent in endings} == {(3, 0)}


def test_a_sum_of_products_is_multiplied_out() -> None:
    """Shared gates make no difference; only the smallest sets are found, and none of absent facts alone."""
    endings = endings_of(
        """
        (role r) (init (lamp 0))
        (index 1) (index 2) (index 3) (index 4)
        (<= (legal r (put ?x)) (index ?x))
        (<= (next (at ?x)) (does r (put ?x)))
        (<= (next (at ?x)) (true (at ?x)))
        (<= (next (lamp ?x)) (true (lamp ?x)))
        (<= some (true (at 3)))
        (<= some (true (at 4)))
        (<= terminal (true (at 1)) (true (at 2)) some)
        (<= terminal (true (at 1)) (true (at 2)) (true (at 3)) (true (lamp 0)))
        (<= terminal (true (at 4)) (not (true (at 1))))
        (<= terminal (not (true (lamp 0))))
        (<= (goal r 100) terminal)
        """
    )
    at = [("at", str(x)) for x in range(5)]
    assert endings == {
        (frozenset({at[1], at[2], at[3]}), frozenset()),
        (frozenset({at[1], at[2], at[4]}), frozenset()),
        (frozenset({at[4]}), frozenset({at[1]})),
    }
