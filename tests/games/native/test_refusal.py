"""Reasons why games belong to no native family."""

from __future__ import annotations

import pytest

from games.families import FAMILIES
from tests.circuits import own_machine

REVERSI, BLOKBOX = FAMILIES


@pytest.mark.parametrize(
    ("game", "reversi", "blokbox"),
    [
        ("tic_tac_toe", "several moves are legal", ""),
        ("connect_four", "they do not form cells", ""),
        ("eight_puzzle", "1 role instead of 2", "1 role instead of 2"),
        ("rock_paper_scissors", "a role has 3 moves", "take turns"),
        ("breakthrough", "a role has 155 moves, more than 64 cells and a pass", "uses up 0 facts that could be pieces"),
    ],
)
def test_reasons_name_what_was_found(game: str, reversi: str, blokbox: str) -> None:
    """The text has the failed check, and what it found."""
    machine = own_machine(game)
    for family, expected in ((REVERSI, reversi), (BLOKBOX, blokbox)):
        reason = family.refusal(machine)
        assert reason is not None
        assert expected in reason


def test_members_are_not_refused() -> None:
    """Except by the other family."""
    machine = own_machine("reversi")
    assert REVERSI.refusal(machine) is None
    assert BLOKBOX.refusal(machine) is not None
