"""Draws the states of any game as pictures: pure functions of facts and rules, without any input or output.

`layout` is what others use: `Layout.find` looks for boards among a game's facts, `Layout.draw` makes a `Drawing` of a
state. Behind it, `rulesheet` takes from the rules what tells one argument from another, `grids` finds boards of two
coordinates and `graphs` those whose cells are single names joined by a relation, `lattice` sees whether cells have six
neighbours; `board` is what they find, `moves` says which squares a move means, `pieces` how contents look, `svg` and
`text` draw. Nothing is known about any game, and names only decide how a thing looks that was found by its structure.
Imports `games.machine` (for `Term`) and `protocol.kif`, nothing else of the project; the page and the `match` command
import it.
"""
