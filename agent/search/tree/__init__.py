"""General tree search on circuits: a shared tree (`store`), lanes that descend it and play out (`kernels`), and the
engine."""
