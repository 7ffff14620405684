"""Fixtures of matches in virtual time."""

from __future__ import annotations

import pytest

from tests.agent.serving.virtual import Run, run


@pytest.fixture
def in_virtual_time(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a match's course."""
    return lambda course: run(monkeypatch, course)
