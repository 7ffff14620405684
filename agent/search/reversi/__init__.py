"""The Reversi engine: exact endings, evaluation by patterns, principal variation search, and the engine around them.

`search` is the family's part of `agent.search.alphabeta`. `analysis` deepens at the root, `engine` plays matches by it,
`problems` solves endings. `weights` holds the evaluation's weights; `training` makes them, and imports all but
`engine`, which uses `training.quick` for boards that have none.
"""
