"""Roles that no player has."""

from __future__ import annotations

from games.machine import Term


def is_random_role(role: Term) -> bool:
    """Whether a role is nature: named `random`, in any case. The manager plays it, uniformly at random."""
    return isinstance(role, str) and role.lower() == "random"
