"""Time for what is found within limits."""

from __future__ import annotations

import weakref

import pytest

from agent.search.tree.decisive import finding


@pytest.fixture
def time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, decisive moves are found."""
    for limit in ("ENDINGS_SECONDS", "MAKERS_SECONDS"):
        monkeypatch.setattr(finding, limit, 1000.0)
    # Other tests may have looked at the same machines in less time.
    monkeypatch.setattr(finding, "_known", weakref.WeakKeyDictionary())
