"""The judge: a linear evaluation of fluents, fitted during the match to random play.

`sampling` plays random matches and draws states from them, `fit` solves the least squares and says whether the
evaluation beats playouts. The kernels that apply it stand in `agent.search.tree.backup`. Imported by the tree search,
and by `agent.search.pvs`, whose learning begins with it.
"""
