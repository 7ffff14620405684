"""How alpha-beta learns the evaluation of a game: from matches of shallow searches against one another.

`first_evaluation` is that from random play, `selfplay` plays the matches, `lessons` takes from them what there is to
learn, as `actors` do on helpers elsewhere, `learner` fits the evaluation to that, in as many and as deep matches as
`pace` says, with one weight for features that the symmetries of the game lead to each other (`ties`). `foresight`
compares what it says of results with what playouts say. `warming` compiles the kernels.
Imported by `agent.search.choosing`, and `warming` by `agent.kernels.groups`.
"""
