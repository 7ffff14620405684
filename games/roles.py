"""Roles, and the one that no player has."""

from __future__ import annotations

from collections.abc import Sequence

from games.machine import Term


def is_random_role(role: Term) -> bool:
    """Whether a role is nature: named `random`, in any case. The manager plays it, uniformly at random."""
    return isinstance(role, str) and role.lower() == "random"


def are_two_players(roles: Sequence[Term]) -> bool:
    """Whether the roles of a game are two players, without nature."""
    return len(roles) == 2 and not any(map(is_random_role, roles))
