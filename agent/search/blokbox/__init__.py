"""Search for the Blokbox family, and how it learns.

`engine` runs the tree search (`tree`), told where to look by what is in `guiding`, and beside it an alpha-beta that
proves results (`proving`). `training` makes the weights in `weights`.
"""
