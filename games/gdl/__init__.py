"""From GDL rules to a `StateMachine`, in stages that are folders: `rules` (checked and normalised), `grounding`
(without variables), `circuit` (boolean gates), `running` (kernels); `interpreter` evaluates the checked rules without
any of these.

`compile` runs the stages in child processes within bounds, `crosscheck` compares any two machines of a game,
`canonical` names a game and its facts by the rules alone, whatever words these use.
Each stage imports only those before it.
"""
