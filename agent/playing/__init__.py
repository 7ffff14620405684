"""The process that thinks about one match.

`main` starts it, `session` is its control thread, `messages` all that passes between it and `agent.serving`. `rules`
checks the rulesheet, `choice` selects the engines, a `gamer` plays a role with one machine, and `opinions` sends its
engine's opinions. `reference` follows the match's state; where that is in doubt, `belief` does, with `hypotheses` and
`evidence`, and `belief_search` thinks. `crosschecker` compares the circuit with the interpreter in a child process.
"""
