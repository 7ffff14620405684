"""Pictures of the states of any game: pure functions of facts and rules.

`layout` is the entry: a `Layout` looks for boards among a game's facts, and makes a `Drawing` of a state.
`rulesheet` reads the rules. `grids` finds boards of two coordinates, with `groups` (relations that share a board),
`emptiness` (empty and blocked squares), `lattice` (neighbours) and `places` (drawing positions). `graphs` finds boards
whose squares are single names, `heaps` counters, heaps and stacks. All make a `board`. `moves` maps moves to squares,
`joins` detects pieces of several squares, `pieces` and `signs` choose looks. `svg` draws with `shapes` and `style`,
`text` for a terminal.

Boards are found by structure alone; words only decide how things look.
"""
