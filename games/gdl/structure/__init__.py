"""Structure of a game's rules: symmetries, and independent parts.

`graph` is a circuit as a graph, `symmetry` finds its automorphisms, `wording` puts them in the rules' terms; `parts`
looks for independent parts. `graph` and `symmetry` need an unfactored circuit. For players, `subgames` makes machines
of parts, `endings` finds the facts that end a match, and `rivals` the facts that are alike.
"""
