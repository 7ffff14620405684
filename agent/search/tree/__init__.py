"""General tree search on circuits: a tree (`store`), lanes that descend it and play out (`kernels`), the engine."""
