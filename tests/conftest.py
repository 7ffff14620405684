"""Fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of third-party rulesheets and their reference traces; tests that need it skip where it is absent."""
    folder = SHARED / "corpus"
    if not folder.is_dir():
        pytest.skip(f"needs the rulesheet corpus at {folder}")
    return folder


@pytest.fixture(scope="session")
def wire() -> Path:
    """The folder of recorded conversations with real managers; tests that need it skip where it is absent."""
    folder = SHARED / "wire"
    if not folder.is_dir():
        pytest.skip(f"needs the recorded conversations at {folder}")
    return folder
