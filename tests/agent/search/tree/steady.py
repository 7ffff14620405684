"""Tree search that is the same on any machine, however busy."""

from __future__ import annotations

import numpy as np

from agent.search.tree.engine import TreeSearch
from agent.search.tree.workspace import BATCHES, DESCENTS_MADE, PLAYOUTS_MADE


def steady(engine: TreeSearch, *, single: bool = False) -> None:
    """Fixes what measured times decide, the sizes of batches and expansions, as if none were known.

    Each descent brings eight playouts, or one (`single`), with which the tree grows fastest.
    """
    costs = engine._workspaces[0].costs
    costs[BATCHES] = -np.inf
    costs[[DESCENTS_MADE, PLAYOUTS_MADE]] = np.inf if single else -np.inf
