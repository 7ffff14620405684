"""Kernels, compiled before they are used."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def _kernels(alpha_beta_kernels: None) -> None:
    """Compile the kernels before they are used."""
