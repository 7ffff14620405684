"""General tree search on circuits: Monte-Carlo tree search for any number of roles.

`store` holds the tree (nodes, edges, transpositions), `workspace` what one thread works on, `kernels` the search
itself, put together from `descent` (selection) and `backup`, with the `lock` for threads that share a tree;
`compaction` drops what a match has left behind. `judge` fits a linear evaluation that takes the place of long playouts,
`breadth` enumerates the states of one-player games, `best_lines` keeps the best matches of a single player. `scheduler`
shares each thread's time among all that, `root_policy` picks the move, and `engine` is the engine contract; nothing
else is imported from outside.
"""
