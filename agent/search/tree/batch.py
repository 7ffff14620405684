"""A batch of descents, led down the tree side by side.

They take turns, a level each: while memory fetches the node of one, the others go on (Chen, Ailamaki, Gibbons & Mowry
2004, "Improving hash join performance through prefetching").
"""

from __future__ import annotations

import numpy as np

from agent.search.tree.backup import back_up
from agent.search.tree.descent import EXACT, NEW, ONWARD, begin_descent, fetch_edges, go_down, is_drawn
from agent.search.tree.store import OPEN, ROOT
from agent.search.tree.workspace import N_FREE, SIDE_BY_SIDE
from games.bits.inner import step


@step
def lead_down(tree, lanes, parameters, batch, playouts, threshold):
    """Makes `batch` descents that expect `playouts` results each; fewer if the root is proven meanwhile.

    `tree` is a `SearchTree`, `lanes` a `SearchWorkspace`, `parameters` a `Parameters`, `threshold` that of
    `is_expansion_due`. Lists in `descents.batch` first the descents whose leaf is still to be made, then those at an
    unexpanded node. Returns both numbers, and the number of descents that ended, and were backed up, at proven nodes.
    """
    descents = lanes.descents
    n_new = np.int64(0)
    n_old = np.int64(0)
    exact = 0
    begun = 0
    under_way = 0
    while under_way > 0 or (begun < batch and tree.node[tree.counts[ROOT]].status == OPEN):
        if under_way == 0:
            under_way = min(SIDE_BY_SIDE, batch - begun)
            begun += under_way
            for i in range(under_way):
                lanes.counts[N_FREE] -= 1
                descents.under_way[i] = descents.free[lanes.counts[N_FREE]]
                begin_descent(tree, lanes, descents.under_way[i], playouts)
        left = 0
        for i in range(under_way):
            descent = descents.under_way[i]
            end = ONWARD
            going = True
            while going:
                end = go_down(tree, lanes, descent, parameters, threshold)
                # Where several choose at once, the next descent needs the result of this one.
                going = end == ONWARD and is_drawn(tree, descents, descent)
            if end == ONWARD:
                descents.under_way[left] = descent
                left += 1
            elif end == EXACT:
                # At once: regret matching needs the newest results.
                back_up(tree, descents, lanes.counts, lanes.goals, lanes.rng, descent, parameters)
                exact += 1
            elif end == NEW:
                descents.batch[n_new + n_old] = descents.batch[n_new]
                descents.batch[n_new] = descent
                n_new += 1
            else:
                descents.batch[n_new + n_old] = descent
                n_old += 1
        under_way = left
        for i in range(under_way):
            fetch_edges(tree, descents, descents.under_way[i])
    return n_new, n_old, exact
