"""Draws the states of any game as pictures: pure functions of facts and rules, without any input or output.

`layout` is what others use: `Layout.find` looks for boards among a game's facts, `Layout.draw` makes a `Drawing` of a
state. Behind it, `rulesheet` takes from the rules what tells one argument from another; `grids` finds boards of two
coordinates (`groups` which relations share one, `emptiness` which contents stand for nothing, `lattice` which squares
are neighbours, `places` where they are drawn) and `graphs` those whose squares are single names joined by a relation;
`board` is what they find. `moves` says which squares a move means, `joins` whether a piece covers several; `pieces` and
`signs` say how contents look; `svg`, with `shapes` and `style`, and `text` draw.

Nothing is known about any game, and names only decide how a thing looks that was found by its structure. Imports
`games.machine` (for `Term`) and `protocol.kif`, nothing else of the project.
"""
