"""Kernels, and a preparation."""

from __future__ import annotations

import pytest

from agent.search.choosing.preparation import Preparation
from tests.circuits import Compile


@pytest.fixture(scope="session", autouse=True)
def _kernels(alpha_beta_kernels: None) -> None:
    """Compile the kernels before they are used."""


@pytest.fixture
def prepared(own: Compile) -> Preparation:
    """A preparation for tic-tac-toe."""
    return Preparation(own("tic_tac_toe"), 0, threads=2, seed=4)
