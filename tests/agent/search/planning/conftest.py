"""Kernels for planning."""

from __future__ import annotations

import pytest

from agent.search.planning.rollouts import warm_kernels
from games.gdl.compile import warm_kernels as warm_circuits


@pytest.fixture(scope="session", autouse=True)
def _kernels(tree_kernels: None) -> None:
    """Compile the kernels before they are used."""
    warm_kernels(warm_circuits())
