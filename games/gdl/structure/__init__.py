"""Structure of a game's rules: symmetries, independent parts, and what else helps a search.

`graph` is a circuit as a graph, `symmetry` finds its automorphisms, `wording` puts them in the rules' terms; `parts`
looks for independent parts, of which `subgames` makes machines. `graph` and `symmetry` need an unfactored circuit.
`endings` finds the facts that end a match, `makers` the moves that make facts true, `rivals` the facts that are alike,
`clock` step counters. For one player `gate_lists` are a circuit's gates in Python, `independence` finds moves whose
order does not matter, and `move_choices` moves that are several choices at once. `lean` leaves out the facts that no
search needs; of the labels of chains (`chains`) only their `connection` matters.
"""
