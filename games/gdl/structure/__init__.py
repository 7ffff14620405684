"""What a game's rules are made of, for their author: symmetries, and parts that do not influence one another.

`graph` is a circuit as a graph, `symmetry` finds its automorphisms, `wording` says in the rules' own terms what they
do; `parts` looks for independent parts. All of it works on a circuit that was not factored. Imports `circuit`,
`refinement` and `rules`; only those who describe games import it.
"""
