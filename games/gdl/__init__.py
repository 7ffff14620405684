"""From GDL rules to a `StateMachine`, in stages that are folders: `rules` (checked and normalised), `grounding`
(without variables), `circuit` (boolean gates), `running` (kernels), `lean` (fewer facts); `interpreter` evaluates the
checked rules without any of these.

`compile` runs the stages in child processes within bounds, `crosscheck` compares two machines of a game, `refinement`
tells apart the vertices of a graph.
"""
