"""General tree search on circuits.

A tree (`store`), lanes that descend it and play out (`kernels`, `descent`, `backup`), a judge of positions that is
learnt from random play and takes the place of long playouts (`judge`, `sampling`), enumeration for one player
(`breadth`), and the engine.
"""
