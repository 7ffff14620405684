"""Fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

COMPILES = "compiles_kernels"
"""Marks the test that compiles all kernels into the cache, and counts what that takes."""


def pytest_configure(config: pytest.Config) -> None:
    """Declares the mark."""
    config.addinivalue_line("markers", f"{COMPILES}: runs first, so that the other tests load what it has compiled")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs the test that compiles the kernels before all others: a kernel that is compiled twice costs twice."""
    items.sort(key=lambda item: item.get_closest_marker(COMPILES) is None)


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
