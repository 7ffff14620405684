"""What a game's rules are made of: symmetries, and parts that do not influence one another.

`graph` is a circuit as a graph, `symmetry` finds its automorphisms, `wording` says in the rules' own terms what they
do; `parts` looks for independent parts. All of it works on a circuit that was not factored, `parts` on any. Those who
describe games import it; `subgames` makes machines of parts, `endings` reads off what ends a match, and `rivals` which
facts are alike, for who plays them. Imports `circuit`, `refinement`, `rules`, and what is for players also `running`.
"""
