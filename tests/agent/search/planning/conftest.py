"""The kernels that planning needs."""

from __future__ import annotations

import pytest

from agent.search.planning.engine import warm_kernels
from agent.search.tree.engine import warm_kernels as warm_tree
from games.gdl.compile import warm_kernels as warm_circuits


@pytest.fixture(scope="session", autouse=True)
def _kernels() -> None:
    """Compile the kernels before they are used."""
    warm_tree(warm_circuits())
    warm_kernels(warm_circuits())
