"""The groups of kernels that a game needs."""

from __future__ import annotations

import pytest

from agent.search.kernel_groups import ALPHA_BETA, CIRCUIT, PLANNING, TREE, needed_for
from tests.circuits import own_machine


@pytest.mark.parametrize(
    ("game", "groups"),
    [
        ("reversi", {CIRCUIT, "reversi"}),
        ("tic_tac_toe", {CIRCUIT, TREE, ALPHA_BETA}),
        ("eight_puzzle", {CIRCUIT, TREE, PLANNING}),
        ("three_way_line", {CIRCUIT, TREE}),
    ],
)
def test_groups_are_those_of_the_engine_that_plays(game: str, groups: set[str]) -> None:
    """A native family's game needs no general engine, and of these only those for its number of players."""
    assert set(needed_for(own_machine(game))) == groups
