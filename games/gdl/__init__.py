"""From GDL rules to a `StateMachine`, in stages that are folders: `rules` (checked and normalised), `grounding`
(without variables), `circuit` (boolean gates), `structure` (symmetries, parts), `running` (kernels); `interpreter`
evaluates the checked rules without any of these.

`compile` runs the stages in child processes within bounds, `crosscheck` compares two machines of a game, `canonical`
names a game and its facts by the rules alone, whatever their words.
"""
