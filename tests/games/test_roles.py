"""Roles that no player has."""

from __future__ import annotations

import pytest

from games.machine import Term
from games.roles import is_random_role


@pytest.mark.parametrize(
    ("role", "expected"),
    [("random", True), ("RANDOM", True), ("Random", True), ("randomly", False), (("random",), False)],
)
def test_nature_is_known_by_its_name_in_any_case(role: Term, expected: bool) -> None:
    """Managers that write everything in upper case play `RANDOM` as well."""
    assert is_random_role(role) is expected
